#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <shunt/task.hpp>
#include <shunt/task/fork_join.hpp>
#include <stdexcept>
#include <string>
#include <support/runtimes.hpp>
#include <thread>
#include <vector>

namespace this_fiber = shunt::sched::this_fiber;
namespace this_worker = shunt::sched::this_worker;
using shunt::fork_join;
using shunt::parallel_for;
using shunt::parallel_reduce;
using shunt::testing::no_waiting;
using namespace std::chrono_literals;

namespace {

/// Idle workers spin, or fall asleep at once.
void on_workers(const std::function<void()>& body) { shunt::testing::on_workers(body, {0us, 50us}); }

void on_two_workers(const std::function<void()>& body) {
  shunt::sched::options o;
  o.workers = 2;
  o.spin = 0ns;  // an idle worker sleeps at once
  shunt::sched::runtime(o).run(body);
}

/// Keeps its worker until `set` is true: so another worker must set it.
void hold_worker_until(const std::atomic<bool>& set) {
  while (!set.load()) std::this_thread::yield();
}

long fibonacci(int n) {
  if (n < 2) return n;
  const auto [a, b] = fork_join([n] { return fibonacci(n - 1); }, [n] { return fibonacci(n - 2); });
  return a + b;
}

/// As fibonacci(), with waits in the branches.
long slow_fibonacci(int n) {
  if (n < 2) return n;
  const auto [a, b] = fork_join(
      [n] {
        if (n % 3 == 0) this_fiber::yield();
        return slow_fibonacci(n - 1);
      },
      [n] {
        if (n % 4 == 0) return shunt::async_value([n] { return slow_fibonacci(n - 2); }).get();
        return slow_fibonacci(n - 2);
      });
  return a + b;
}

}  // namespace

TEST_CASE("fork_join: returns both results, by value; void if both branches return void") {
  on_workers([] {
    int seven = 7;
    auto both = fork_join([&]() -> int& { return seven; }, [] { return std::string("eight"); });
    static_assert(std::is_same_v<decltype(both), std::pair<int, std::string>>);
    CHECK(both == std::pair<int, std::string>(7, "eight"));
    auto half = fork_join([] {}, [] { return std::make_unique<int>(9); });
    static_assert(std::is_same_v<decltype(half), std::pair<std::monostate, std::unique_ptr<int>>>);
    CHECK(*half.second == 9);
    int ran = 0;
    static_assert(std::is_void_v<decltype(fork_join([] {}, [] {}))>);
    fork_join([&] { ran = 1; }, [] {});
    CHECK(ran == 1);
  });
}

TEST_CASE("fork_join: nests, and returns the right result on any number of workers") {
  on_workers([] {
    CHECK(fibonacci(20) == 6765);
    CHECK(slow_fibonacci(14) == 377);
  });
}

TEST_CASE("fork_join: on one worker the first branch runs first, the second on the same fiber") {
  shunt::sched::options o;
  o.workers = 1;
  shunt::sched::runtime(o).run([] {
    const auto me = this_fiber::self();
    std::string order;
    fork_join([&] { order += "f"; },
              [&] {
                order += "g";
                CHECK(this_fiber::self() == me);
              });
    CHECK(order == "fg");
  });
}

TEST_CASE("fork_join: a sleeping worker is woken, and what it wrote is visible") {
  on_two_workers([] {
    for (int round = 0; round < 2000; ++round) {
      std::atomic<bool> begun{false};
      int by = -1;
      int forker = -1;
      fork_join(
          [&] {
            forker = this_worker::index();
            hold_worker_until(begun);
          },
          [&] {
            begun = true;
            by = this_worker::index();
          });
      REQUIRE(by == 1 - forker);
    }
  });
}

TEST_CASE("fork_join: waiting for a stolen branch parks the fiber, not the worker") {
  on_two_workers([] {
    for (int round = 0; round < 200; ++round) {
      std::atomic<bool> begun{false};
      shunt::promise<int> given;
      const auto value = given.get_future();
      const int home = this_worker::index();
      const auto both = fork_join(
          [&] {
            hold_worker_until(begun);
            // Runs where the forker does, hence not before the forker parks.
            this_worker::current().spawn([&] { given.set_value(round); }, {.worker = home});
            return 0;
          },
          [&] {
            begun = true;
            return value.get();
          });
      REQUIRE(both.second == round);
    }
  });
}

TEST_CASE("fork_join: a branch may wait for the other one, whichever way it waits") {
  on_workers([] {
    shunt::promise<int> given;
    const auto value = given.get_future();
    const auto both = fork_join([&] { return value.get(); },
                                [&] {
                                  given.set_value(3);
                                  return 4;
                                });
    CHECK(both == std::pair(3, 4));
    std::atomic<bool> ran{false};
    fork_join(
        [&] {
          while (!ran) this_fiber::yield();
        },
        [&] { ran = true; });
    CHECK(ran);
  });
}

TEST_CASE("fork_join: throws the first exception in program order, after both branches have ended") {
  on_workers([] {
    for (const bool left : {false, true}) {
      for (const bool right : {false, true}) {
        for (const bool wait : {false, true}) {
          int ended = 0;
          const auto run = [&] {
            fork_join(
                [&] {
                  if (wait) this_fiber::yield();
                  if (left) throw std::runtime_error("left");
                },
                [&] {
                  if (wait) this_fiber::yield();
                  ended = 1;
                  if (right) throw std::runtime_error("right");
                });
          };
          if (left) {
            CHECK_THROWS_WITH(run(), "left");
          } else if (right) {
            CHECK_THROWS_WITH(run(), "right");
          } else {
            CHECK_NOTHROW(run());
          }
          CHECK(ended == 1);
        }
      }
    }
  });
}

TEST_CASE("fork_join: exceptions cross workers, and results that were made are destroyed once") {
  on_two_workers([] {
    const auto counted = std::make_shared<int>(0);
    for (int round = 0; round < 100; ++round) {
      std::atomic<bool> begun{false};
      const auto hold = [&](bool fail) {
        hold_worker_until(begun);
        if (fail) throw std::runtime_error("left");
        return counted;
      };
      const auto stolen = [&](bool fail) {
        begun = true;
        if (fail) throw std::runtime_error("right");
        return counted;
      };
      CHECK_THROWS_WITH(fork_join([&] { return hold(false); }, [&] { return stolen(true); }), "right");
      begun = false;
      CHECK_THROWS_WITH(fork_join([&] { return hold(true); }, [&] { return stolen(false); }), "left");
      begun = false;
      CHECK_THROWS_WITH(fork_join([&] { return hold(true); }, [&] { return stolen(true); }), "left");
      begun = false;
      const auto both = fork_join([&] { return hold(false); }, [&] { return stolen(false); });
      CHECK(counted.use_count() == 3);
    }
    CHECK(counted.use_count() == 1);
  });
}

TEST_CASE("fork_join: tasks that a stolen branch makes belong to the forker's finish") {
  on_two_workers([] {
    for (int round = 0; round < 50; ++round) {
      std::atomic<bool> begun{false};
      bool spawned_ran = false;
      shunt::finish([&] {
        fork_join([&] { hold_worker_until(begun); },
                  [&] {
                    shunt::async([&] {
                      for (int i = 0; i < 3; ++i) this_fiber::yield();
                      spawned_ran = true;
                    });
                    begun = true;
                  });
      });
      REQUIRE(spawned_ran);
    }
  });
}

TEST_CASE("fork_join: fibers of one worker fork in turns, and each takes back its own branch") {
  on_workers([] {
    std::vector<long> got(64, -1);
    shunt::finish([&] {
      for (std::size_t i = 0; i < got.size(); ++i) {
        shunt::async([&got, i] {
          long sum = 0;
          for (std::size_t k = 0; k < 20; ++k) {
            const auto both = fork_join(
                [&] {
                  for (std::size_t y = 0; y < (i + k) % 5; ++y) this_fiber::yield();
                  return static_cast<long>(i);
                },
                [&] {
                  if ((i + k) % 7 == 0) this_fiber::yield();
                  return static_cast<long>(k);
                });
            sum += both.first * both.second;
          }
          got[i] = sum;
        });
      }
    });
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == static_cast<long>(i) * 190);
  });
}

TEST_CASE("fork_join: forks deeper than a worker's ring run both branches on the forker") {
  on_workers([] {
    const int depth = 2 * static_cast<int>(shunt::sched::job_deque::slots);
    std::atomic<int> ran{0};
    std::function<void(int)> down = [&](int left) {
      if (left > 0) fork_join([&] { down(left - 1); }, [&] { ++ran; });
    };
    down(depth);
    CHECK(ran == depth);
    CHECK(fibonacci(10) == 55);
  });
}

TEST_CASE("fork_join: where waiting is forbidden both branches run on the forker") {
  on_workers([] {
    const no_waiting guard;
    const auto me = this_fiber::self();
    int ran = 0;
    this_worker::forbid_wait(&guard);
    for (int i = 0; i < 100; ++i) {
      fork_join([&] { ++ran; }, [&] { ran += this_fiber::self() == me; });
      parallel_for(0, 10, 1, [&](int) { ran += this_fiber::self() == me; });
    }
    this_worker::forbid_wait(nullptr);
    CHECK(ran == 1200);
  });
}

TEST_CASE("fork_join, parallel_for, parallel_reduce: outside a fiber they throw usage_error before any call") {
  bool ran = false;
  const auto touch = [&] { ran = true; };
  CHECK_THROWS_AS(fork_join(touch, touch), shunt::usage_error);
  CHECK_THROWS_WITH(fork_join(touch, touch), Catch::Contains("fork_join: called outside a fiber"));
  CHECK_THROWS_WITH(parallel_for(0, 1, 1, [&](int) { touch(); }),
                    Catch::Contains("parallel_for: called outside a fiber"));
  CHECK_THROWS_WITH(parallel_reduce(
                        0, 1, 0, [](int i) { return i; }, std::plus<>()),
                    Catch::Contains("parallel_reduce: called outside a fiber"));
  // A poller runs on a worker, outside of fibers.
  struct asking final : shunt::sched::poller {
    bool poll() override {
      try {
        fork_join([] {}, [] {});
      } catch (const shunt::usage_error&) {
        ++refusals;
      }
      return false;
    }
    bool arm() override { return true; }
    void disarm() override {}
    std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
    int refusals = 0;
  } poller;
  shunt::sched::options o;
  o.workers = 1;
  shunt::sched::runtime rt(o);
  rt.attach(0, poller);
  rt.run([&] {
    fork_join([] {}, [] {});
    while (poller.refusals == 0) this_fiber::yield();
    fork_join([&] { touch(); }, [] {});
  });
  CHECK(ran);
  CHECK(poller.refusals > 0);
}

TEST_CASE("parallel_for: calls the body once for each index, for any range and grain") {
  on_workers([] {
    for (const int grain : {1, 3, 1000}) {
      for (const int count : {0, 1, 2, 7, 1000}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
        parallel_for(-5, count - 5, grain, [&](int i) {
          ++calls[static_cast<std::size_t>(i + 5)];
          if (i % 100 == 0) this_fiber::yield();
        });
        CHECK(std::all_of(calls.begin(), calls.end(), [](const auto& c) { return c == 1; }));
      }
    }
    std::atomic<int> sum{0};
    parallel_for(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t i) { sum += i; });
    CHECK(sum == -255);
    parallel_for(5, 3, [&](int) { sum = 0; });
    CHECK(sum == -255);
    CHECK_THROWS_AS(parallel_for(0, 1, 0, [](int) {}), shunt::usage_error);
    CHECK_THROWS_AS(parallel_for(0, 1, -1, [](int) {}), shunt::usage_error);
  });
}

TEST_CASE("parallel_for: another worker takes a part even if the first never waits") {
  on_two_workers([] {
    std::atomic<bool> other{false};
    const int home = this_worker::index();
    parallel_for(0, 64, 1, [&](int) {
      if (this_worker::index() != home) other = true;
      hold_worker_until(other);
    });
    CHECK(other);
  });
}

TEST_CASE("parallel_for: many bodies offer a half after the time of a theft, few at once") {
  using shunt::sched::job_deque;
  shunt::sched::options one;
  one.workers = 1;
  shunt::sched::runtime(one).run([] {
    auto* const jobs = job_deque::here();
    if (jobs == nullptr) return;  // without asymmetric fences every range offers at once
    for (const int count : {255, 256, 100'000}) {
      bool first_offers = false;
      parallel_for(0, count, 1, [&](int i) {
        if (i == 0) first_offers = !jobs->runs_dry();
      });
      CHECK(first_offers == (count < 256));
    }
    std::vector<bool> offered;
    parallel_for(0, 1000, 1, [&](int i) {
      offered.push_back(!jobs->runs_dry());
      const auto end = std::chrono::steady_clock::now() + shunt::task::detail::theft_time;
      while (i == 0 && std::chrono::steady_clock::now() < end) {
      }
    });
    CHECK(!offered[0]);
    CHECK(offered[1]);
    // Light bodies first: a heavy one is noticed after a 32nd of the range. Where the thread loses its CPU before that,
    // the range is halved earlier, after 2^k - 1 bodies: of no such half is the heavy one the last.
    constexpr int heavy = 1040;
    int seen = 0;
    parallel_for(0, 2048, 1, [&](int i) {
      const auto end = std::chrono::steady_clock::now() + shunt::task::detail::theft_time;
      while (i == heavy && std::chrono::steady_clock::now() < end) {
      }
      if (i > heavy && seen == 0 && !jobs->runs_dry()) seen = i;
    });
    CHECK(seen > heavy);
    CHECK(seen <= heavy + 2048 / 32 + 1);
  });
}

TEST_CASE("parallel_for: throws the exception of the lowest index that threw") {
  on_workers([] {
    std::atomic<bool> reached{false};
    try {
      parallel_for(0, 1000, 10, [&](int i) {
        if (i == 990) reached = true;
        if (i == 333 || i == 999) throw i;
      });
      FAIL("nothing thrown");
    } catch (int thrown) {
      CHECK(thrown == 333);
    }
  });
}

TEST_CASE("parallel_reduce: combines in order, with the same result on any number of workers") {
  std::vector<double> numbers(10'000);
  std::iota(numbers.begin(), numbers.end(), 0.1);
  const auto number = [&](std::size_t i) { return 1 / numbers[i]; };
  std::vector<double> sums;
  std::vector<std::string> texts;
  on_workers([&] {
    sums.push_back(parallel_reduce(std::size_t{0}, numbers.size(), 0.0, number, std::plus<>()));
    sums.push_back(parallel_reduce(std::size_t{0}, numbers.size(), 2, 0.0, number, std::plus<>()));
    texts.push_back(parallel_reduce(
        0, 26, 3, std::string(), [](int i) { return std::string(1, static_cast<char>('a' + i)); }, std::plus<>()));
    CHECK(parallel_reduce(1, 101, 7, 0, [](int i) { return i; }, std::plus<>()) == 5050);
    CHECK(parallel_reduce(3, 3, 17, [](int i) { return i; }, std::plus<>()) == 17);
    CHECK_THROWS_AS(parallel_reduce(0, 9, 0, 0, [](int i) { return i; }, std::plus<>()), shunt::usage_error);
    CHECK_THROWS_WITH(
        parallel_reduce(0, 9, 0, [](int) -> int { throw std::runtime_error("map"); }, std::plus<>()), "map");
  });
  for (std::size_t i = 2; i < sums.size(); ++i) CHECK(sums[i] == sums[i % 2]);
  for (const auto& t : texts) CHECK(t == "abcdefghijklmnopqrstuvwxyz");
}

TEST_CASE("fork_join: an explorer runs the right branch before, within and after the left one") {
  const auto never = [](std::string wrong) {
    return [wrong] {
      std::string order;
      const auto branch = [&order](const char* steps) {
        return [&order, steps]() mutable {
          for (; *steps != '\0'; ++steps) {
            shunt::sched::this_fiber::interleave();
            order += *steps;
          }
        };
      };
      shunt::fork_join(branch("ab"), branch("cd"));
      if (order == wrong) throw std::logic_error("found");
    };
  };
  for (const char* order : {"abcd", "acbd", "acdb", "cabd", "cadb", "cdab"}) {
    CAPTURE(order);
    CHECK_FALSE(shunt::test::explore(never(order), 10'000, {.how = shunt::test::policy::exhaustive}).schedule.empty());
  }
  // Branches without interleave() points of their own: the fork is such a point.
  const auto plain = [] {
    std::string order;
    shunt::fork_join([&] { order += 'a'; }, [&] { order += 'b'; });
    if (order == "ba") throw std::logic_error("found");
  };
  CHECK_FALSE(shunt::test::explore(plain, 10'000, {.how = shunt::test::policy::exhaustive}).schedule.empty());
  const auto all = shunt::test::explore(never("ba"), 10'000, {.how = shunt::test::policy::exhaustive});
  CHECK(all.complete);
  CHECK(all.failure == "");
}
