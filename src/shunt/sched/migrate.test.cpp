// Fibers that go on on another worker: what moves them, what keeps them, and what they take along.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <shunt/sched.hpp>
#include <shunt/sched/jobs/jobs.hpp>
#include <string>
#include <support/migrants.hpp>
#include <support/runtimes.hpp>
#include <thread>
#include <vector>

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
namespace this_worker = shunt::sched::this_worker;
using namespace std::chrono_literals;
using shunt::testing::beside_a_busy_fiber;
using shunt::testing::expect;
using shunt::testing::forget_wakes;
using shunt::testing::migrant;
using shunt::testing::spawned;
using shunt::testing::until;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int many = 500;  // gcc 12's ThreadSanitizer carries some 8,000 fibers
#else
constexpr int many = 5'000;
#endif

}  // namespace

TEST_CASE("migrate: a ready fiber continues on a worker that sleeps, as itself") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    auto named = migrant;
    named.name = "goose";
    spawned moves(rt, named, [] {
      const auto me = this_fiber::id();
      int word = 0;
      this_fiber::set_scope(&word);
      expect(this_worker::index() == 0);
      until([] { return this_worker::index() == 1; });
      expect(this_fiber::id() == me && this_fiber::name() == "goose" && this_fiber::scope() == &word);
      expect(shunt::sched::job_deque::here() == nullptr);
      this_fiber::set_scope(nullptr);
    });
    moves.join();
  });
}

TEST_CASE("migrate: others stay, on the same two workers") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<bool> moved{false};
    spawned stays(rt, {.worker = 0}, [&] {
      until([&] {
        expect(this_worker::index() == 0);
        return moved.load();
      });
    });
    spawned moves(rt, migrant, [&] {
      until([] { return this_worker::index() == 1; });
      moved = true;
    });
    moves.join();
    stays.join();
  });
}

TEST_CASE("migrate: one worker alone, and the only fiber that is ready, keep what they have") {
  for (const int workers : {1, 2}) {
    sched::runtime rt({.workers = workers, .spin = 0ns});
    rt.run([&] {
      rt.spawn(
          [&] {
            for (int i = 0; i < 1'000; ++i) {
              expect(this_worker::index() == 0);
              this_fiber::yield();
            }
          },
          migrant);
    });
  }
}

TEST_CASE("migrate: this_fiber::stay keeps it, and lets it go") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<int> moved{0};
    const auto moves = [&] {
      until([] { return this_worker::index() == 1; });
      ++moved;
    };
    spawned pinned(rt, migrant, [&] {
      {
        const this_fiber::stay here;
        const this_fiber::stay nested;
        until([&] {
          expect(this_worker::index() == 0);
          return moved == 2;
        });
      }
      until([] { return this_worker::index() == 1; });
    });
    spawned one(rt, migrant, moves);
    one.join();
    spawned another(rt, migrant, moves);
    another.join();
    pinned.join();
  });
}

TEST_CASE("migrate: a wake before the deadline leaves none behind on the worker that was left") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<bool> waits{false};
    std::atomic<bool> told{false};
    std::atomic<bool> over{false};
    sched::waker to_wake;
    spawned sleeper(rt, migrant, [&] {
      to_wake = this_fiber::self();
      int on[2] = {0, 0};
      for (int i = 0; i < 200 || on[1] == 0; ++i) {
        told = false;
        waits = true;
        while (!told) expect(this_fiber::park_for(1h) || told);
        ++on[this_worker::index()];
        this_fiber::yield();
      }
      over = true;
    });
    while (!over) {
      if (waits.exchange(false)) {
        told = true;
        to_wake.wake();
      }
      this_fiber::yield();
    }
    sleeper.join();
  });
}

TEST_CASE("migrate: a deadline that passes is told of wherever it waits") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    spawned sleeper(rt, migrant, [&] {
      forget_wakes();
      for (int i = 0; i < 20 || this_worker::index() == 0; ++i) {
        expect(!this_fiber::park_for(100us));
        this_fiber::yield();
      }
    });
    sleeper.join();
  });
}

TEST_CASE("migrate: an exception in flight goes along") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<int> open{8};
    for (int i = 0; i < 8; ++i) {
      rt.spawn(
          [&, i] {
            try {
              try {
                throw std::to_string(i);
              } catch (const std::string&) {
                until([] { return this_worker::index() == 1; });
                throw;
              }
            } catch (const std::string& mine) {
              expect(mine == std::to_string(i));
              this_fiber::yield();
              expect(mine == std::to_string(i));
            }
            expect(std::current_exception() == nullptr);
            --open;
          },
          migrant);
    }
    until([&] { return open == 0; });
  });
}

TEST_CASE("migrate: parked fibers are woken by workers, by fibers that migrate, and from outside") {
  const int workers = GENERATE(2, 4);
  constexpr int fibers = 16;
  constexpr int rounds = 500;
  sched::runtime rt({.workers = workers, .spin = 0ns});
  struct place {
    sched::waker to_wake;
    std::atomic<int> tokens{0};
  };
  std::vector<place> ring(fibers);
  std::atomic<int> open{fibers};
  std::atomic<bool> outside{false};
  std::thread foreign;
  rt.run([&] {
    std::atomic<int> ready{0};
    for (int i = 0; i < fibers; ++i) {
      rt.spawn(
          [&, i] {
            place& mine = ring[static_cast<std::size_t>(i)];
            place& next = ring[static_cast<std::size_t>((i + 1) % fibers)];
            mine.to_wake = this_fiber::self();
            ++ready;
            until([&] { return ready == fibers; });
            for (int r = 0; r < rounds; ++r) {
              while (mine.tokens == 0) this_fiber::park();
              --mine.tokens;
              ++next.tokens;
              next.to_wake.wake();
            }
            --open;
          },
          migrant);
    }
    until([&] { return ready == fibers; });
    foreign = std::thread([&] {  // tokens come from here too
      for (int i = 0; i < fibers; i += 2) {
        ++ring[static_cast<std::size_t>(i)].tokens;
        ring[static_cast<std::size_t>(i)].to_wake.wake();
      }
      outside = true;
    });
    until([&] { return open == 0 && outside; });
  });
  foreign.join();
  CHECK(open == 0);
}

TEST_CASE("migrate: thousands that end away from home, whose stacks are used again") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<long> elsewhere{0};
    // Until the other worker has had a CPU to come for them.
    for (int round = 0; round < 3 || elsewhere == 0; ++round) {
      std::atomic<int> open{many};
      for (int i = 0; i < many; ++i) {
        rt.spawn(
            [&] {
              const int before = this_worker::index();
              this_fiber::yield();
              this_fiber::yield();
              if (this_worker::index() != before) ++elsewhere;
              --open;
            },
            migrant);
      }
      until([&] { return open == 0; });
    }
  });
}

TEST_CASE("migrate: a report shows each at one place at most") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<bool> over{false};
    std::vector<std::unique_ptr<spawned>> some;
    for (int i = 0; i < 4; ++i) {
      auto how = migrant;
      how.name = "goose " + std::to_string(i) + ".";
      some.push_back(std::make_unique<spawned>(rt, how, [&] { until([&] { return over.load(); }); }));
    }
    for (int i = 0; i < 50; ++i) {
      const auto text = sched::report_fibers();
      for (int g = 0; g < 4; ++g) {
        const auto name = "goose " + std::to_string(g) + ".";
        const auto first = text.find(name);
        expect(first == std::string::npos || text.find(name, first + 1) == std::string::npos);
      }
      this_fiber::yield();
    }
    over = true;
    for (const auto& one : some) one->join();
  });
}
