// A PE that waits too long for others ends the job, by name; one that is in time notices nothing.
#include <support/jobs.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace shunt;
using namespace shunt::testing;
using namespace std::chrono_literals;

namespace {

using counts = pgas::symmetric<std::vector<long>>;

/// The message of a job whose PE 0 waits in a call that PE 1 does not make before PE 0 has given up.
std::string given_up(int pes, int workers, const std::function<void(pgas::pe&, const std::function<void()>&)>& limited,
                     const std::function<void(pgas::pe&, pgas::actor_of<std::vector<long>>&)>& call) {
  std::atomic<bool> over{false};
  return failure_of(tiny(pes, workers), [&](pgas::pe& me) {
    counts table(me, 4);
    pgas::actor_of actor(table);
    me.barrier();
    if (me.index() != 0) {
      while (!over) sched::this_fiber::sleep_for(1ms);
      return;
    }
    const auto said = thrown_by<error>([&] { limited(me, [&] { call(me, actor); }); });
    over = true;
    expect(said.starts_with("PE 0: "), said);
    throw error(said);
  });
}

void for_5_ms(pgas::pe& me, const std::function<void()>& call) {
  const pgas::time_limit limit(me, 5ms);
  call();
}

}  // namespace

TEST_CASE("time_limit: a call of all PEs that one PE does not make ends the job when the time has passed") {
  const auto [pes, workers] = GENERATE(std::pair(2, 2), std::pair(2, 1), std::pair(4, 2));
  CAPTURE(pes, workers);
  using call = std::function<void(pgas::pe&, pgas::actor_of<std::vector<long>>&)>;
  const auto [name, made] = GENERATE(table<std::string, call>({
      {"finish()", [](pgas::pe&, auto& a) { a.finish(); }},
      {"quiesce()", [](pgas::pe&, auto& a) { a.quiesce(); }},
      {"barrier()", [](pgas::pe& me, auto&) { me.barrier(); }},
      {"reduce()", [](pgas::pe& me, auto&) { static_cast<void>(me.sum(1)); }},
      {"gather() or broadcast()", [](pgas::pe& me, auto&) { static_cast<void>(me.gather(1)); }},
  }));
  const auto message = given_up(pes, workers, for_5_ms, made);
  CHECK(message == "PE 0: " + name + " was not over when 5 ms had passed (time_limit); the job ends [SHUNT-0928]");
}

TEST_CASE("time_limit: a stop that is requested ends the wait, also of a PE that sleeps") {
  std::stop_source source;
  std::atomic<bool> waits{false};
  std::thread other([&] {
    while (!waits) std::this_thread::yield();
    source.request_stop();
  });
  const auto message = given_up(
      2, 2,
      [&](pgas::pe& me, const std::function<void()>& call) {
        const pgas::time_limit limit(me, source.get_token());
        waits = true;
        call();
      },
      [](pgas::pe& me, auto&) { me.barrier(); });
  other.join();
  CHECK_THAT(message, Catch::StartsWith("PE 0: barrier") && Catch::Contains("when a stop was requested; the job ends"));
}

TEST_CASE("time_limit: a value that is not answered in time ends the job") {
  std::atomic<bool> over{false};
  const auto message = failure_of(tiny(2, 2), [&](pgas::pe& me) {
    counts table(me, 4);
    pgas::actor_of actor(table);
    me.barrier();
    if (me.index() == 1) {
      while (!over) std::this_thread::yield();  // keeps its worker, so it answers nothing
      return;
    }
    const auto said = thrown_by<error>(
        [&] { for_5_ms(me, [&] { static_cast<void>(actor.fetch(1, [](auto& there) { return there[0]; })); }); });
    over = true;
    throw error(said);
  });
  CHECK(message == "PE 0: fetch() was not over when 5 ms had passed (time_limit); the job ends [SHUNT-0928]");
}

TEST_CASE("time_limit: what is in time notices nothing, and limits nest") {
  std::stop_source never;
  pgas::run(tiny(4, 2), [&](pgas::pe& me) {
    counts table(me, 4);
    pgas::actor_of actor(table);
    const pgas::time_limit outer(me, 1h, never.get_token());
    for (int i = 0; i < 500; ++i) {
      const pgas::time_limit inner(me, 1h);
      actor.send((me.index() + i) % me.count(), [](auto& there) { ++there[0]; });
      if (i % 5 == 0) actor.finish();
      expect(actor.fetch(me.index(), [](auto& there) { return there[1]; }) == 0);
      me.barrier();
    }
    actor.finish();
    expect(me.sum((*table)[0]) == 4 * 500);
  });
}
