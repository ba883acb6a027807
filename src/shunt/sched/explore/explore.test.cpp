#include <shunt/sched/explore/explore.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>
#include <catch2/catch.hpp>

#include <shunt/base/error.hpp>
#include <shunt/sched.hpp>
#include <shunt/sched/explore/detail/schedule.hpp>
#include <support/expect.hpp>
#include <support/process.hpp>

using namespace std::chrono_literals;
using shunt::test::exploration;
using shunt::test::explore;
using shunt::test::policy;
using shunt::testing::expect;
namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;

namespace {

constexpr std::size_t many = 200;  // runs; under emulation each takes 30 ms

/// Fibers that the caller waits for.
template <typename... Bodies>
void together(Bodies... bodies) {
  auto& here = sched::this_worker::current();
  int left = sizeof...(Bodies);
  const auto me = this_fiber::self();
  const auto begin = [&](auto& body) {
    here.spawn([&] {
      body();
      --left;
      me.wake();
    });
  };
  (begin(bodies), ...);
  while (left > 0) this_fiber::park("the others");
}

/// The consumer looks before it says that it waits: a wake in between is lost.
void lost_wake() {
  bool full = false;
  sched::waker consumer;
  together(
      [&] {
        if (full) return;
        this_fiber::interleave();
        consumer = this_fiber::self();
        do this_fiber::park("goods");
        while (!full);
      },
      [&] {
        full = true;
        consumer.wake();
      });
}

class lock {
 public:
  void take() {
    this_fiber::interleave();
    while (held_) this_fiber::yield();
    held_ = true;
  }
  /// A fiber that waits sleeps.
  void take_asleep() {
    this_fiber::interleave();
    while (held_) {
      waits_ = this_fiber::self();
      this_fiber::park("a lock");
    }
    held_ = true;
  }
  void give() {
    held_ = false;
    waits_.wake();
  }

 private:
  bool held_ = false;
  sched::waker waits_;
};

void deadlock() {
  lock a;
  lock b;
  const auto both = [](lock& first, lock& second) {
    first.take_asleep();
    second.take_asleep();
    second.give();
    first.give();
  };
  together([&] { both(a, b); }, [&] { both(b, a); });
}

/// Reads, and writes later.
void lost_update() {
  int sum = 0;
  const auto add = [&] {
    const int seen = sum;
    this_fiber::interleave();
    sum = seen + 1;
  };
  together(add, add);
  expect(sum == 2, "an addition is lost");
}

/// For searches that are to find a failure: keeps what would be printed.
std::function<void(std::string_view)> into(std::string& told) {
  return [&told](std::string_view text) { told += text; };
}
void drop(std::string_view) {}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const auto each_policy = [] { return GENERATE(policy::random, policy::pct, policy::exhaustive); };

}  // namespace

TEST_CASE("explore: finds a lost wake-up, a deadlock and a lost update, by each policy, and again by its schedule") {
  struct planted {
    void (*program)();
    const char* told;
  };
  const auto what = GENERATE(planted{lost_wake, "waits for goods"}, planted{deadlock, "waits for a lock"},
                             planted{lost_update, "an addition is lost"});
  const auto how = each_policy();
  const auto found = explore(what.program, 300, {.how = how, .report = drop});
  CAPTURE(found.schedule, found.failure);
  REQUIRE_FALSE(found.schedule.empty());
  CHECK(found.failure.find(what.told) != std::string::npos);
  const auto again = explore(what.program, 300, {.schedule = found.schedule, .report = drop});
  CHECK(again.runs == 1);
  CHECK(again.schedule == found.schedule);
  CHECK(again.failure == found.failure);
}

TEST_CASE("explore: a right program fails in no order, and an exhaustive search says that there are no others") {
  const auto right = [] {
    lock a;
    int sum = 0;
    const auto add = [&] {
      a.take_asleep();
      const int seen = sum;
      this_fiber::interleave();
      sum = seen + 1;
      a.give();
    };
    together(add, add);
    expect(sum == 2, "an addition is lost");
  };
  const auto how = each_policy();
  const auto runs = how == policy::exhaustive ? 10'000 : many;
  const auto seen = explore(right, runs, {.how = how, .most_preemptions = 1});
  CHECK(seen.failure == "");
  CHECK(seen.complete == (how == policy::exhaustive));
  if (how != policy::exhaustive) CHECK(seen.runs == runs);
}

TEST_CASE("explore: an exhaustive search runs each order once, and a bound leaves out those with more pre-emptions") {
  // Two fibers of two steps each: 6 orders. The runs' processes tell by a file that outlives them.
  const auto orders = [](int most_preemptions) {
    char name[] = "/tmp/shunt_orders_XXXXXX";
    const int file = mkstemp(name);
    REQUIRE(file >= 0);
    const auto seen = explore(
        [&] {
          std::string order;
          const auto twice = [&](char letter) {
            return [&order, letter] {
              order += letter;
              this_fiber::interleave();
              order += letter;
            };
          };
          together(twice('a'), twice('b'));
          order += '\n';
          expect(write(file, order.data(), order.size()) == static_cast<ssize_t>(order.size()), "write");
        },
        10'000, {.how = policy::exhaustive, .most_preemptions = most_preemptions});
    CHECK(seen.complete);
    CHECK(seen.failure == "");
    std::string all(1 << 20, '\0');
    const auto bytes = pread(file, all.data(), all.size(), 0);
    all.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    close(file);
    unlink(name);
    std::set<std::string> different;
    for (std::size_t at = 0; at < all.size(); at += 5) different.insert(all.substr(at, 4));
    return std::pair(different, seen.runs);
  };
  const auto [all, all_runs] = orders(1'000'000);
  CHECK(all == std::set<std::string>{"aabb", "abab", "abba", "baab", "baba", "bbaa"});
  const auto [none, few_runs] = orders(0);
  CHECK(none.count("abab") == 0);
  CHECK(none.count("aabb") == 1);
  CHECK(few_runs < all_runs);
}

TEST_CASE(
    "explore: an hour of sleep costs nothing, deadlines keep their order, and time waits for fibers that can run") {
  const auto seen = explore(
      [] {
        std::string order;
        const auto began = sched::now();
        together(
            [&] {
              this_fiber::sleep_for(2h);
              order += 'b';
            },
            [&] {
              this_fiber::sleep_for(1h);
              order += 'a';
            },
            [&] {
              for (int i = 0; i < 100; ++i) this_fiber::yield();
              expect(sched::now() - began < 1min, "time passed");
              order += '.';
            });
        expect(order == ".ab", "in another order");
        const auto took = sched::now() - began;
        expect(took >= 2h && took < 2h + 1min, "another time");
        expect(!this_fiber::park_for(1h), "a wake from nowhere");
      },
      50);
  CHECK(seen.failure == "");
  CHECK(seen.runs == 50);
}

TEST_CASE("explore: reports a crash, an exit and a run without end, with what was written, and goes on") {
  const auto told = [](auto program, exploration how = {}) {
    how.report = drop;
    return explore(program, 1, how).failure;
  };
  CHECK(told([] { std::abort(); }).find("signal 6") != std::string::npos);
  CHECK(told([] { _exit(7); }).find("status 7") != std::string::npos);
  CHECK(told([] {
          std::printf("so far\n");
          throw std::runtime_error("so bad");
        }).find("so bad\nIt wrote:\nso far\n") != std::string::npos);
  // A fiber fails and leaves others waiting: the report tells both.
  const auto left = told([] { together([] { throw std::runtime_error("so bad"); }); });
  CHECK(left.find("an exception has left a fiber: so bad") != std::string::npos);
  CHECK(left.find("waits for the others") != std::string::npos);
  CHECK(told(
            [] {
              for (;;) this_fiber::yield();
            },
            {.most_steps = 1'000})
            .find("does not end") != std::string::npos);
  const auto busy = [] {
    for (volatile int i = 0;;) i = i + 1;
  };
  CHECK(told(busy, {.patience = 50ms}).find("does not end") != std::string::npos);
  CHECK(told([] {}) == "");
}

TEST_CASE("explore: a program may ask which way to go, and an exhaustive search goes each") {
  const auto by = [](int wrong) {
    return [wrong] {
      const auto three = [] { return static_cast<int>(sched::this_worker::choose(3)); };
      const int first = three();
      expect(3 * first + three() != wrong, "found");
    };
  };
  const auto how = each_policy();
  for (int wrong = 0; wrong < 9; wrong += 4)
    CHECK_FALSE(explore(by(wrong), 200, {.how = how, .report = drop}).schedule.empty());
  const auto none = explore(by(9), 50, {.how = how});
  CHECK(none.failure == "");
  CHECK(none.runs == (how == policy::exhaustive ? 9 : 50));
  CHECK(sched::this_worker::choose(3) == 0);
}

namespace {
/// Fails where the body of that number comes first. In each order both bodies throw what the program expects, and
/// write.
auto fails_if_first(int wrong) {
  return [wrong] {
    int first = 0;
    const auto body = [&first](int number) {
      return [&first, number] {
        try {
          throw std::runtime_error("as planned");
        } catch (const std::runtime_error& thrown) {
          std::fprintf(stderr, "%s\n", thrown.what());
        }
        this_fiber::interleave();
        if (first == 0) first = number;
      };
    };
    together(body(1), body(2));
    expect(first != wrong, "it came first");
  };
}
void writes() { std::fprintf(stderr, "as planned\n"); }
}  // namespace

TEST_CASE("explore: of a search only the failure that ends it is told, once, with its schedule") {
  std::size_t most_runs = 0;
  for (const int wrong : {1, 2}) {
    std::string told;
    const auto seen = explore(fails_if_first(wrong), 300, {.how = policy::exhaustive, .report = into(told)});
    CAPTURE(told);
    REQUIRE_FALSE(seen.schedule.empty());
    CHECK(told == "explore: run " + std::to_string(seen.runs) + " of 300 failed: " + seen.failure +
                      "\nThe same again: SHUNT_SCHEDULE=" + seen.schedule + '\n');
    CHECK(count_of(told, "it came first") == 1);
    CHECK(count_of(told, "as planned") == 2);  // by the two bodies of that run
    most_runs = std::max(most_runs, seen.runs);
  }
  CHECK(most_runs > 1);
  std::string told;
  CHECK(explore(writes, 20, {.report = into(told)}).failure.empty());
  CHECK(told.empty());
}

TEST_CASE("program: explores what fails in some orders", "[.child]") {
  static_cast<void>(explore(writes, 20));
  for (const int wrong : {1, 2}) {
    if (explore(fails_if_first(wrong), 300, {.how = policy::exhaustive}).schedule.empty()) _exit(1);
  }
  _exit(0);
}

TEST_CASE("explore: without a report that is all that it prints") {
  const auto child = shunt::testing::this_program_runs("program: explores what fails in some orders");
  INFO(child.said);
  CHECK(child.ended_with(0));
  CHECK(count_of(child.said, "explore: run ") == 2);
  CHECK(count_of(child.said, "The same again: SHUNT_SCHEDULE=path:") == 2);
  CHECK(count_of(child.said, "as planned") == 4);
}

TEST_CASE("explore: SHUNT_SCHEDULE makes it the one run, and one that is none is refused") {
  setenv("SHUNT_SCHEDULE", "random:7", 1);
  CHECK(explore([] {}, 100).runs == 1);
  setenv("SHUNT_SCHEDULE", "random", 1);
  CHECK_THROWS_AS(explore([] {}, 100), shunt::usage_error);
  unsetenv("SHUNT_SCHEDULE");
}

TEST_CASE("schedules: what is written down is what is read, and what is none is refused") {
  using shunt::test::detail::schedule;
  for (const auto* text : {"random:0", "random:18446744073709551615", "pct:7:3:120", "path:", "path:0", "path:0.2.1"}) {
    CHECK(schedule::parse(text).text() == text);
  }
  for (const auto* text :
       {"", "random", "random:", "random:x", "random:1 ", "pct:1:2", "pct:1:2:3:4", "path:1.", "path:a", "7"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(schedule::parse(text), shunt::usage_error);
  }
}

TEST_CASE("explore: refuses workers' threads, more workers than one, and a depth of none") {
  sched::runtime one({.workers = 1});
  bool refused = false;
  one.run([&] {
    try {
      static_cast<void>(explore([] {}, 1));
    } catch (const shunt::usage_error&) {
      refused = true;
    }
  });
  CHECK(refused);
  CHECK_THROWS_AS(explore([] {}, 1, {.depth = 0}), shunt::usage_error);
  // More workers than one.
  class unused final : public sched::strategy {
    std::size_t choose(const moment&) noexcept override { return 0; }
    std::size_t choose_among(std::size_t) noexcept override { return 0; }
    void stuck(std::string_view) noexcept override {}
  } decides;
  CHECK_THROWS_AS(sched::runtime({.workers = 2, .strategy = &decides}), shunt::usage_error);
}
