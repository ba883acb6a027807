// Mailboxes that end in an order that the program states.
#include <support/jobs.hpp>

#include <array>
#include <functional>
#include <string>

#include <catch2/catch.hpp>
#include <shunt/pgas/mailbox_order.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("mailbox_order: says for each mailbox which others end before it") {
  using masks = std::vector<std::uint64_t>;
  CHECK(pgas::mailbox_order{}.feeders(2, "pair") == masks{0, 0});
  CHECK(pgas::mailbox_order{{2, {0, 1}}}.feeders(3, "merge") == masks{0, 0, 3});
  CHECK(pgas::mailbox_order{{0, {1}}, {0, {2}}, {1, {2}}}.feeders(3, "back") == masks{6, 4, 0});
  CHECK(pgas::mailbox_order{{63, {0, 62}}}.feeders(64, "many")[63] == (std::uint64_t{1} << 62 | 1));
}

TEST_CASE("mailbox_order: circles and mailboxes that are not there are refused, with their numbers") {
  CHECK_THROWS_WITH((pgas::mailbox_order{{0, {2}}, {2, {1}}, {1, {0}}, {3, {0}}}.feeders(5, "ring")),
                    StartsWith("mailbox_order of ring: mailboxes 0, 1, 2 wait for each other's end"));
  CHECK_THROWS_WITH((pgas::mailbox_order{{1, {1}}}.feeders(2, "own")), Contains("mailboxes 1 wait"));
  CHECK_THROWS_WITH((pgas::mailbox_order{{2, {0}}}.feeders(2, "two")),
                    Contains("two: no mailbox 2, the selector has 2"));
  CHECK_THROWS_WITH((pgas::mailbox_order{{0, {7}}}.feeders(2, "two")), Contains("no mailbox 7"));
  CHECK_THROWS_WITH((pgas::mailbox_order{{9, {}}}.feeders(2, "two")), Contains("no mailbox 9"));
}

TEST_CASE("selector with an order: a diamond of mailboxes, messages from each to the next") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(small(pes, workers, hops), [](pgas::pe& me) {
    constexpr int n = 60;
    pgas::symmetric<std::array<long, 4>> seen(me);
    // From 3 to 1 and 2, and from both to 0.
    auto s = pgas::make_selector<4>(pgas::mailbox_order{{1, {3}}, {2, {3}}, {0, {1, 2}}}, seen);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      for (int i = 0; i < n; ++i) {
        s.send<3>((me.index() + i) % me.count(), [i](auto& at, auto& here) {
          ++at[3];
          here.send_through(1 + static_cast<std::size_t>(i % 2), (here.index() + i) % here.count(),
                            [i](auto& at1, auto& here1) {
                              ++at1[1 + static_cast<std::size_t>(i % 2)];
                              here1.template send<0>((here1.index() + 1) % here1.count(), [](auto& at0) { ++at0[0]; });
                            });
        });
        if (i % 10 == 0) s.send<0>(me.index(), [](auto& at) { at[0] += 1000; });
      }
      s.finish();
      std::array<long, 4> all{};
      for (std::size_t m = 0; m < 4; ++m) all[m] = me.sum((*seen)[m]);
      const long wanted = long{epoch} * n * me.count();
      expect(all == std::array<long, 4>{wanted + 100 * wanted, wanted / 2, wanted / 2, wanted});
      me.barrier();
    }
  });
}

namespace {
struct question {
  int n;
};
/// Requests to mailbox 1, whose replies are sent on to mailbox 0.
struct backwards : pgas::selector<backwards, long, pgas::asking<question, int, long>> {
  explicit backwards(pgas::pe& me) : selector(me, pgas::mailbox_order{{0, {1}}}) {}
  void process(long n) { sum += n; }
  long process(question q) const { return 10L * q.n; }
  void replied(int kept, long reply) { send<0>(kept % me().count(), reply + kept); }
  long sum = 0;
};
}  // namespace

TEST_CASE("selector of a class with an order: replies of the last mailbox are sent on to the first") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(4, workers, hops), [](pgas::pe& me) {
    backwards s(me);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      long wanted = 0;
      for (int i = 0; i < 100; ++i) {
        s.ask<1>((me.index() + i) % me.count(), question{i}, i);
        if (i % me.count() == me.index()) wanted += 4 * 11L * i;
      }
      s.finish();
      expect(s.sum == epoch * wanted);
      me.barrier();
    }
  });
}

TEST_CASE("selector with an order: a circle, and PEs that give different orders, end the job with an error") {
  const auto circle = failure_of(tiny(2, 2), [](pgas::pe& me) {
    pgas::symmetric<long> part(me);
    auto s = pgas::make_selector<2>(pgas::mailbox_order{{0, {1}}, {1, {0}}}, part);
  });
  CHECK_THAT(circle, StartsWith("PE ") && Contains("mailboxes 0, 1 wait for each other's end"));
  const int workers = GENERATE(1, 2);
  const auto different = failure_of(tiny(2, workers), [](pgas::pe& me) {
    pgas::symmetric<long> part(me);
    auto s =
        me.index() == 0 ? pgas::make_selector<2>(part) : pgas::make_selector<2>(pgas::mailbox_order{{0, {1}}}, part);
    s.finish();
  });
  CHECK_THAT(different, StartsWith("PE ") && Contains("PEs disagree") && Contains("the same mailbox_order"));
}
