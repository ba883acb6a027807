// Jobs in explored runs: what holds in every order, what fails in some order, and what is refused.
#include <shunt/sched/explore/explore.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/base/error.hpp>
#include <shunt/pgas.hpp>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <support/expect.hpp>
#include <support/slowly.hpp>

namespace pgas = shunt::pgas;
namespace sched = shunt::sched;
using shunt::test::exploration;
using shunt::test::explore;
using shunt::test::policy;
using shunt::testing::expect;
using shunt::testing::slowly;

namespace {

constexpr std::size_t many = 200;  // runs, of which one fails: mostly one of the first ten
// Runs of a program that is right. Each is a process, which takes some 25 ms under a sanitizer.
constexpr std::size_t enough = many / slowly;

pgas::options pes(int count) { return {.pes = count}; }

/// Explores a job of so many PEs.
template <class Program>
auto explore_job(int count, Program program, std::size_t runs = many, const exploration& how = {}) {
  return explore([count, program] { pgas::run(pes(count), program); }, runs, how);
}

using number = pgas::symmetric<int>;

/// Every PE adds one to the number of every PE, and says so in time or too early.
void count_all(pgas::pe& me, bool early) {
  number seen(me, 0);
  pgas::actor_of counter(seen);
  for (int to = 0; to < me.count(); ++to) counter.send(to, [](int& n) { ++n; });
  const int before_end = *seen;
  counter.finish();
  const int counted = early ? before_end : *seen;
  expect(counted == me.count(), "counted " + std::to_string(counted));
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("explored job: finish() returns after every message, in any order") {
  const policy how = GENERATE(policy::random, policy::pct);
  const auto found = explore_job(3, [](pgas::pe& me) { count_all(me, false); }, enough, {.how = how});
  CHECK(found.failure == "");
  CHECK(found.runs == enough);
}

TEST_CASE("explored job: a look before finish() fails in some order, and in this order again") {
  const auto early = [](pgas::pe& me) { count_all(me, true); };
  const auto found = explore_job(2, early);
  CHECK(holds(found.failure, "counted "));
  const auto again = explore_job(2, early, 1, {.schedule = found.schedule});
  CHECK(again.failure == found.failure);
}

TEST_CASE("explored job: messages of two PEs arrive in both orders") {
  // PE 0's number is the sender of the message that came last.
  const int last = GENERATE(1, 2);
  const auto found = explore_job(3, [last](pgas::pe& me) {
    number from(me, 0);
    pgas::actor_of named(from);
    if (me.index() != 0) named.send(0, [mine = me.index()](int& n) { n = mine; });
    named.finish();
    expect(me.index() != 0 || *from == last, "PE " + std::to_string(*from) + " came last");
  });
  CHECK(holds(found.failure, "PE " + std::to_string(3 - last) + " came last"));
}

TEST_CASE("explored job: a message may be handled before the next one is sent, or after") {
  const bool late = GENERATE(false, true);
  const auto found = explore_job(2, [late](pgas::pe& me) {
    number seen(me, 0);
    pgas::actor_of counter(seen);
    bool between = false;
    if (me.index() == 0) {
      counter.send(1, [](int& n) { ++n; });
    } else {
      for (int i = 0; i < 3; ++i) counter.send(0, [](int&) {});
      between = *seen == 1;
    }
    counter.finish();
    expect(me.index() == 0 || between == late, between ? "before" : "after");
  });
  CHECK(holds(found.failure, late ? "after" : "before"));
}

TEST_CASE("explored job: trains that have departed stand for a while, and are unloaded one after the other") {
  // PE 0 sends itself three messages: when the third send returns, the trains of the first two have departed.
  struct seen {
    int after_third_send;
    std::vector<int> later;  // at looks of PE 0's program
  };
  const auto found = [](auto&& wanted) {
    return explore_job(2, [wanted](pgas::pe& me) {
      number handled(me, 0);
      pgas::actor_of counter(handled);
      me.barrier();  // no train has to wait for the other PE's part
      if (me.index() == 0) {
        for (int i = 0; i < 3; ++i) counter.send(0, [](int& n) { ++n; });
        seen all{*handled, {}};
        for (int look = 0; look < 3; ++look) {
          sched::this_fiber::yield();
          all.later.push_back(*handled);
        }
        expect(!wanted(all), "this order");
      }
      counter.finish();
    });
  };
  const auto some = [](const std::vector<int>& numbers, int one) {
    return std::find(numbers.begin(), numbers.end(), one) != numbers.end();
  };
  SECTION("both stand") {
    const auto both = found([](const seen& s) { return s.after_third_send == 0; });
    CHECK(holds(both.failure, "this order"));
  }
  SECTION("one stands") {
    const auto one = found([](const seen& s) { return s.after_third_send == 1; });
    CHECK(holds(one.failure, "this order"));
  }
  SECTION("both stood, and one still stands") {
    const auto one_left = found([&](const seen& s) { return s.after_third_send == 0 && some(s.later, 1); });
    CHECK(holds(one_left.failure, "this order"));
  }
  SECTION("none stands") {
    const auto none = found([](const seen& s) { return s.after_third_send == 2; });
    CHECK(holds(none.failure, "this order"));
  }
}

TEST_CASE("explored job: every order of a small program") {
  const auto found = explore_job(2,
                                 [](pgas::pe& me) {
                                   number seen(me, 0);
                                   pgas::actor_of counter(seen);
                                   if (me.index() == 1) counter.send(0, [](int& n) { ++n; });
                                   counter.finish();
                                   expect(*seen == 1 - me.index(), "counted " + std::to_string(*seen));
                                 },
                                 100'000, {.how = policy::exhaustive, .most_preemptions = 1});
  CHECK(found.failure == "");
  CHECK(found.complete);
  CHECK(found.runs > 10);
}

TEST_CASE("explored job: recursion, answers, collectives and tasks hold in any order") {
  const auto found = explore_job(
      3,
      [](pgas::pe& me) {
        number sum(me, 0);
        pgas::actor_of adder(sum);
        adder.send((me.index() + 1) % me.count(), [](int& n, auto& here) {
          ++n;
          if (here.from() != here.index()) here.send(here.index(), [](int& own) { ++own; });
        });
        adder.quiesce();
        expect(*sum == 2, "sum " + std::to_string(*sum));
        me.barrier();
        const int got = adder.fetch((me.index() + 2) % me.count(), [](const int& n) { return n; });
        expect(got == 2, "fetched " + std::to_string(got));
        int spawned = 0;
        shunt::finish([&] {
          for (int i = 0; i < 2; ++i) shunt::async([&] { ++spawned; });
        });
        expect(spawned == 2, "a task is missing");
        expect(me.sum(me.index()) == 3, "sum of indices");
        adder.finish();
      },
      enough);
  CHECK(found.failure == "");
}

TEST_CASE("explored job: what its PEs do wrong is told in any order") {
  SECTION("a barrier too many") {
    const auto found = explore_job(2, [](pgas::pe& me) {
      if (me.index() == 0) me.barrier();
    });
    CHECK(found.runs == 1);
    CHECK(holds(found.failure, "barrier()"));
  }
  SECTION("a PE that waits for what nothing does") {
    const auto found = explore_job(2, [](pgas::pe& me) {
      if (me.index() == 1) sched::this_fiber::park("the impossible");
    });
    CHECK(found.runs == 1);
    CHECK(holds(found.failure, "no fiber can go on"));
    CHECK(holds(found.failure, "the impossible"));
    CHECK(holds(found.failure, "PE 1"));
  }
}

TEST_CASE("explored job: one after the other, and beside other fibers") {
  const auto found = explore(
      [] {
        for (int i = 0; i < 2; ++i) pgas::run(pes(2), [](pgas::pe& me) { count_all(me, false); });
        int other = 0;
        shunt::finish([&] {
          shunt::async([&] { ++other; });
          shunt::async([&] { pgas::run(pes(2), [](pgas::pe& me) { count_all(me, false); }); });
        });
        expect(other == 1, "the other task has not run");
      },
      enough);
  CHECK(found.failure == "");
}

TEST_CASE("explored job: the seed alone decides") {
  const auto shown = [] {
    return explore_job(3,
                       [](pgas::pe& me) {
                         number from(me, 0);
                         pgas::actor_of named(from);
                         if (me.index() != 0) named.send(0, [mine = me.index()](int& n) { n = n * 10 + mine; });
                         named.finish();
                         if (me.index() == 0) throw std::logic_error("order " + std::to_string(*from));
                       },
                       1, {.seed = 7})
        .failure;
  };
  CHECK(shown() == shown());
}

TEST_CASE("a job inside a fiber is refused where no strategy decides") {
  sched::runtime workers({.workers = 1});
  CHECK_THROWS_WITH(workers.run([] { pgas::run(pes(1), [](pgas::pe&) {}); }),
                    Catch::Contains("pgas::run: called on a worker of a runtime"));
}

TEST_CASE("an explored run refuses a second job at a time, and another transport") {
  const auto two = explore_job(1, [](pgas::pe&) { pgas::run(pes(1), [](pgas::pe&) {}); }, 1);
  CHECK(holds(two.failure, "another job runs"));
  const auto wide = explore([] { pgas::run({.pes = 1, .transport = "mpi"}, [](pgas::pe&) {}); }, 1);
  CHECK(holds(wide.failure, "--transport mpi: an explored run has one process"));
}
