// mutex: exclusion, order, deadlines, deadlocks; between fibers, between threads, and between both.
#include <shunt/sync/mutex.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <shunt/sched.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sync.hpp>

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

class forbidding : public sched::no_wait {
 public:
  void refuse(shunt::call_site call) const override {
    throw shunt::usage_error(std::string(call.name()) + ": refused here");
  }
};

}  // namespace

TEST_CASE("mutex: fibers of several workers and threads hold it one at a time") {
  constexpr int rounds = 2000;
  shunt::mutex guard;
  long sum = 0;
  bool inside = false;
  bool together = false;
  const auto add = [&] {
    const std::lock_guard held(guard);
    together |= inside;
    inside = true;
    if (this_fiber::inside() && sum % 64 == 0) this_fiber::yield();
    ++sum;
    inside = false;
  };
  std::thread thread([&] {
    for (int i = 0; i < rounds; ++i) add();
  });
  sched::runtime rt(with(3));
  rt.run([&] {
    for (int f = 0; f < 8; ++f) {
      rt.spawn([&] {
        for (int i = 0; i < rounds; ++i) add();
      });
    }
  });
  thread.join();
  CHECK_FALSE(together);
  CHECK(sum == 9L * rounds);
}

TEST_CASE("mutex: try_lock says whether it is held, and never waits") {
  shunt::mutex guard;
  REQUIRE(guard.try_lock());
  CHECK_FALSE(guard.try_lock());
  std::thread([&] { CHECK_FALSE(guard.try_lock()); }).join();
  guard.unlock();
  CHECK(guard.try_lock());
  guard.unlock();
}

TEST_CASE("mutex: waiters of one worker get it in the order in which they came") {
  sched::runtime rt(with(1));
  shunt::mutex guard;
  std::vector<int> order;
  rt.run([&] {
    guard.lock();
    for (int f = 0; f < 5; ++f) {
      bool begun = false;
      rt.spawn([&, f] {
        begun = true;
        const std::lock_guard held(guard);
        order.push_back(f);
      });
      while (!begun) this_fiber::yield();  // it goes on to its wait before this fiber runs again
    }
    guard.unlock();
  });
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("mutex: a holder that locks again at once cannot starve a waiter") {
  sched::runtime rt(with(2));
  shunt::mutex guard;
  std::atomic<bool> got = false;
  rt.run([&] {
    rt.spawn([&] {
      while (!got) {
        guard.lock();
        for (int i = 0; i < 4; ++i) this_fiber::yield();
        guard.unlock();  // and again, before a waiter that was only woken can run
      }
    });
    rt.spawn([&] {
      this_fiber::sleep_for(1ms);
      const std::lock_guard held(guard);
      got = true;
    });
  });
  CHECK(got);
}

TEST_CASE("mutex: a wait with a deadline ends at it, and leaves the mutex to others") {
  shunt::mutex guard;
  sched::runtime rt(with(2));
  rt.run([&] {
    guard.lock();
    int waits = 0;
    shunt::mutex other;
    for (int f = 0; f < 20; ++f) {
      rt.spawn([&] {
        const bool locked = guard.try_lock_for(2ms) || guard.try_lock_until(sched::now());
        const std::lock_guard held(other);
        waits += locked ? 1000 : 1;
      });
    }
    for (;;) {
      this_fiber::sleep_for(1ms);
      const std::lock_guard held(other);
      if (waits >= 20) break;
    }
    CHECK(waits == 20);
    guard.unlock();
    CHECK(guard.try_lock_for(1h));
    guard.unlock();
  });
  std::thread([&] {
    guard.lock();
    std::thread([&] { CHECK_FALSE(guard.try_lock_for(1ms)); }).join();
    guard.unlock();
  }).join();
}

TEST_CASE("mutex: deadlines that race with unlocks lose no lock and no wake") {
  constexpr int rounds = 300;
  shunt::mutex guard;
  long sum = 0;
  std::atomic<long> successes = 0;
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int f = 0; f < 6; ++f) {
      rt.spawn([&, f] {
        for (int i = 0; i < rounds; ++i) {
          if (f % 2 == 0) {
            guard.lock();
          } else if (!guard.try_lock_for(std::chrono::microseconds(i % 7 * 3))) {
            continue;
          }
          ++sum;
          if (i % 3 == 0) this_fiber::yield();
          guard.unlock();
          ++successes;
        }
      });
    }
  });
  CHECK(sum == successes);
  CHECK(successes >= 3L * rounds);
  CHECK(guard.try_lock());
  guard.unlock();
}

TEST_CASE("mutex: a fiber that locks what it holds gets `deadlock`") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::mutex guard;
    const std::lock_guard held(guard);
    CHECK_THROWS_AS(guard.lock(), sched::deadlock);
    CHECK_THROWS_AS(guard.try_lock_for(1ms), sched::deadlock);
    CHECK_FALSE(guard.try_lock());
  });
}

TEST_CASE("mutex: of fibers that wait for each other in a circle one gets `deadlock`, and the others go on") {
  constexpr std::size_t fibers = 3;
  sched::runtime rt(with(2));
  std::array<shunt::mutex, fibers> forks;
  std::atomic<int> seated = 0;
  int ended = 0;
  std::vector<std::string> texts;
  rt.run([&] {
    for (std::size_t f = 0; f < fibers; ++f) {
      sched::spawn_options named;
      const std::string name = "philosopher " + std::to_string(f);
      named.name = name;
      rt.spawn(
          [&, f] {
            const std::lock_guard left(forks[f]);
            ++seated;
            while (seated != static_cast<int>(fibers)) this_fiber::yield();
            try {
              const std::lock_guard right(forks[(f + 1) % fibers]);
              ++ended;  // one at a time: a circle's fibers are chained by their forks
            } catch (const sched::deadlock& found) {
              texts.emplace_back(found.what());
            }
          },
          named);
    }
  });
  REQUIRE(texts.size() == 1);
  CHECK(ended == static_cast<int>(fibers) - 1);
  CHECK_THAT(texts[0], Catch::StartsWith("mutex::lock: deadlock: fiber `philosopher "));
  for (const auto* each : {"philosopher 0", "philosopher 1", "philosopher 2"})
    CHECK_THAT(texts[0], Catch::Contains(each));
}

TEST_CASE("mutex: a long chain of waits is no circle") {
  constexpr std::size_t fibers = 6;
  sched::runtime rt(with(2));
  std::array<shunt::mutex, fibers + 1> chain;
  int ended = 0;
  rt.run([&] {
    chain[fibers].lock();
    for (std::size_t f = 0; f < fibers; ++f) {
      rt.spawn([&, f] {
        const std::lock_guard mine(chain[f]);
        const std::lock_guard next(chain[f + 1]);
        ++ended;
      });
    }
    this_fiber::sleep_for(30ms);  // longer than a wait that is looked at
    chain[fibers].unlock();
  });
  CHECK(ended == static_cast<int>(fibers));
}

TEST_CASE("mutex: where waiting is forbidden a free one can be locked, and a held one is refused by name") {
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::mutex guard;
    const forbidding by;
    bool refused = false;
    bool locked = false;
    rt.spawn([&] {
      const std::lock_guard held(guard);
      locked = true;
      while (!refused) this_fiber::yield();
    });
    while (!locked) this_fiber::yield();
    {
      const sched::waits_forbidden here(by);
      shunt::mutex unlocked;
      unlocked.lock();
      unlocked.unlock();
      CHECK_THROWS_WITH(guard.lock(), Catch::StartsWith("mutex::lock: refused here"));
    }
    refused = true;
    guard.lock();
    guard.unlock();
  });
}

TEST_CASE("mutex: a worker outside of its fibers is refused, as all its fibers would wait") {
  struct handler final : sched::poller {  // as a handler of messages: its worker's loop calls it
    bool poll() override {
      if (done) return false;
      done = true;
      for (const auto& wait : waits) {
        try {
          wait();
        } catch (const shunt::error&) {
          ++refused;
        }
      }
      return true;
    }
    bool arm() override { return done; }
    void disarm() override {}
    std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
    std::vector<std::function<void()>> waits;
    int refused = 0;
    bool done = false;
  };
  sched::runtime rt(with(1));
  rt.run([&] {
    shunt::mutex guard;
    shunt::semaphore none(0);
    shunt::latch shut(1);
    shunt::channel<int> empty(1);
    const std::lock_guard held(guard);
    handler outside;
    outside.waits = {[&] { guard.lock(); }, [&] { none.acquire(); }, [&] { shut.wait(); },
                     [&] { static_cast<void>(empty.receive()); }};
    sched::this_worker::attach(outside);
    while (!outside.done) this_fiber::sleep_for(1ms);
    sched::this_worker::detach(outside);
    CHECK(outside.refused == 4);
  });
}

TEST_CASE("mutex: many fibers wait for long for one") {
  constexpr int fibers = 3000;
  sched::runtime rt(with(2));
  shunt::mutex guard;
  int ended = 0;
  rt.run([&] {
    guard.lock();
    for (int f = 0; f < fibers; ++f) {
      rt.spawn([&] {
        const std::lock_guard held(guard);
        ++ended;
      });
    }
    this_fiber::sleep_for(30ms);  // longer than a wait that is looked at
    guard.unlock();
  });
  CHECK(ended == fibers);
}

TEST_CASE("mutex: the next holder may destroy it") {
  sched::runtime rt(with(2));
  rt.run([&] {
    for (int i = 0; i < 300; ++i) {
      auto guard = std::make_unique<shunt::mutex>();
      auto* const seen = guard.get();
      std::atomic<bool> locked = false;
      std::thread holder([seen, &locked] {
        seen->lock();
        locked = true;
        seen->unlock();
      });
      while (!locked) this_fiber::yield();
      seen->lock();
      seen->unlock();
      guard.reset();
      holder.join();
    }
  });
}
