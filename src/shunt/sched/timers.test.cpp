// Deadlines: the heap, and fibers that wait at most so long.
#include <shunt/sched.hpp>
#include <shunt/sched/detail/timers.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <support/runtimes.hpp>

using namespace shunt;
using namespace std::chrono_literals;
namespace this_fiber = sched::this_fiber;
using clock_type = std::chrono::steady_clock;

TEST_CASE("timers: the first is the earliest, whatever was added and taken out") {
  using sched::detail::timers;
  constexpr std::size_t count = 300;
  const auto fibers = std::make_unique<sched::detail::fiber[]>(count);
  std::vector<timers::time> when(count);
  std::set<std::pair<timers::time, std::size_t>> model;
  timers heap;
  std::mt19937 random(7);
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = random() % count;
    if (fibers[i].timer == sched::detail::fiber::no_timer) {
      when[i] = timers::time(std::chrono::nanoseconds(random() % 1000));
      heap.reserve();
      heap.add(fibers[i], when[i]);
      model.insert({when[i], i});
    } else {
      heap.remove(fibers[i]);
      model.erase({when[i], i});
    }
    REQUIRE(heap.empty() == model.empty());
    if (model.empty()) continue;
    REQUIRE(heap.first() == model.begin()->first);
    REQUIRE(heap.first_fiber()->timer == 0);
  }
  for (timers::time last{}; !heap.empty(); heap.remove(*heap.first_fiber())) {
    REQUIRE(heap.first() >= last);
    last = heap.first();
  }
}

TEST_CASE("park_until: a thousand fibers with deadlines of their own, and none goes on early") {
  sched::runtime one({.workers = 1});
  constexpr int count = 1'000;
  int over = 0;
  int early = 0;
  one.run([&] {
    for (int i = 0; i < count; ++i) {
      one.spawn(
          [&, i] {
            const auto deadline = clock_type::now() + std::chrono::microseconds((i * 7919) % 3000);
            while (this_fiber::park_until(deadline)) {  // a wake that an earlier fiber in the same place got too late
            }
            if (clock_type::now() < deadline) ++early;
            ++over;
          },
          {.worker = 0});
    }
  });
  CHECK(over == count);
  CHECK(early == 0);
}

TEST_CASE("park_until: a wake in time is told apart from a time that is over, and takes the deadline out") {
  const int workers = GENERATE(1, 2);
  sched::runtime rt({.workers = workers});
  std::atomic<bool> parked{false};
  sched::waker sleeper;
  rt.run([&] {
    rt.spawn(
        [&] {
          sleeper = this_fiber::self();
          parked = true;
          CHECK(this_fiber::park_until(clock_type::now() + 1h));  // else this test takes an hour
        },
        {.worker = 0});
    rt.spawn(
        [&] {
          while (!parked) this_fiber::yield();
          sleeper.wake();
        },
        {.worker = workers - 1});
  });
}

TEST_CASE("park_until: a wake before it makes it return at once; one after its time, the next park") {
  sched::runtime one({.workers = 1});
  one.run([&] {
    const auto me = this_fiber::self();
    me.wake();
    CHECK(this_fiber::park_until(clock_type::now() + 1h));
    CHECK_FALSE(this_fiber::park_until(clock_type::now()));
    CHECK_FALSE(this_fiber::park_until({}));
    me.wake();
    this_fiber::park();
  });
}

TEST_CASE("park_until: without a deadline it is park, and what came of the one before is forgotten") {
  sched::runtime one({.workers = 1});
  one.run([&] {
    const auto me = this_fiber::self();
    testing::forget_wakes();
    CHECK_FALSE(this_fiber::park_until(clock_type::now()));
    bool woken = false;
    one.spawn(
        [&] {
          woken = true;
          me.wake();
        },
        {.worker = 0});
    CHECK(this_fiber::park_until(clock_type::time_point::max()));
    CHECK(woken);
    me.wake();
    CHECK(this_fiber::park_until(clock_type::time_point::max()));
  });
}

TEST_CASE("park_until: wakes from another thread race with the deadline, and each is seen once at least") {
  sched::runtime one({.workers = 1});
  constexpr int rounds = 3'000;
  std::atomic<int> asked{0}, told{0};
  sched::waker waiting;
  std::atomic<bool> known{false};
  std::thread other([&] {
    while (!known) std::this_thread::yield();
    for (int i = 1; i <= rounds; ++i) {
      while (asked < i) std::this_thread::yield();
      told = i;
      waiting.wake();
    }
  });
  int woken = 0;
  one.run([&] {
    waiting = this_fiber::self();
    known = true;
    for (int i = 1; i <= rounds; ++i) {
      asked = i;
      while (told < i) woken += this_fiber::park_until(clock_type::now() + std::chrono::microseconds(i % 40));
    }
  });
  other.join();
  CHECK(told == rounds);
}

TEST_CASE("sleep_until: not a moment less, whatever wakes the sleeper") {
  sched::runtime one({.workers = 1});
  one.run([&] {
    const auto me = this_fiber::self();
    std::atomic<bool> over{false};
    std::thread nuisance([&] {
      while (!over) me.wake();
    });
    for (int i = 0; i < 20; ++i) {
      const auto until = clock_type::now() + 200us;
      this_fiber::sleep_until(until);
      CHECK(clock_type::now() >= until);
    }
    over = true;
    nuisance.join();
  });
}

TEST_CASE("sleep_for: ten thousand sleepers on each of two workers") {
  sched::runtime rt({.workers = 2});
#if defined(__SANITIZE_THREAD__)
  constexpr int each = 1'000;  // what gcc's ThreadSanitizer carries
#else
  constexpr int each = 10'000;
#endif
  std::atomic<int> awake{0};
  rt.run([&] {
    for (int i = 0; i < 2 * each; ++i) {
      rt.spawn(
          [&awake, i] {
            this_fiber::sleep_for(std::chrono::microseconds(i % 977));
            ++awake;
          },
          {.worker = i % 2, .stack_bytes = 16 * 1024});
    }
  });
  CHECK(awake == 2 * each);
}

TEST_CASE("park_until: outside a fiber, and where waiting is forbidden, it is an error") {
  CHECK_THROWS_AS(this_fiber::park_until(clock_type::now()), shunt::error);
  CHECK_THROWS_AS(this_fiber::sleep_for(1ms), shunt::error);
}
