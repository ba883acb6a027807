// Condition variables, semaphores, shared mutexes, latches, barriers, once.
#include <shunt/sync.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include <shunt/base/clock.hpp>
#include <shunt/sched.hpp>

#include <catch2/catch.hpp>

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace std::chrono_literals;

namespace {

sched::options with(int workers) {
  sched::options o;
  o.workers = workers;
  return o;
}

}  // namespace

TEST_CASE("condition_variable: a queue between fibers and threads loses nothing") {
  constexpr long items = 3000;
  shunt::mutex guard;
  shunt::condition_variable not_empty, not_full;
  std::deque<long> queue;
  long sum = 0;
  const auto produce = [&] {
    for (long i = 1; i <= items; ++i) {
      std::unique_lock held(guard);
      not_full.wait(held, [&] { return queue.size() < 4; });
      queue.push_back(i);
      not_empty.notify_one();
    }
  };
  const auto consume = [&](long count) {
    for (long i = 0; i < count; ++i) {
      std::unique_lock held(guard);
      not_empty.wait(held, [&] { return !queue.empty(); });
      sum += queue.front();
      queue.pop_front();
      not_full.notify_one();
    }
  };
  std::thread producing(produce);
  std::thread consuming([&] { consume(items); });
  sched::runtime rt(with(2));
  rt.run([&] {
    rt.spawn(produce);
    rt.spawn([&] { consume(items / 2); });
    rt.spawn([&] { consume(items / 2); });
  });
  producing.join();
  consuming.join();
  CHECK(sum == items * (items + 1));
}

TEST_CASE("condition_variable: one notification wakes the one that has waited longest, and all wakes all") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::mutex guard;
    shunt::condition_variable changed;
    std::vector<int> order;
    for (int f = 0; f < 4; ++f) {
      bool begun = false;
      rt.spawn([&, f] {
        std::unique_lock held(guard);
        begun = true;
        changed.wait(held);
        order.push_back(f);
      });
      while (!begun) this_fiber::yield();  // it goes on to its wait before this fiber runs again
    }
    CHECK(order.empty());
    changed.notify_one();
    while (order.empty()) this_fiber::sleep_for(1ms);
    CHECK(order == std::vector<int>{0});
    changed.notify_all();
    while (order.size() < 4) this_fiber::sleep_for(1ms);
    changed.notify_one();  // for none
  });
}

TEST_CASE("condition_variable: a deadline ends a wait, with the lock held, and takes no notification away") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::mutex guard;
    shunt::condition_variable changed;
    std::unique_lock held(guard);
    CHECK_FALSE(changed.wait_for(held, 1ms));
    CHECK(held.owns_lock());
    CHECK_FALSE(guard.try_lock());
    CHECK_FALSE(changed.wait_until(held, sched::now(), [] { return false; }));
    CHECK(changed.wait_for(held, 1h, [] { return true; }));
    rt.spawn([&] { changed.notify_one(); });
    CHECK(changed.wait_for(held, 1h));
  });
}

TEST_CASE("condition_variable: a stop request ends a wait, before it, amid it, and from another thread") {
  sched::runtime rt(with(2));
  rt.run([&] {
    shunt::mutex guard;
    shunt::condition_variable changed;
    for (int round = 0; round < 200; ++round) {
      std::stop_source stop;
      std::thread other([&] { stop.request_stop(); });
      std::unique_lock held(guard);
      CHECK_FALSE(changed.wait(held, stop.get_token(), [] { return false; }));
      CHECK(held.owns_lock());
      CHECK_FALSE(changed.wait(held, stop.get_token(), [] { return false; }));
      other.join();
    }
    std::unique_lock held(guard);
    CHECK_FALSE(changed.wait(held, std::stop_source().get_token(), [] { return false; }, sched::after(1ms)));
  });
}

TEST_CASE("condition_variable: a lock that is not held is refused, and leaves no waiter behind") {
  shunt::mutex guard;
  shunt::condition_variable changed;
  {
    std::unique_lock free(guard, std::defer_lock);
    CHECK_THROWS_AS(changed.wait(free), std::system_error);
  }
  changed.notify_all();
}

TEST_CASE(
    "condition_variable: when the lock cannot be had again, the wait throws that, and the next waiter is notified") {
  struct stubborn {  // cannot be locked again
    void lock() { throw std::runtime_error("no more"); }
    void unlock() {}
  };
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::mutex guard;
    shunt::condition_variable changed;
    bool begun = false, other_begun = false, refused = false, notified = false;
    rt.spawn([&] {
      begun = true;
      stubborn lock;
      try {
        changed.wait(lock);
      } catch (const std::runtime_error&) {
        refused = true;
      }
    });
    while (!begun) this_fiber::yield();
    rt.spawn([&] {
      std::unique_lock held(guard);
      other_begun = true;
      changed.wait(held);
      notified = true;
    });
    while (!other_begun) this_fiber::yield();
    changed.notify_one();
    while (!notified) this_fiber::yield();
    CHECK(refused);
  });
}

TEST_CASE("semaphore: at most as many hold a permit as there are, and each release lets one in") {
  shunt::semaphore permits(3);
  shunt::latch all_inside(3);  // were fewer than three let in together, none of them would pass
  std::atomic<int> inside = 0, most = 0;
  const auto hold = [&](const auto& meanwhile) {
    permits.acquire();
    const int now = ++inside;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    meanwhile();
    --inside;
    permits.release();
  };
  const auto work = [&] {
    for (int i = 0; i < 500; ++i) {
      hold([] {
        if (this_fiber::inside()) this_fiber::yield();
      });
    }
  };
  std::thread thread(work);
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < 3; ++f) rt.spawn([&] { hold([&] { all_inside.arrive_and_wait(); }); });
    for (int f = 0; f < 8; ++f) rt.spawn(work);
  });
  thread.join();
  CHECK(most == 3);
  CHECK(permits.available() == 3);
}

TEST_CASE("semaphore: permits go to waiters first, and deadlines give up without taking one") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::semaphore permits(0);
    CHECK_FALSE(permits.try_acquire());
    CHECK_FALSE(permits.try_acquire_for(1ms));
    CHECK_FALSE(permits.try_acquire_until(sched::now()));
    int begun = 0, got = 0;
    for (int f = 0; f < 3; ++f) {
      rt.spawn([&] {
        ++begun;
        permits.acquire();
        ++got;
      });
    }
    while (begun < 3) this_fiber::yield();  // each goes on to its wait before this fiber runs again
    permits.release(5);
    CHECK(permits.available() == 2);
    while (got < 3) this_fiber::yield();
    permits.release(0);
    CHECK(permits.try_acquire());
    CHECK(permits.available() == 1);
  });
  CHECK_THROWS_AS(shunt::semaphore(-1), shunt::usage_error);
}

TEST_CASE("shared_mutex: readers hold it together: fibers on two workers and a thread") {
  shunt::shared_mutex guard;
  shunt::latch all_hold_it(4);  // were readers to exclude each other, none would pass
  std::atomic<int> together = 0;
  const auto read = [&] {
    const std::shared_lock held(guard);
    all_hold_it.arrive_and_wait();
    ++together;
  };
  std::thread thread(read);
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < 3; ++f) rt.spawn(read);
  });
  thread.join();
  CHECK(together == 4);
  CHECK(guard.try_lock());
  guard.unlock();
}

TEST_CASE("shared_mutex: a writer is alone") {
  shunt::shared_mutex guard;
  long first = 0, second = 0;
  std::atomic<int> readers = 0, wrong = 0;
  const auto write = [&] {
    for (int i = 0; i < 300; ++i) {
      const std::lock_guard held(guard);
      if (readers != 0) ++wrong;
      ++first;
      if (this_fiber::inside()) this_fiber::yield();
      ++second;
    }
  };
  const auto read = [&] {
    for (int i = 0; i < 300; ++i) {
      const std::shared_lock held(guard);
      ++readers;
      if (first != second) ++wrong;
      if (this_fiber::inside()) this_fiber::yield();
      --readers;
    }
  };
  std::thread thread(write);
  sched::runtime rt(with(2));
  rt.run([&] {
    rt.spawn(write);
    for (int f = 0; f < 4; ++f) rt.spawn(read);
  });
  thread.join();
  CHECK(wrong == 0);
  CHECK(first == 600);
}

TEST_CASE("shared_mutex: a reader waits behind a writer that waits; a writer that gives up lets readers in") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::shared_mutex guard;
    guard.lock_shared();
    bool begun = false, written = false, read = false;
    rt.spawn([&] {
      begun = true;
      const std::lock_guard held(guard);
      CHECK_FALSE(read);
      written = true;
    });
    while (!begun) this_fiber::yield();  // the writer goes on to its wait before this fiber runs again
    CHECK_FALSE(guard.try_lock_shared());
    CHECK_FALSE(guard.try_lock_shared_for(1ms));
    rt.spawn([&] {
      const std::shared_lock held(guard);
      CHECK(written);
      read = true;
    });
    guard.unlock_shared();
    while (!read) this_fiber::yield();

    guard.lock_shared();
    begun = read = false;
    rt.spawn([&] {
      begun = true;
      CHECK_FALSE(guard.try_lock_for(3ms));
    });
    while (!begun) this_fiber::yield();
    rt.spawn([&] {
      const std::shared_lock held(guard);
      read = true;
    });
    while (!read) this_fiber::sleep_for(1ms);  // beside this fiber, once the writer gives up
    CHECK(guard.try_lock_shared());
    guard.unlock_shared();
    CHECK_FALSE(guard.try_lock());
    guard.unlock_shared();
    CHECK(guard.try_lock());
    CHECK_FALSE(guard.try_lock_shared());
    guard.unlock();
  });
}

TEST_CASE("latch: opens at zero, for those that wait and those that come later; a waiter may destroy it") {
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int round = 0; round < 200; ++round) {
      auto open = std::make_unique<shunt::latch>(3);
      int values[3] = {};
      for (int& each : values) {
        rt.spawn([&each, gate = open.get()] {
          each = 1;
          gate->count_down();
        });
      }
      open->wait();
      open->wait();
      CHECK(open->try_wait());
      CHECK(values[0] + values[1] + values[2] == 3);
    }
    shunt::latch shut(1);
    CHECK_FALSE(shut.try_wait());
    CHECK_FALSE(shut.wait_for(1ms));
    std::thread([&] { shut.arrive_and_wait(); }).join();
    CHECK(shut.wait_for(1h));
  });
  CHECK_THROWS_AS(shunt::latch(-1), shunt::usage_error);
}

TEST_CASE("barrier: a phase ends when all have arrived; its completion runs once, before any goes on") {
  constexpr int members = 5;
  constexpr int phases = 200;
  std::atomic<int> arrived = 0, wrong = 0;
  int ended = 0;
  shunt::barrier all(members, [&] {
    ++ended;
    if (arrived != ended * members) ++wrong;
  });
  const auto take_part = [&] {
    for (int phase = 0; phase < phases; ++phase) {
      ++arrived;
      all.arrive_and_wait();
      if (ended <= phase) ++wrong;  // not more than one ahead: the next phase needs this member
    }
  };
  std::thread thread(take_part);
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < members - 1; ++f) rt.spawn(take_part);
  });
  thread.join();
  CHECK(wrong == 0);
  CHECK(ended == phases);
  CHECK_THROWS_AS(shunt::barrier(0), shunt::usage_error);
}

TEST_CASE("barrier: a member that drops out ends the phase if all others have arrived") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::barrier all(3);
    int passed = 0;
    for (int f = 0; f < 2; ++f) {
      rt.spawn([&] {
        all.arrive_and_wait();
        all.arrive_and_wait();
        ++passed;
      });
    }
    this_fiber::yield();
    all.arrive_and_drop();
    while (passed < 2) this_fiber::yield();
  });
}

TEST_CASE("barrier: a phase whose last member drops out ends, too") {
  int ended = 0;
  shunt::barrier all(2, [&] { ++ended; });
  all.arrive_and_drop();
  CHECK(ended == 0);
  all.arrive_and_drop();
  CHECK(ended == 1);
}

TEST_CASE("once: one call runs its function, the others wait for it, and an exception leaves it to the next") {
  shunt::once first;
  CHECK_THROWS_AS(first.call([] { throw std::runtime_error("not today"); }), std::runtime_error);
  int value = 0;
  std::atomic<int> runs = 0, wrong = 0;
  const auto use = [&] {
    first.call(
        [&](int to) {
          if (this_fiber::inside()) this_fiber::sleep_for(1ms);
          value = to;
          ++runs;
        },
        7);
    if (value != 7) ++wrong;
  };
  std::thread thread(use);
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < 6; ++f) rt.spawn(use);
  });
  thread.join();
  CHECK(runs == 1);
  CHECK(wrong == 0);
}

TEST_CASE("once: what the function wrote is visible to a call that finds it done") {
  for (int round = 0; round < 100; ++round) {
    shunt::once first;
    int value = 0;
    std::atomic<bool> begun = false;
    std::thread writer([&] {
      begun.store(true, std::memory_order_relaxed);  // relaxed: the test is about the edge of `first`
      first.call([&] { value = 7; });
    });
    while (!begun.load(std::memory_order_relaxed)) {
    }
    for (int i = 0; i < round * 10; ++i) shunt::relax();
    first.call([&] { value = 8; });
    CHECK(value >= 7);
    writer.join();
  }
}
