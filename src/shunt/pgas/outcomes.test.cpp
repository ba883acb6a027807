// What a program may get wrong, or leave open, has the same outcome however often: TEST_ROUNDS says how often here.
#include <support/jobs.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

using namespace shunt;
using namespace shunt::testing;
using namespace std::chrono_literals;
using Catch::Contains;
using Catch::StartsWith;

namespace {

using cell = pgas::symmetric<long>;

int rounds() {
  const char* const wanted = std::getenv("TEST_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 20;
}

/// PE 0 is in a call that the other one does not answer, until it has given up.
std::string given_up(const std::function<void(pgas::pe&, pgas::actor_of<long>&)>& limited) {
  std::atomic<bool> over{false};
  return failure_of(tiny(2, 2), [&](pgas::pe& me) {
    cell part(me, 0L);
    pgas::actor_of actor(part);
    me.barrier();
    if (me.index() != 0) {
      while (!over) std::this_thread::yield();  // keeps its worker
      return;
    }
    const auto said = thrown_by<error>([&] { limited(me, actor); });
    over = true;
    throw error(said);
  });
}

}  // namespace

TEST_CASE("outcomes: finish() with a limit of time") {
  for (int i = 0; i < rounds(); ++i) {
    REQUIRE(given_up([](pgas::pe& me, auto& actor) {
              const pgas::time_limit limit(me, 1ms);
              actor.finish();
            }) == "PE 0: finish() was not over when 1 ms had passed (time_limit); the job ends [SHUNT-0928]");
  }
}

TEST_CASE("outcomes: fetch() with a stop token") {
  for (int i = 0; i < rounds(); ++i) {
    std::stop_source source;
    const auto message = given_up([&](pgas::pe& me, auto& actor) {
      const pgas::time_limit limit(me, source.get_token());
      shunt::fiber stopper([&] { source.request_stop(); }, {.worker = 0});
      static_cast<void>(actor.fetch(1, [](const long& there) { return there; }));
    });
    REQUIRE_THAT(message, StartsWith("PE 0: fetch()") && Contains("when a stop was requested; the job ends"));
  }
}

TEST_CASE("outcomes: the future of a selector's end is dropped, and its destructor waits for the end") {
  for (int i = 0; i < rounds(); ++i) {
    pgas::run(tiny(4, 2), [](pgas::pe& me) {
      cell part(me, 0L);
      {
        pgas::actor_of actor(part);
        for (int k = 0; k < 20; ++k) actor.send((me.index() + k) % me.count(), [](long& n) { ++n; });
        static_cast<void>(actor.ending());
      }
      expect(*part == 20);
    });
  }
  SUCCEED();
}

TEST_CASE("outcomes: mailboxes that wait for each other's end") {
  for (int i = 0; i < rounds(); ++i) {
    REQUIRE_THAT(failure_of(tiny(2, 2),
                            [](pgas::pe& me) {
                              cell part(me, 0L);
                              auto s = pgas::make_selector<2>(pgas::mailbox_order{{0, {1}}, {1, {0}}}, part);
                            }),
                 StartsWith("PE ") && Contains("mailboxes 0, 1 wait for each other's end"));
  }
}

TEST_CASE("outcomes: a task sends after its PE's done()") {
  for (int i = 0; i < rounds(); ++i) {
    const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
      cell part(me, 0L);
      pgas::actor_of actor(part);
      actor.done();
      me.barrier();
      if (me.index() == 0) {
        shunt::fiber latecomer([&] { actor.send(1, [](long& n) { ++n; }); }, {.worker = 1, .name = "latecomer"});
        latecomer.join();
      }
      actor.finish();
    });
    REQUIRE_THAT(message, StartsWith("PE 0: send to mailbox 0 of ") && Contains("after done()") &&
                              Contains("a task sent it, `latecomer`"));
  }
}
