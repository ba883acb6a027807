/// A million exceptions are rethrown by fibers that yielded inside their handlers, while the other
/// fibers of the worker threw, caught and rethrew theirs: each gets its own back.
///
/// Fibers are pinned; or tasks that a sleeping worker steals, spawned inside a handler; or they go
/// through handlers with fork_join, whose second branch another worker may take; or they migrate
/// amid a handler, from the worker that keeps a busy one to the other, which sleeps, and are born again.
#include <atomic>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <shunt/sched.hpp>
#include <shunt/task/fork_join.hpp>

#include <support/expect.hpp>

#include "abi.hpp"

namespace {

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
namespace this_worker = shunt::sched::this_worker;

constexpr int workers = 2;
constexpr int pinned = 16;
constexpr int rounds = 24'000;  // of a pinned fiber, each with 2 rethrows
constexpr int tasks = 8;        // at a time
constexpr int waves = 12'500;   // of tasks, each with 3 rethrows
constexpr int flights = 2'000;  // of 8 fibers that migrate between throw and rethrow, each with 2 rethrows or more
constexpr long rethrows_wanted = 2L * pinned * rounds + 3L * tasks * waves + 2L * tasks * flights;
static_assert(rethrows_wanted >= 1'000'000);

std::atomic<long> rethrows{0};
shunt::testing::expectations all;  // throws nothing: exceptions are what is tested

/// Its text is on the heap: a fiber that gets an exception that has been destroyed reads what is not there.
struct thrown {
  thrown(long by, long when)
      : fiber(by), round(when), text("exception " + std::to_string(by) + " of round " + std::to_string(when)) {}
  long fiber;
  long round;
  std::string text;
};

void expect_same(const thrown& got, long fiber, long round) {
  all.expect(got.fiber == fiber && got.round == round && got.text == thrown(fiber, round).text);
}

void expect_over() { all.expect(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr); }

/// Throws, yields in the handler, and in that of another exception within it, and rethrows both.
void nested(long me, long round) {
  long counted = 0;
  try {
    try {
      throw thrown(me, round);
    } catch (const thrown&) {
      this_fiber::yield();
      ++counted;
      throw;
    }
  } catch (const thrown& outer) {
    expect_same(outer, me, round);
    try {
      try {
        throw thrown(me, -round);
      } catch (const thrown&) {
        this_fiber::yield();
        ++counted;
        throw;
      }
    } catch (const thrown& inner) {
      this_fiber::yield();
      expect_same(inner, me, -round);
    }
    expect_same(outer, me, round);
  }
  expect_over();
  rethrows.fetch_add(counted, std::memory_order_relaxed);
}

/// A destructor that yields while its frame is unwound, and an exception that crosses fibers.
void crossing(long me, long round) {
  struct yields {
    ~yields() {
      all.expect(std::uncaught_exceptions() == 1);
      this_fiber::yield();
      all.expect(std::uncaught_exceptions() == 1);
    }
  };
  try {
    const yields amid_unwinding;
    throw thrown(me, round);
  } catch (const thrown& mine) {
    try {
      shunt::fork_join([&] { this_fiber::yield(); },
                       [&, kept = std::current_exception()] { std::rethrow_exception(kept); });
    } catch (const thrown& same) {
      all.expect(&same == &mine);
      rethrows.fetch_add(1, std::memory_order_relaxed);
    }
    expect_same(mine, me, round);
  }
  expect_over();
}

/// Waves of tasks, spawned in a handler, that start wherever a worker takes them.
void spawn_waves() {
  std::atomic<long> elsewhere{0};
  const int home = this_worker::index();
  for (long wave = 1; wave <= waves; ++wave) {
    std::atomic<int> open{tasks};
    const auto me = this_fiber::self();
    try {
      throw thrown(-1, wave);
    } catch (const thrown& mine) {
      for (long i = 0; i < tasks; ++i) {
        this_worker::current().spawn([&, i, me] {
          elsewhere += this_worker::index() != home;
          nested(1000 + i, wave);
          crossing(1000 + i, wave);
          if (--open == 0) me.wake();
        });
      }
      // The first wave keeps its worker until another one has taken a task.
      while (elsewhere == 0) std::this_thread::yield();
      while (open != 0) this_fiber::park();
      expect_same(mine, -1, wave);
    }
    expect_over();
  }
}

/// Flocks that throw on worker 0, and rethrow on worker 1: that sleeps, and worker 0 has always something else to do.
void spawn_flights() {
  for (long flight = 1; flight <= flights; ++flight) {
    std::atomic<int> open{tasks};
    for (long i = 0; i < tasks; ++i) {
      this_worker::current().spawn(
          [&, i] {
            try {
              try {
                throw thrown(2000 + i, flight);
              } catch (const thrown&) {
                while (this_worker::index() == 0) this_fiber::yield();
                rethrows.fetch_add(1, std::memory_order_relaxed);
                throw;
              }
            } catch (const thrown& mine) {
              expect_same(mine, 2000 + i, flight);
              try {
                this_fiber::yield();
                std::rethrow_exception(std::current_exception());
              } catch (const thrown& same) {
                all.expect(&same == &mine);
                rethrows.fetch_add(1, std::memory_order_relaxed);
              }
            }
            expect_over();
            --open;
          },
          {.worker = 0, .migrates = true});
    }
    while (open != 0) this_fiber::yield();
  }
}

}  // namespace

int shunt::testing::abi() {
  sched::options o;
  o.workers = workers;
  sched::runtime rt(o);
  rt.run([&] {
    for (long i = 0; i < pinned; ++i) {
      rt.spawn(
          [i] {
            for (long round = 1; round <= rounds; ++round) nested(i, round);
          },
          {.worker = static_cast<int>(i % workers)});
    }
    spawn_waves();
  });
  rt.run(spawn_flights);
  std::printf("%ld rethrows, %ld wrong\n", rethrows.load(), all.unmet_count());
  return rethrows == rethrows_wanted && all.unmet_count() == 0 ? 0 : 1;
}
