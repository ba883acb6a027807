// Trains are the credit of their sender: programs wait for them, memory stays within the budget, and no wait lasts for
// ever.
#include <support/jobs.hpp>

#include <array>
#include <atomic>
#include <vector>

#include <catch2/catch.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

/// Of every PE: all that its pe_worker owns, at this moment.
void expect_within_budget(pgas::pe& me, std::size_t budget) {
  const auto& pool = me.home().out.pool();
  const auto here = static_cast<std::size_t>(me.home().facts.pes_here);
  expect(pool.bytes() <= pool.limit() * (pool.capacity() + sizeof(rail::train)));
  expect(pool.limit() * (pool.capacity() + sizeof(rail::train)) <= budget * here);
  expect(pool.out(0) <= pool.regular());
}

}  // namespace

TEST_CASE("a flood of messages stays within the budget of every worker, and arrives") {
  const int pes = GENERATE(1, 2, 5);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  const int target = GENERATE(0, -1);  // all to PE 0, or all to all
  CAPTURE(pes, workers, hops, target);
  const auto o = tiny(pes, workers, hops);
  constexpr int n = 20'000;
  pgas::run(o, [&](pgas::pe& me) {
    pgas::symmetric<long> seen(me, 0);
    pgas::actor_of actor(seen);
    for (int i = 0; i < n; ++i) {
      actor.send(target < 0 ? i % me.count() : target, [](long& x) { ++x; });
      if (i % 100 == 0) expect_within_budget(me, o.budget);
    }
    expect_within_budget(me, o.budget);
    actor.finish();
    expect(*seen == (target < 0 ? n : me.index() == target ? n * me.count() : 0));
    expect_within_budget(me, o.budget);
  });
}

TEST_CASE("a storm of requests from every PE to one, with the least budget there is, ends") {
  const int pes = GENERATE(2, 3, 7);
  const int workers = GENERATE(1, 2, 7);
  CAPTURE(pes, workers);
  const auto o = tiny(pes, workers);
  pgas::run(o, [&](pgas::pe& me) {
    constexpr int n = 3'000;
    pgas::symmetric<long> asked(me, 0), answered(me, 0);
    pgas::actor_of actor(asked, answered);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < n; ++i) {
        actor.ask(
            round == 2 ? i % me.count() : 0, [i](long& a, long&) { return ++a, i; },
            [](long&, long& total, int k) { total += k; });
      }
      expect_within_budget(me, o.budget);
      actor.finish();
    }
    expect(*answered == 3L * n * (n - 1) / 2);
    expect(me.sum(*asked) == 3L * n * me.count());
    expect_within_budget(me, o.budget);
  });
}

TEST_CASE("a storm of requests over two hops ends") {
  const int pes = GENERATE(4, 6, 9);
  const int workers = GENERATE(4, 9);
  CAPTURE(pes, workers);
  pgas::run(small(pes, workers, 2), [&](pgas::pe& me) {
    constexpr int n = 2'000;
    pgas::symmetric<long> asked(me, 0), answered(me, 0);
    pgas::actor_of actor(asked, answered);
    for (int i = 0; i < n; ++i) {
      actor.ask(
          i % 2 == 0 ? 0 : i % me.count(), [i](long& a, long&) { return ++a, i; },
          [](long&, long& total, int k) { total += k; });
    }
    actor.finish();
    expect(*answered == 1L * n * (n - 1) / 2);
    expect(me.sum(*asked) == 1L * n * me.count());
  });
}

TEST_CASE("PEs of one worker that wait for trains of several send buffers all get on") {
  // Two trains, many send buffers: the waiting PEs must be told of every train that comes home.
  const int pes = GENERATE(16, 64);
  const int workers = GENERATE(2, 5, 16);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  auto o = tiny(pes, workers, hops);
  o.budget /= static_cast<std::size_t>(pes / workers);  // a worker's PEs put theirs together
  pgas::run(o, [](pgas::pe& me) {
    pgas::symmetric<long> seen(me, 0);
    pgas::actor_of actor(seen);
    for (int i = 0; i < 500; ++i) {
      actor.send((7 * me.index() + i) % me.count(), [](long& x) { ++x; });
      if (i % 50 == 49) sched::this_fiber::yield();
    }
    actor.finish();
    expect(me.sum(*seen) == 500L * me.count());
  });
}

TEST_CASE("fetch storms: every PE waits for single replies, from one PE and from all") {
  const int pes = GENERATE(2, 5, 16);
  const int workers = GENERATE(1, 2, 5);
  CAPTURE(pes, workers);
  pgas::run(tiny(pes, workers), [](pgas::pe& me) {
    pgas::symmetric<long> n(me, me.index());
    pgas::actor_of actor(n);
    for (int i = 0; i < 30; ++i) {
      const int to = i % 2 == 0 ? 0 : (me.index() + i) % me.count();
      expect(actor.fetch(to, [](long& x) { return x; }) == to);
    }
    actor.finish();
  });
}

TEST_CASE("gather of far more than the budget holds waits, and stays within it") {
  const int workers = GENERATE(1, 2, 4);
  const auto o = tiny(4, workers);
  pgas::run(o, [&](pgas::pe& me) {
    const std::vector<char> mine(60'000, static_cast<char>('a' + me.index()));
    const auto all = me.gather(std::span<const char>(mine));
    for (int p = 0; p < 4; ++p) {
      expect(all[static_cast<std::size_t>(p)] == std::vector<char>(60'000, static_cast<char>('a' + p)));
    }
    expect_within_budget(me, o.budget);
  });
}
