// Parts of the module that no user sees.
#include <shunt/pgas/detail/barrier_tokens.hpp>
#include <shunt/pgas/detail/event.hpp>
#include <shunt/pgas/detail/job.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>
#include <support/runtimes.hpp>

using namespace shunt;
using pgas::detail::event;

TEST_CASE("event: notify_one wakes the fiber that has waited longest; notify_all wakes all") {
  sched::runtime one_worker({.workers = 1});
  event e;
  std::vector<int> order;
  one_worker.run([&] {
    for (int i = 0; i < 4; ++i) {
      one_worker.spawn(
          [&, i] {
            testing::forget_wakes();
            e.wait("a test");
            order.push_back(i);
          },
          {.worker = 0});
    }
    while (order.size() < 2) {
      sched::this_fiber::yield();
      if (e.any_waiting()) e.notify_one();
      sched::this_fiber::yield();
      sched::this_fiber::yield();
    }
    CHECK(order == std::vector<int>{0, 1});
    e.notify_all();
    CHECK_FALSE(e.any_waiting());
  });
  std::sort(order.begin(), order.end());  // the fiber that was woken last runs next
  CHECK(order == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("event: a fiber that something else woke takes no notification from one that waits") {
  sched::runtime one_worker({.workers = 1});
  event e;
  int woken = 0;
  bool gone_on = false;
  one_worker.run([&] {
    sched::waker impatient;
    one_worker.spawn(
        [&] {
          testing::forget_wakes();
          impatient = sched::this_fiber::self();
          e.wait("a test");
          gone_on = true;  // and never waits again
        },
        {.worker = 0});
    one_worker.spawn(
        [&] {
          testing::forget_wakes();
          e.wait("a test");
          ++woken;
        },
        {.worker = 0});
    while (!impatient || !e.any_waiting()) sched::this_fiber::yield();
    sched::this_fiber::yield();
    impatient.wake();
    while (!gone_on) sched::this_fiber::yield();
    e.notify_one();
    for (int i = 0; i < 10; ++i) sched::this_fiber::yield();
    CHECK(woken == 1);
    e.notify_all();
  });
  CHECK(woken == 1);
}

TEST_CASE("barrier_tokens: whatever overtakes what, a round ends when its token or the next one is there") {
  using pgas::detail::barrier_tokens;
  // Every order in which the sender is at most one barrier ahead of the tokens that have come: single ones may be very
  // late.
  std::vector<std::uint64_t> order{1, 2, 3, 4, 5, 6};
  int orders = 0;
  int skipped = 0;
  do {
    bool possible = true;
    for (std::size_t i = 0; i < order.size(); ++i) possible = possible && order[i] <= i + 2;
    if (!possible) continue;
    ++orders;
    barrier_tokens<std::uint64_t> slot;
    std::uint64_t in = 1;  // the barrier that this worker is in
    CHECK_FALSE(slot.reached(1));
    for (const auto number : order) {
      slot.arrived(number, 10 * number);
      while (slot.reached(in)) {
        const auto kind = slot.kind_of(in);
        if (!kind) ++skipped;
        CHECK(kind.value_or(10 * in) == 10 * in);
        ++in;
      }
      CHECK(in >= number + 1);
    }
    CHECK(in == 7);
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(orders == 32);
  CHECK(skipped > 0);
}

TEST_CASE("buffer_plan: within the budget, or an error; enough trains for every send buffer to move") {
  using pgas::detail::buffer_plan;
  for (const std::size_t budget :
       {std::size_t{16} << 10, std::size_t{256} << 10, std::size_t{16} << 20, std::size_t{1} << 30}) {
    for (const int workers : {1, 2, 5, 64, 1000}) {
      for (const int pes : {workers, 8 * workers}) {
        for (const std::size_t capacity : {std::size_t{0}, std::size_t{512}, std::size_t{4096}}) {
          for (const int hops : {0, 1, 2}) {
            CAPTURE(budget, workers, pes, capacity, hops);
            buffer_plan t;
            try {
              t = buffer_plan::of(budget, pes, workers, capacity, hops);
            } catch (const usage_error&) {
              continue;
            }
            CHECK(t.limit * (t.capacity + sizeof(rail::train)) <= budget);
            CHECK(t.regular >= 2);
            CHECK(t.limit >= 2 * t.regular);
            CHECK(t.resting >= 1);
            CHECK(t.regular * t.capacity <= (8U << 20) + 4 * (2U << 20));  // open, and under way
            CHECK(t.capacity % cache_line == 0);
            CHECK(t.capacity >= (capacity == 0 ? 512 : capacity));
            CHECK((hops == 0 || t.hops == hops));
            CHECK((t.hops == 1 || !t.plain));
          }
        }
      }
    }
  }
}
