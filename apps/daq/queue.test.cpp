#include "daq/queue.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>

using shunt::daq::bounded_queue;
namespace this_fiber = shunt::sched::this_fiber;

namespace {

void on_workers(int workers, const std::function<void()>& root) {
  shunt::sched::options o;
  o.workers = workers;
  shunt::sched::runtime(o).run(root);
}

/// On one worker: lets every other fiber run until it waits.
void let_others_run() {
  for (int i = 0; i < 100; ++i) this_fiber::yield();
}

}  // namespace

TEST_CASE("bounded_queue: everything comes out once, and what one fiber pushes in its order") {
  const int workers = GENERATE(1, 2, 3);
  const std::size_t capacity = GENERATE(1, 2, 5, 1000);
  CAPTURE(workers, capacity);
  constexpr std::uint32_t fibers = 20;
  constexpr std::uint32_t each = 200;
  std::vector<std::uint32_t> next(fibers);
  std::uint32_t wrong = 0;
  std::size_t longest = 0;
  on_workers(workers, [&] {
    bounded_queue<std::uint32_t> queue(capacity);
    shunt::finish([&] {
      shunt::async([&] {
        std::vector<std::uint32_t> some;
        while (queue.take(some)) {
          longest = std::max(longest, some.size());
          for (const auto item : some) wrong += item % each != next[item / each]++;
        }
      });
      shunt::finish([&] {
        for (std::uint32_t f = 0; f < fibers; ++f) {
          shunt::async([&, f] {
            for (std::uint32_t i = 0; i < each; ++i) queue.push(f * each + i);
          });
        }
      });
      queue.close();
    });
  });
  CHECK(wrong == 0);
  CHECK(next == std::vector<std::uint32_t>(fibers, each));
  CHECK(longest >= 1);
  CHECK(longest <= capacity);
}

TEST_CASE("bounded_queue: push() waits while it is full, and goes on when something was taken") {
  on_workers(1, [] {
    bounded_queue<int> queue(2);
    int pushed = 0;
    shunt::finish([&] {
      shunt::async([&] {
        for (int i = 0; i < 5; ++i) {
          queue.push(i);
          ++pushed;
        }
      });
      let_others_run();
      CHECK(pushed == 2);
      std::vector<int> some;
      CHECK(queue.take(some));
      CHECK(some == std::vector<int>{0, 1});
      let_others_run();
      CHECK(pushed == 4);
      CHECK(queue.take(some));
      CHECK(some == std::vector<int>{2, 3});
      let_others_run();
      CHECK(pushed == 5);
    });
  });
}

TEST_CASE("bounded_queue: fibers that wait are let in in the order in which they came") {
  on_workers(1, [] {
    bounded_queue<int> queue(1);
    shunt::finish([&] {
      std::vector<int> came;
      for (int i = 0; i < 10; ++i) {
        shunt::async([&, i] {
          came.push_back(i);
          queue.push(i);
        });
      }
      let_others_run();
      REQUIRE(came.size() == 10);
      std::vector<int> left;
      std::vector<int> some;
      while (left.size() < 10) {
        CHECK(queue.take(some));
        left.insert(left.end(), some.begin(), some.end());
      }
      CHECK(left == came);
    });
  });
}

TEST_CASE("bounded_queue: close() ends take(), once what is there was taken") {
  on_workers(1, [] {
    bounded_queue<int> queue(4);
    std::vector<int> some;
    queue.push(1);
    queue.close();
    CHECK(queue.take(some));
    CHECK(some == std::vector<int>{1});
    CHECK_FALSE(queue.take(some));
    CHECK(some.empty());
  });
  on_workers(1, [] {
    bounded_queue<int> queue(4);
    bool ended = false;
    shunt::finish([&] {
      shunt::async([&] {
        std::vector<int> some;
        ended = !queue.take(some);
      });
      let_others_run();
      CHECK_FALSE(ended);
      queue.close();
    });
    CHECK(ended);
  });
}
