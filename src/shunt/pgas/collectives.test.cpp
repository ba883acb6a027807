// Collectives of PEs: what each PE gets, in which order, of any size.
#include <support/jobs.hpp>

#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::StartsWith;

namespace {

/// 2x2 matrices modulo a prime: associative, and no two orders of these factors give the same product.
struct matrix {
  std::array<std::uint64_t, 4> m;
  friend bool operator==(const matrix&, const matrix&) = default;
};
matrix product(const matrix& a, const matrix& b) {
  constexpr std::uint64_t p = 1'000'003;
  return {{(a.m[0] * b.m[0] + a.m[1] * b.m[2]) % p, (a.m[0] * b.m[1] + a.m[1] * b.m[3]) % p,
           (a.m[2] * b.m[0] + a.m[3] * b.m[2]) % p, (a.m[2] * b.m[1] + a.m[3] * b.m[3]) % p}};
}
matrix of(int pe, int round) {
  const auto n = static_cast<std::uint64_t>(pe + 2 + 5 * round);
  return {{n, 1, n * n % 1000, 3}};
}

std::string text_of(int pe, int round) {
  // Empty, short, and longer than several trains of 512 bytes.
  const auto length = static_cast<std::size_t>((pe * 7 + round) % 5 == 0 ? 0
                                               : (pe + round) % 3 == 0   ? 2000 + 13 * pe
                                                                         : pe % 50);
  return std::string(length, static_cast<char>('a' + pe % 26));
}

}  // namespace

TEST_CASE("reduce: combines in the order of PEs, on every PE the same") {
  const int pes = GENERATE(1, 2, 3, 4, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    for (int round = 0; round < 20; ++round) {
      matrix wanted = of(0, round);
      for (int p = 1; p < me.count(); ++p) wanted = product(wanted, of(p, round));
      expect(me.reduce(of(me.index(), round), [](const matrix& a, const matrix& b) { return product(a, b); }) ==
             wanted);
    }
    // First and last: no operation is less commutative.
    expect(me.reduce(me.index(), [](int a, int) { return a; }) == 0);
    expect(me.reduce(me.index(), [](int, int b) { return b; }) == me.count() - 1);
  });
}

TEST_CASE("scan: combines the values of the PEs before, in their order") {
  const int pes = GENERATE(1, 2, 3, 4, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    const auto times = [](const matrix& a, const matrix& b) { return product(a, b); };
    for (int round = 0; round < 20; ++round) {
      matrix wanted = of(1000, round);
      for (int p = 0; p < me.index(); ++p) wanted = product(wanted, of(p, round));
      expect(me.scan(of(me.index(), round), times, of(1000, round)) == wanted);
      if (round % 3 == 0) expect(me.sum(round) == round * me.count());
    }
    // Without a first value: what only the PEs before gave, and T{} where there is none.
    const matrix without = me.scan(of(me.index(), 7), times);
    matrix wanted{};
    for (int p = 0; p < me.index(); ++p) wanted = p == 0 ? of(0, 7) : product(wanted, of(p, 7));
    expect(without == wanted);
    // First and last: no operation is less commutative.
    expect(me.scan(me.index() + 1, [](int a, int) { return a; }) == (me.index() == 0 ? 0 : 1));
    expect(me.scan(me.index() + 1, [](int, int b) { return b; }) == me.index());
  });
}

TEST_CASE("scan: sums of integers and of floating point numbers, and their inclusive form") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 5);
  pgas::run(tiny(pes, workers), [](pgas::pe& me) {
    const long n = me.index();
    expect(me.scan(n + 1) == n * (n + 1) / 2);
    expect(me.scan(n + 1) + n + 1 == (n + 1) * (n + 2) / 2);
    expect(me.scan(0.5 * me.index()) == 0.25 * me.index() * (me.index() - 1));
    expect(me.scan(static_cast<char>(1)) == static_cast<char>(n));
    expect(me.scan(n, [](long a, long b) { return b < a ? a : b; }, -5L) == (n == 0 ? -5 : n - 1));
  });
}

TEST_CASE("scan: PEs whose values differ in size are told so, and so are those in another collective call") {
  const int workers = GENERATE(1, 2, 4);
  const auto sizes = failure_of(tiny(4, workers), [](pgas::pe& me) {
    if (me.index() == 3) static_cast<void>(me.scan(short{1}));
    static_cast<void>(me.scan(1L));
  });
  CHECK_THAT(sizes, StartsWith("PE ") && Contains("PEs disagree") && Contains("in scan() of 2 bytes") &&
                        Contains("in scan() of 8 bytes"));
  const auto calls =
      failure_of(tiny(4, workers), [](pgas::pe& me) { static_cast<void>(me.index() == 2 ? me.scan(1L) : me.sum(1L)); });
  CHECK_THAT(calls, StartsWith("PE ") && Contains("PEs disagree") && Contains("in scan()") && Contains("in reduce()"));
}

TEST_CASE("sum, min, max") {
  const int pes = GENERATE(1, 2, 5, 64);
  const int workers = GENERATE(1, 2, 5);
  pgas::run(tiny(pes, workers), [](pgas::pe& me) {
    const int n = me.count();
    expect(me.sum(me.index() + 1) == n * (n + 1) / 2);
    expect(me.min(10 - me.index()) == 10 - (n - 1));
    expect(me.max(me.index() * 0.5) == (n - 1) * 0.5);
    expect(me.max(me.index() == n / 2 ? std::numeric_limits<long>::max() : std::numeric_limits<long>::min()) ==
           std::numeric_limits<long>::max());
    // Floating point: one order of additions, so every PE has the same bits.
    const double x = me.sum(0.1 / (me.index() + 1));
    expect(me.min(x) == x && me.max(x) == x && me.sum(0.1 / (me.index() + 1)) == x);
    expect(me.sum(static_cast<char>(1)) == static_cast<char>(n));
  });
}

TEST_CASE("gather: values, vectors and texts of every PE, by PE, empty or larger than a train") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    for (int round = 0; round < 5; ++round) {
      const auto values = me.gather(me.index() * 10L + round);
      expect(values.size() == static_cast<std::size_t>(me.count()));
      const auto texts = me.gather(text_of(me.index(), round));
      expect(texts.size() == values.size());
      const std::vector<short> mine(static_cast<std::size_t>((me.index() * 101 + round) % 700),
                                    static_cast<short>(me.index()));
      const auto vectors = me.gather(std::span<const short>(mine));
      expect(vectors.size() == values.size());
      for (int p = 0; p < me.count(); ++p) {
        const auto at = static_cast<std::size_t>(p);
        expect(values[at] == p * 10L + round);
        expect(texts[at] == text_of(p, round));
        expect(vectors[at] ==
               std::vector<short>(static_cast<std::size_t>((p * 101 + round) % 700), static_cast<short>(p)));
      }
    }
    for (const auto& nothing : me.gather(std::string())) expect(nothing.empty());
  });
}

TEST_CASE("broadcast: from each root, to every PE, values and vectors") {
  const int pes = GENERATE(1, 2, 5, 7);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    for (int root = 0; root < me.count(); ++root) {
      expect(me.broadcast(me.index() * 3 + 1, root) == root * 3 + 1);
      std::vector<double> mine;
      if (me.index() == root) mine.assign(static_cast<std::size_t>(root) * 200, root + 0.25);
      expect(me.broadcast(mine, root) == std::vector<double>(static_cast<std::size_t>(root) * 200, root + 0.25));
    }
  });
}

TEST_CASE("broadcast: a root that is no PE is refused") {
  const int root = GENERATE(-1, 3, 1000);
  const auto message = failure_of(tiny(3, 2), [root](pgas::pe& me) { static_cast<void>(me.broadcast(1, root)); });
  CHECK_THAT(message, StartsWith("PE ") && Contains("broadcast from PE " + std::to_string(root)) && Contains("0..2"));
}

TEST_CASE("barrier: what a PE did before it, all see after it") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  CAPTURE(pes, workers);
  // Plain data of this process: only the barrier orders them.
  std::vector<long> wrote(static_cast<std::size_t>(pes));
  pgas::run(tiny(pes, workers), [&](pgas::pe& me) {
    for (long round = 1; round <= 50; ++round) {
      wrote[static_cast<std::size_t>(me.index())] = round * me.index();
      me.barrier();
      for (int p = 0; p < me.count(); ++p) expect(wrote[static_cast<std::size_t>(p)] == round * p);
      me.barrier();
    }
  });
}

TEST_CASE("barrier says nothing of messages, and does not lose them") {
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(5, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> n(me, 0);
    pgas::actor_of a(n);
    for (int i = 0; i < 100; ++i) {
      a.send(i % 5, [](long& x) { ++x; });
      if (i % 7 == 0) me.barrier();
      if (i % 11 == 0) expect(me.sum(1) == 5);
    }
    a.finish();
    expect(*n == 100);
  });
}

TEST_CASE("traffic: counts messages of programs and handlers, replies included, once") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  pgas::run(small(4, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> n(me, 0);
    const auto before = me.traffic();
    {
      auto s = pgas::make_selector<2>(n);
      for (int i = 0; i < 100; ++i) {
        s.send<0>(i % 4, [](long&, auto& here) { here.template send<1>(0, [](long& x) { ++x; }); });
        s.ask<0>(i % 4, [](long& x) { return x; }, [](long&, long) {});
      }
    }
    const auto moved = me.traffic() - before;
    expect(moved.messages == 4 * 400);
    expect(moved.trains > 0 && moved.bytes > 0);
    expect(moved.bytes <= moved.train_capacity && moved.fill() > 0 && moved.fill() <= 1);
  });
}
