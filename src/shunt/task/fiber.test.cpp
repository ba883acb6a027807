#include <shunt/task.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/runtimes.hpp>

using namespace shunt;
using namespace std::chrono_literals;
namespace this_fiber = sched::this_fiber;
using shunt::testing::on_workers;

namespace {

/// Runs until it is asked to stop.
void until_stopped(const std::stop_token& stop) {
  const std::stop_callback awaken(stop, [fiber = this_fiber::self()] { fiber.wake(); });
  while (!stop.stop_requested()) this_fiber::park();
}

}  // namespace

TEST_CASE("fiber: join waits for the fiber and its tasks, publishes their writes, throws its exception") {
  on_workers([] {
    int written = 0;  // not atomic: join publishes it
    fiber f([&] {
      async([&] {
        this_fiber::yield();
        ++written;
      });
      this_fiber::yield();
    });
    CHECK(f.joinable());
    f.join();
    CHECK(written == 1);
    CHECK_FALSE(f.joinable());
    CHECK_THROWS_AS(f.join(), error);

    fiber throws([] { throw std::runtime_error("mine"); });
    CHECK_THROWS_WITH(throws.join(), "mine");
    CHECK_FALSE(throws.joinable());
  });
}

TEST_CASE("fiber: a handle that is destroyed or assigned to stops its fiber and waits") {
  on_workers([] {
    std::atomic<int> ended{0};
    const auto runs = [&](std::stop_token stop) {
      until_stopped(stop);
      ++ended;
    };
    {
      const fiber f(runs);
      static_cast<void>(f);
    }
    CHECK(ended == 1);
    fiber f(runs);
    f = fiber(runs);
    CHECK(ended == 2);
    CHECK(f.joinable());
    fiber g(std::move(f));
    CHECK_FALSE(f.joinable());
    CHECK(g.token().stop_possible());
    g.request_stop();
    g.join();
    CHECK(ended == 3);
    const fiber throws([] { throw 1; });  // no join(): dropped
    static_cast<void>(throws);
  });
}

TEST_CASE("fiber: a stop of the runtime asks it to stop, begun or not, moved or not") {
  on_workers([] {
    std::atomic<int> ended{0};
    std::atomic<int> begun{0};
    const auto runs = [&](std::stop_token stop) {
      ++begun;
      until_stopped(stop);
      ++ended;
    };
    fiber first(runs);
    while (begun == 0) this_fiber::yield();
    fiber moved = std::move(first);
    sched::this_worker::current().request_stop();
    fiber late(runs);
    moved.join();
    late.join();
    CHECK(ended == 2);
  });
}

TEST_CASE("fiber: has the name, worker and stack of its options, and an id of its own") {
  sched::options o;
  o.workers = 2;
  sched::runtime(o).run([] {
    std::string name;
    int worker = -1;
    sched::fiber_id inside;
    fiber f(
        [&] {
          name = this_fiber::name();
          worker = sched::this_worker::index();
          inside = this_fiber::id();
        },
        {.worker = 1, .name = "reader"});
    const auto id = f.id();
    f.join();
    CHECK(name == "reader");
    CHECK(worker == 1);
    CHECK(inside == id);
    CHECK(this_fiber::id() != id);
    CHECK(this_fiber::id() != sched::fiber_id{});
  });
}

TEST_CASE("fiber: join_until returns at its deadline or at a stop request, and can be called again") {
  on_workers([] {
    fiber f(until_stopped);
    CHECK_FALSE(f.join_for(0ns));
    CHECK_FALSE(f.join_for(1ms));
    CHECK_FALSE(f.join_until(std::chrono::steady_clock::now() - 1h));
    CHECK(f.joinable());

    std::stop_source tired;
    fiber stopper([&] { tired.request_stop(); });
    CHECK_FALSE(f.join_until(std::chrono::steady_clock::time_point::max(), tired.get_token()));
    CHECK_FALSE(f.join_until(std::chrono::steady_clock::time_point::max(), tired.get_token()));  // at once

    f.request_stop();
    CHECK(f.join_for(std::chrono::nanoseconds::max()));
    CHECK_FALSE(f.joinable());
  });
}

TEST_CASE("future: a wait_until that ends early removes its listener from any place of the list") {
  on_workers([] {
    promise<int> p;
    auto f = p.get_future();
    finish([&] {
      std::atomic<int> gave_up{0};
      std::atomic<int> got{0};
      for (int i = 0; i < 60; ++i) {
        async([&, i] {
          if (i % 3 == 0) {
            got += f.get();
          } else if (i % 3 == 1) {
            gave_up += f.wait_for(std::chrono::microseconds(i)) ? 0 : 1;
          } else {
            got += f.wait_for(std::chrono::nanoseconds::max()) ? 5 : 0;
          }
        });
      }
      while (gave_up < 20) this_fiber::yield();
      p.set_value(5);
      while (got < 40 * 5) this_fiber::yield();
    });
    CHECK(f.wait_for(0ns));
    CHECK(f.wait(std::stop_token{}));
  });
}

// allowed    true  + notified   the value came first
// allowed    false + detached   the wait ended first
// forbidden  any other outcome: the waiter would be notified on a stack frame that it has left
TEST_CASE("future: a wait that ends while its result comes is notified or detached, never both") {
  int came = 0;
  int gone = 0;
  on_workers([&] {
    for (int round = 0; round < 2000; ++round) {
      promise<int> p;
      auto f = p.get_future();
      std::stop_source stop;
      std::atomic<int> ready{0};
      std::atomic<bool> left{false};
      const auto order = round % 4;  // 0: the value is first; 1: the stop is; 2, 3: as it comes
      fiber waits([&] {
        ++ready;
        if (f.wait(stop.get_token())) {
          CHECK(f.get() == round);
          ++came;
        } else {
          ++gone;
        }
        left = true;
      });
      if (round % 2 == 0) {
        while (ready == 0) this_fiber::yield();
      }
      fiber stops([&] {
        if (order == 0) f.wait();
        stop.request_stop();
      });
      fiber sets([&, round] {
        while (order == 1 && !left) this_fiber::yield();
        p.set_value(round);
      });
      waits.join();
      stops.join();
      sets.join();
    }
  });
  CHECK(came > 0);
  CHECK(gone > 0);
}

TEST_CASE("task_group: wait_until returns whether all have ended, and changes nothing if not") {
  on_workers([] {
    task_group group;
    CHECK(group.wait_for(0ns));
    for (int round = 0; round < 3; ++round) {
      group.spawn([] { this_fiber::yield(); });
      CHECK(group.wait_for(std::chrono::nanoseconds::max()));
    }
    promise<void> open;
    group.spawn([gate = open.get_future()] { gate.get(); });
    CHECK_FALSE(group.wait_for(0ns));
    CHECK_FALSE(group.wait_for(1us));
    std::stop_source tired;
    tired.request_stop();
    CHECK_FALSE(group.wait_until(std::chrono::steady_clock::time_point::max(), tired.get_token()));
    open.set_value();
    CHECK_NOTHROW(group.wait());
    group.spawn([] { throw std::runtime_error("mine"); });
    CHECK_THROWS_WITH(static_cast<void>(group.wait_for(std::chrono::nanoseconds::max())), "mine");
  });
}

TEST_CASE("deadlock: of fibers that join each other in a circle, one gets an error with all names") {
  on_workers([] {
    std::vector<fiber> ring(3);
    promise<void> open;
    std::atomic<int> told{0};
    std::atomic<int> ended{0};
    std::string text;
    for (std::size_t i = 0; i < 3; ++i) {
      ring[i] = fiber(
          [&, i, gate = open.get_future()] {
            gate.get();
            try {
              ring[(i + 1) % 3].join();
            } catch (const sched::deadlock& d) {
              ++told;
              text = d.what();
            }
            ++ended;
          },
          {.name = "philosopher " + std::to_string(i)});
    }
    open.set_value();
    while (ended < 3) this_fiber::yield();  // until then the fibers use the handles
    for (auto& f : ring) {
      if (f.joinable()) f.join();
    }
    CHECK(told == 1);
    INFO(text);
    CHECK(text.find("deadlock: fiber `philosopher") != std::string::npos);
    for (int i = 0; i < 3; ++i) CHECK(text.find("waits for `philosopher " + std::to_string(i)) != std::string::npos);
  });
}

TEST_CASE("deadlock: two fibers that close a circle at the same time break it once, every time") {
  on_workers([] {
    for (int round = 0; round < 500; ++round) {
      std::atomic<int> told{0};
      std::atomic<int> there{0};
      future<int> a;
      future<int> b;
      finish([&] {
        const auto asks = [&](const future<int>& other) {
          ++there;
          while (there < 3) this_fiber::yield();
          try {
            return other.get() + 1;
          } catch (const sched::deadlock&) {
            ++told;
            return 0;
          }
        };
        a = async_value([&, asks] { return asks(b); });
        b = async_value([&, asks] { return asks(a); });
        ++there;
      });
      REQUIRE(told == 1);
      REQUIRE(a.get() + b.get() == 1);
    }
  });
}

TEST_CASE("deadlock: a fiber that waits for itself is one; a chain is none") {
  on_workers([] {
    future<void> mine;
    std::atomic<bool> known{false};
    finish([&] {
      mine = async_value([&] {
        while (!known) this_fiber::yield();
        mine.get();
      });
      known = true;
    });
    CHECK_THROWS_AS(mine.get(), sched::deadlock);

    finish([] {
      std::vector<future<int>> chain;
      promise<int> first;
      chain.push_back(first.get_future());
      for (int i = 0; i < 50; ++i) {
        chain.push_back(async_value([before = chain.back()] { return before.get() + 1; }));
      }
      async([&] { first.set_value(0); });
      CHECK(chain.back().get() == 50);
    });
  });
}

TEST_CASE("deadlock: an edge ends with the fiber that it leads to, even if its block is used again") {
  // `waits` waits for `ends`, which ends; before `waits` runs on, `late` gets the block of `ends` and waits for
  // `waits`.
  sched::options o;
  o.workers = 1;
  sched::runtime rt(o);
  sched::waker next;
  bool may_end = false;
  future<int> waits;
  fiber late;
  rt.run([&] {
    rt.spawn(
        [&] {
          next = this_fiber::self();
          while (!may_end) this_fiber::park();
          late = fiber([&] { CHECK(waits.get() == 2); }, {.worker = 0});
        },
        {.worker = 0});
    while (!next) this_fiber::yield();
    promise<void> gate;
    // Its captures are destroyed after its result is set: the fiber that this wakes runs before `waits`.
    const auto ends = async_value([open = gate.get_future(), last = std::shared_ptr<void>(nullptr, [&](void*) {
                                                               may_end = true;
                                                               next.wake();
                                                             })] {
      open.get();
      return 1;
    });
    waits = async_value([ends] { return ends.get() + 1; });
    for (int i = 0; i < 4; ++i) this_fiber::yield();  // both wait
    gate.set_value();
    while (!late.joinable()) this_fiber::yield();
    CHECK_NOTHROW(late.join());
  });
}

TEST_CASE("deadlock: tasks one after the other in the same blocks are none") {
  sched::options o;
  o.workers = 1;
  sched::runtime(o).run([] {
    for (int round = 0; round < 100; ++round) {
      const auto first = async_value([] { return 1; });
      const auto second = async_value([first] { return first.get() + 1; });
      const auto third = async_value([second] { return second.get() + 1; });
      REQUIRE(third.get() == 3);
    }
  });
}
