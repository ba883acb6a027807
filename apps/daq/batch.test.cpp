#include "daq/batch.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>

using shunt::daq::batch;
namespace this_fiber = shunt::sched::this_fiber;

namespace {

void on_one_worker(const std::function<void()>& root) {
  shunt::sched::options o;
  o.workers = 1;
  shunt::sched::runtime(o).run(root);
}

/// Lets every other fiber run until it waits.
void let_others_run() {
  for (int i = 0; i < 100; ++i) this_fiber::yield();
}

}  // namespace

TEST_CASE("batch: everything comes out once, what one fiber adds in its order, and then the end") {
  const std::size_t room = GENERATE(1, 2, 5, 1000);
  CAPTURE(room);
  constexpr std::uint32_t fibers = 20;
  constexpr std::uint32_t each = 200;
  std::vector<std::uint32_t> next(fibers);
  std::uint32_t wrong = 0;
  std::size_t longest = 0;
  on_one_worker([&] {
    batch<std::uint32_t> here(room);
    shunt::finish([&] {
      for (std::uint32_t f = 0; f < fibers; ++f) {
        shunt::async([&, f, me = here.enter()]() mutable {
          for (std::uint32_t i = 0; i < each; ++i) {
            if (i % 7 == f % 7) this_fiber::yield();
            me.add(f * each + i);
          }
        });
      }
      std::vector<std::uint32_t> some;
      while (here.take(some)) {
        longest = std::max(longest, some.size());
        for (const auto item : some) wrong += item % each != next[item / each]++;
      }
      CHECK(some.empty());
    });
  });
  CHECK(wrong == 0);
  CHECK(next == std::vector<std::uint32_t>(fibers, each));
  CHECK(longest >= 1);
  CHECK(longest <= room);
}

TEST_CASE("batch: add() waits while it is full, and goes on when something was taken") {
  on_one_worker([] {
    batch<int> here(2);
    int added = 0;
    shunt::finish([&] {
      shunt::async([&, me = here.enter()]() mutable {
        for (int i = 0; i < 5; ++i) {
          me.add(i);
          ++added;
        }
      });
      let_others_run();
      CHECK(added == 2);
      std::vector<int> some;
      CHECK(here.take(some));
      CHECK(some == std::vector<int>{0, 1});
      let_others_run();
      CHECK(added == 4);
      CHECK(here.take(some));
      CHECK(some == std::vector<int>{2, 3});
      let_others_run();
      CHECK(added == 5);
      CHECK(here.take(some));
      CHECK(some == std::vector<int>{4});
      CHECK_FALSE(here.take(some));
    });
  });
}

TEST_CASE("batch: fibers that wait are let in in the order in which they came") {
  on_one_worker([] {
    batch<int> here(1);
    shunt::finish([&] {
      std::vector<int> came;
      for (int i = 0; i < 10; ++i) {
        shunt::async([&, i, me = here.enter()]() mutable {
          came.push_back(i);
          me.add(i);
        });
      }
      let_others_run();
      REQUIRE(came.size() == 10);
      std::vector<int> left;
      std::vector<int> some;
      while (here.take(some)) left.insert(left.end(), some.begin(), some.end());
      CHECK(left == came);
    });
  });
}

TEST_CASE("batch: take() waits for the first item, and for the last reader to go, whether it has added or not") {
  on_one_worker([] {
    batch<int> here(4);
    int taken = 0;
    bool over = false;
    shunt::finish([&] {
      std::optional first = here.enter();
      std::optional second = here.enter();
      shunt::async([&] {
        std::vector<int> some;
        while (here.take(some)) taken += static_cast<int>(some.size());
        over = true;
      });
      let_others_run();
      CHECK(taken == 0);
      first->add(1);
      let_others_run();
      CHECK(taken == 1);
      first.reset();
      let_others_run();
      CHECK_FALSE(over);
      second.reset();
    });
    CHECK(over);
  });
}

TEST_CASE("batch: what was abandoned keeps no reader waiting, and says so") {
  on_one_worker([] {
    batch<int> here(1);
    std::vector<bool> added;
    shunt::finish([&] {
      for (int i = 0; i < 3; ++i) {
        shunt::async([&, i, me = here.enter()]() mutable { added.push_back(me.add(i)); });
      }
      let_others_run();
      CHECK(added == std::vector<bool>{true});
      here.abandon();
    });
    CHECK(added == std::vector<bool>{true, false, false});
    auto late = here.enter();
    CHECK_FALSE(late.add(4));
  });
}
