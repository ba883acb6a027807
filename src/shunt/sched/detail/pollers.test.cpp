// The pollers of one worker, which look like one; which workers sleep; and what a worker shows of itself.
#include <shunt/sched/detail/pollers.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <typeinfo>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/sched/detail/published.hpp>
#include <shunt/sched/detail/sleepers.hpp>

using namespace std::chrono_literals;
namespace sched = shunt::sched;
using sched::detail::pollers;

namespace {

/// Notes what it is told, and answers as it is set.
struct noted : sched::poller {
  explicit noted(std::string& to, char by = 'a') : log(to), name(by) {}
  bool poll() override {
    log += std::string("poll ") + name + ' ';
    return moves;
  }
  bool arm() override {
    log += std::string("arm ") + name + ' ';
    return arms;
  }
  void disarm() override { log += std::string("disarm ") + name + ' '; }
  std::chrono::nanoseconds patience() override { return longest; }
  [[nodiscard]] int descriptor() const noexcept override { return its_descriptor; }
  [[nodiscard]] std::uint32_t mark() const noexcept override { return its_mark; }
  [[nodiscard]] std::atomic<std::uint32_t>* shared_token() const noexcept override { return its_token; }

  std::string& log;
  char name;
  bool moves = false, arms = true;
  std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
  int its_descriptor = -1;
  std::uint32_t its_mark = 0;
  std::atomic<std::uint32_t>* its_token = nullptr;
};
struct of_another_class final : noted {
  using noted::noted;
};

}  // namespace

TEST_CASE("pollers: each is polled in turn, also after one that has moved something") {
  std::string log;
  noted a(log, 'a'), b(log, 'b');
  pollers all;
  CHECK_FALSE(all.poll());
  all.add(a);
  all.add(b);
  CHECK_FALSE(all.poll());
  a.moves = true;
  CHECK(all.poll());
  CHECK(log == "poll a poll b poll a poll b ");
  all.remove(a);
  log.clear();
  CHECK_FALSE(all.poll());
  CHECK(log == "poll b ");
}

TEST_CASE("pollers: all are armed, or none") {
  std::string log;
  noted a(log, 'a'), b(log, 'b'), c(log, 'c');
  pollers all;
  for (auto* one : {&a, &b, &c}) all.add(*one);
  CHECK(all.arm());
  all.disarm();
  CHECK(log == "arm a arm b arm c disarm a disarm b disarm c ");
  log.clear();
  c.arms = false;
  CHECK_FALSE(all.arm());
  CHECK(log == "arm a arm b arm c disarm a disarm b ");
  log.clear();
  a.arms = false;
  CHECK_FALSE(all.arm());
  CHECK(log == "arm a ");
}

TEST_CASE("pollers: the least patience counts, and the descriptor and the mark of the one that has them") {
  std::string log;
  noted a(log), b(log);
  pollers all;
  CHECK(all.patience() == std::chrono::nanoseconds::max());
  CHECK(all.descriptor() == -1);
  CHECK(all.mark() == 0);
  all.add(a);
  all.add(b);
  CHECK(all.patience() == std::chrono::nanoseconds::max());
  b.longest = 3ms;
  CHECK(all.patience() == 3ms);
  a.longest = 2ms;
  CHECK(all.patience() == 2ms);
  CHECK(all.descriptor() == -1);
  b.its_descriptor = 0;
  b.its_mark = 7;
  CHECK(all.descriptor() == 0);
  CHECK(all.mark() == 7);
}

TEST_CASE("pollers: where tokens of other processes end no sleep, it lasts an eighth of the quiet before it") {
  CHECK(pollers::token_delay(0ns) == 20us);
  CHECK(pollers::token_delay(160us) == 20us);
  CHECK(pollers::token_delay(800us) == 100us);
  CHECK(pollers::token_delay(8ms) == 1ms);
  CHECK(pollers::token_delay(1h) == 1ms);

  using clock = std::chrono::steady_clock;
  std::string log;
  noted trains(log), sockets(log);
  std::atomic<std::uint32_t> word{0};
  trains.its_token = &word;
  pollers all;
  sched::detail::worker_state state;
  all.add(trains);
  all.add(sockets);
  all.show_in(state);
  CHECK(all.patience() == std::chrono::nanoseconds::max());  // it sleeps on the token
  sockets.its_descriptor = 0;
  all.show_in(state);
  CHECK(all.patience() == 1ms);  // nothing has moved yet
  trains.moves = true;
  const auto before = clock::now();
  CHECK(all.poll());
  const auto patience = all.patience();
  CHECK(patience >= 20us);
  CHECK(patience <= std::max<std::chrono::nanoseconds>(20us, (clock::now() - before) / 8));
  sockets.longest = 1us;
  CHECK(all.patience() == 1us);
}

TEST_CASE("pollers: the loop asks nothing, the only poller itself, or all of them") {
  std::string log;
  noted a(log);
  of_another_class b(log);
  a.its_mark = 5;
  pollers all;
  sched::detail::worker_state state;
  const auto shown = [&] {
    all.show_in(state);
    return state.outside;
  };
  CHECK(shown() == nullptr);
  all.add(a);
  CHECK(shown() == &a);
  CHECK(state.mark == 5);
  all.add(b);
  CHECK(shown() == &all);
  CHECK(state.mark == 5);
  all.remove(a);
  CHECK(shown() == &b);
  CHECK(state.mark == 0);
}

TEST_CASE("pollers: find goes by the class itself, not by what it is derived from") {
  std::string log;
  of_another_class derived(log);
  noted base(log);
  pollers all;
  all.add(derived);
  CHECK(all.find(typeid(noted)) == nullptr);
  all.add(base);
  CHECK(all.find(typeid(noted)) == &base);
  CHECK(all.find(typeid(of_another_class)) == &derived);
}

TEST_CASE("pollers: those that are kept end with it") {
  struct ends final : noted {
    using noted::noted;
    ~ends() override { log += "end "; }
  };
  std::string log;
  {
    pollers all;
    all.reserve_kept();
    all.keep(std::make_unique<ends>(log));
    CHECK(log.empty());
    CHECK_FALSE(all.poll());  // keep() alone does not add it
    CHECK(log.empty());
  }
  CHECK(log == "end ");
}

TEST_CASE("sleepers: each worker that sleeps is claimed once, the lowest first") {
  const int workers = GENERATE(1, 63, 64, 65, 130);
  sched::detail::sleepers all(workers);
  CHECK(all.none());
  CHECK(all.claim() == -1);
  const std::vector<int> some = workers == 1 ? std::vector{0} : std::vector{0, workers / 2, workers - 2, workers - 1};
  for (auto at = some.rbegin(); at != some.rend(); ++at) all.enter(*at);
  CHECK_FALSE(all.none());
  for (const int w : some) CHECK(all.claim() == w);
  CHECK(all.claim() == -1);
  CHECK(all.none());

  for (const int w : some) all.enter(w);
  for (const int w : some) {
    CHECK_FALSE(all.none());
    all.leave(w);
    all.leave(w);  // it was claimed meanwhile
  }
  CHECK(all.none());
  CHECK(all.claim() == -1);
}

TEST_CASE("published: the beat is odd while a fiber runs, and each time another number") {
  sched::detail::published shown;
  std::set<std::uint64_t> seen{shown.beat()};
  CHECK(shown.beat() % 2 == 0);
  for (int round = 0; round < 3; ++round) {
    shown.enter_fiber();
    CHECK(shown.beat() % 2 == 1);
    CHECK(seen.insert(shown.beat()).second);
    for (int skipped = 0; skipped < 3; ++skipped) {
      shown.skip_loop();
      CHECK(shown.beat() % 2 == 1);
      CHECK(seen.insert(shown.beat()).second);
    }
    shown.leave_fiber();
    CHECK(shown.beat() % 2 == 0);
    CHECK(seen.insert(shown.beat()).second);
  }
}

TEST_CASE("published: counts fibers and sleeps, and sleeps until it is woken") {
  sched::detail::published shown;
  CHECK(shown.sleeps());  // it works for no run
  CHECK(shown.times_asleep() == 0);
  shown.wake_up();
  CHECK_FALSE(shown.sleeps());
  shown.fall_asleep();
  shown.wake_up();
  shown.fall_asleep();
  CHECK(shown.sleeps());
  CHECK(shown.times_asleep() == 2);
  shown.count_spawn();
  shown.count_spawn();
  shown.uncount_spawn();
  shown.count_end();
  CHECK(shown.spawned() == 1);
  CHECK(shown.ended() == 1);
}
