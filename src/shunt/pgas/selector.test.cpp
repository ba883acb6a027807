// Messages as values: actors and selectors of classes, against serial oracles.
#include <support/jobs.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

struct histogram : pgas::actor<histogram, std::uint32_t> {
  explicit histogram(pgas::pe& me) : actor(me), counts(16), by(static_cast<std::size_t>(me.count())) {}
  void process(std::uint32_t spot, int from) {
    ++counts[spot];
    ++by[static_cast<std::size_t>(from)];
  }
  std::vector<long> counts, by;
};

}  // namespace

TEST_CASE("actor of a class: every message is processed once, with its sender, before finish returns") {
  const int pes = GENERATE(1, 2, 3, 4, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    const int n = me.count() == 64 ? 128 : 448;
    histogram h(me);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      for (int i = 0; i < n; ++i) h.send((me.index() + i) % me.count(), static_cast<std::uint32_t>(i % 16));
      h.finish();
      for (const long n_from : h.by)
        expect(n_from >= epoch * (n / me.count()) && n_from <= epoch * (n / me.count() + 1));
      expect(std::accumulate(h.by.begin(), h.by.end(), 0L) == epoch * n);
      expect(std::accumulate(h.counts.begin(), h.counts.end(), 0L) == epoch * n);
      me.barrier();
    }
  });
}

namespace {

struct first {
  int n;
  char c;
};
struct second {
  long n;
};
/// Each message goes on to the next mailbox.
struct chain : pgas::selector<chain, first, second, char> {
  explicit chain(pgas::pe& me) : selector(me) {}
  void process(first f) {
    sums[0] += f.n;
    send<1>((me().index() + f.n) % me().count(), {f.n + 1});
  }
  void process(second s, int) {
    sums[1] += s.n;
    send<2>(static_cast<int>((me().index() + s.n) % me().count()), static_cast<char>(s.n % 100));
  }
  void process(char c) { sums[2] += c; }
  std::array<long, 3> sums{};
};

/// The same type on two mailboxes: told apart by number, with and without the sender.
struct twins : pgas::selector<twins, long, long, long> {
  explicit twins(pgas::pe& me) : selector(me) {}
  void process(pgas::mailbox_index<0>, long n, int from) { sums[0] += n * (from + 1); }
  void process(pgas::mailbox_index<1>, long n) { sums[1] += n; }
  void process(long n, int) { sums[2] += n; }  // whatever has no function of its own
  std::array<long, 3> sums{};
};

/// Types that convert to each other: each message goes to the function that takes exactly it.
struct lookalikes : pgas::selector<lookalikes, int, long, char, double> {
  explicit lookalikes(pgas::pe& me) : selector(me) {}
  void process(int n, int) { sums[0] += n; }
  void process(const long& n) { sums[1] += n; }
  void process(char c) { sums[2] += c; }
  void process(double d, int from) { sums[3] += static_cast<long>(d) + from; }
  std::array<long, 4> sums{};
};

}  // namespace

TEST_CASE("selector of a class: a message goes to the function of its type, not to one that it converts to") {
  pgas::run(tiny(2, 2), [](pgas::pe& me) {
    lookalikes s(me);
    s.send<0>(0, 1);
    s.send<1>(0, 10L);
    s.send<2>(0, 'd');
    s.send<3>(0, 1000.5);
    s.finish();
    if (me.index() == 0) expect(s.sums == std::array<long, 4>{2, 20, 200, 2001});
  });
}

TEST_CASE("selector of a class: three mailboxes in a chain, each process() sends to the next") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(small(pes, workers, hops), [](pgas::pe& me) {
    constexpr int n = 100;
    chain s(me);
    for (int epoch = 1; epoch <= 2; ++epoch) {
      for (int i = 0; i < n; ++i) s.send<0>((me.index() + 3 * i) % me.count(), {i, 'x'});
      s.finish();
      const auto wanted = chain_sums(me, n, [](int i, int) { return i; });
      for (std::size_t m = 0; m < 3; ++m) expect(s.sums[m] == epoch * wanted[m]);
      me.barrier();
    }
  });
}

TEST_CASE("selector of a class: one type on several mailboxes is processed by mailbox") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(4, workers, hops), [](pgas::pe& me) {
    twins s(me);
    for (int i = 0; i < 100; ++i) {
      s.send<0>(i % 4, 1);
      s.send<1>(i % 4, 10);
      s.send<2>(i % 4, 100);
    }
    s.finish();
    expect(s.sums == std::array<long, 3>{25 * (1 + 2 + 3 + 4), 1000, 10'000});
  });
}

TEST_CASE("selector of a class: a mailbox that is chosen while running") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(4, workers, hops), [](pgas::pe& me) {
    twins s(me);
    for (int i = 0; i < 300; ++i)
      s.send_through(static_cast<std::size_t>(i % 3), i / 3 % 4, long{i % 3 == 0 ? 1 : i % 3});
    for (std::size_t m = 0; m < 3; ++m) s.done(m);
    s.finish();
    expect(s.sums == std::array<long, 3>{25 * (1 + 2 + 3 + 4), 100, 200});
  });
}

namespace {

struct slow : pgas::actor<slow, int> {
  slow(pgas::pe& me, std::atomic<int>& ahead) : actor(me) {
    // Faster PEs send meanwhile. Nothing may be processed before `ready` has been constructed.
    if (me.index() == 0) {
      while (ahead.load() != me.count() - 1) std::this_thread::yield();
    }
    ready = std::vector<int>(1, 7);
  }
  void process(int n) {
    expect(ready.size() == 1 && ready[0] == 7);
    sum += n;
  }
  long sum = 0;
  std::vector<int> ready;
};

}  // namespace

TEST_CASE("selector of a class: nothing is processed by an object that is still under construction") {
  const int workers = GENERATE(2, 3);
  std::atomic<int> ahead{0};
  pgas::run(small(workers, workers), [&](pgas::pe& me) {
    slow s(me, ahead);
    for (int i = 0; i < 500; ++i) s.send(0, 1);
    if (me.index() != 0) ahead.fetch_add(1);
    s.finish();
    expect(s.sum == (me.index() == 0 ? 500 * me.count() : 0));
  });
}

TEST_CASE("selector of a class: PEs of one worker may construct theirs far apart") {
  pgas::run(tiny(3, 1), [](pgas::pe& me) {
    for (int i = 0; i < me.index() * 5; ++i) sched::this_fiber::yield();
    std::atomic<int> none{me.count() - 1};
    slow s(me, none);
    for (int i = 0; i < 200; ++i) s.send((me.index() + i) % 3, 1);
    for (int i = 0; i < 5; ++i) sched::this_fiber::yield();
    s.finish();
    expect(me.sum(s.sum) == 600);
  });
}

// --- mailboxes of requests ---

namespace {

struct wanted {
  std::uint16_t spot;
};
struct place {
  std::uint32_t at;
};
/// Reads through one mailbox, writes through another, and counts what the third was told.
struct library
    : pgas::selector<library, pgas::asking<wanted, place, double>, pgas::asking<int, std::array<char, 9>, void>, int> {
  explicit library(pgas::pe& me) : selector(me), books(50), read(200) {
    for (std::size_t b = 0; b < books.size(); ++b) books[b] = me.index() + static_cast<double>(b) / 64;
  }
  double process(wanted w, int) const { return books[w.spot]; }
  void replied(place p, double value, int from) {
    read[p.at] = value + 1000 * from;
    send<2>(from, 1);
  }
  void process(int n) { written += n; }
  void replied(const std::array<char, 9>& kept) { acknowledged += kept[8]; }
  void process(pgas::mailbox_index<2>, int n) { thanks += n; }
  std::vector<double> books, read;
  long written = 0, acknowledged = 0, thanks = 0;
};

}  // namespace

TEST_CASE("selector of a class: requests are answered, and what was kept meets its reply") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);
  CAPTURE(pes, workers, hops, roomy);
  auto o = small(pes, workers, hops);
  if (!roomy) o.budget = 64 << 10;
  pgas::run(o, [](pgas::pe& me) {
    library l(me);
    for (int epoch = 1; epoch <= 2; ++epoch) {
      for (int i = 0; i < 200; ++i) {
        const int to = (me.index() + 3 * i) % me.count();
        l.ask<0>(to, wanted{static_cast<std::uint16_t>(i % 50)}, place{static_cast<std::uint32_t>(i)});
        l.ask<1>(to, i, std::array<char, 9>{1, 2, 3, 4, 5, 6, 7, 8, 9});
      }
      l.finish();
      for (int i = 0; i < 200; ++i) {
        const int from = (me.index() + 3 * i) % me.count();
        expect(l.read[static_cast<std::size_t>(i)] == from + (i % 50) / 64.0 + 1000 * from);
      }
      expect(l.acknowledged == 9L * 200 * epoch);
      expect(me.sum(l.written) == 199L * 100 * me.count() * epoch);
      expect(me.sum(l.thanks) == 200L * me.count() * epoch);
    }
  });
}

// --- handlers that send to their own mailbox: quiesce() ---

namespace {

/// Breadth-first search that corrects distances: an asynchronous order, one right answer.
struct search : pgas::actor<search, std::array<int, 2>> {
  search(pgas::pe& me, const std::vector<std::vector<int>>& g) : actor(me), graph(g), distance(g.size(), -1) {}
  void visit(int v, int d) {
    auto& mine = distance[static_cast<std::size_t>(v)];
    if (mine >= 0 && mine <= d) return;
    mine = d;
    for (const int u : graph[static_cast<std::size_t>(v)]) send(u % me().count(), {u, d + 1});
  }
  void process(std::array<int, 2> m) { visit(m[0], m[1]); }
  const std::vector<std::vector<int>>& graph;
  std::vector<int> distance;  // of the vertices that this PE owns
};

std::vector<int> serial_search(const std::vector<std::vector<int>>& g, int from) {
  std::vector<int> distance(g.size(), -1);
  std::queue<int> next;
  distance[static_cast<std::size_t>(from)] = 0;
  for (next.push(from); !next.empty(); next.pop()) {
    const auto v = static_cast<std::size_t>(next.front());
    for (const int u : g[v]) {
      if (distance[static_cast<std::size_t>(u)] >= 0) continue;
      distance[static_cast<std::size_t>(u)] = distance[v] + 1;
      next.push(u);
    }
  }
  return distance;
}

std::vector<std::vector<int>> random_graph(int vertices, int edges, std::uint64_t seed) {
  const counter_random random(seed);
  std::vector<std::vector<int>> g(static_cast<std::size_t>(vertices));
  for (std::uint64_t e = 0; e < static_cast<std::uint64_t>(edges); ++e) {
    const auto a = random.below(2 * e, static_cast<std::uint64_t>(vertices));
    const auto b = random.below(2 * e + 1, static_cast<std::uint64_t>(vertices));
    g[a].push_back(static_cast<int>(b));
    g[b].push_back(static_cast<int>(a));
  }
  return g;
}

}  // namespace

TEST_CASE("quiesce: a breadth-first search by messages finds what a serial one finds, from one root after another") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  const auto graph = random_graph(300, 600, 11);
  pgas::run(small(pes, workers, hops), [&](pgas::pe& me) {
    search s(me, graph);
    for (const int root : {0, 17, 299}) {
      std::fill(s.distance.begin(), s.distance.end(), -1);
      me.barrier();
      if (root % me.count() == me.index()) s.send(me.index(), {root, 0});
      s.quiesce();
      const auto wanted = serial_search(graph, root);
      for (int v = me.index(); v < 300; v += me.count()) {
        expect(s.distance[static_cast<std::size_t>(v)] == wanted[static_cast<std::size_t>(v)]);
      }
      me.barrier();
    }
    s.finish();
  });
}

TEST_CASE("quiesce: a chain of 100,000 messages between PEs is waited for to its end") {
  const int pes = GENERATE(1, 3);
  const int workers = GENERATE(1, 2);
  pgas::run(tiny(pes, workers), [](pgas::pe& me) {
    constexpr int links = 100'000;
    relay r(me);
    if (me.index() == 0) r.send(0, links);
    r.quiesce();
    expect(me.sum(r.passed) == links);
    r.finish();
  });
}

TEST_CASE("quiesce: a tree of messages that doubles at each level, and epochs of quiesce and finish in turn") {
  const int pes = GENERATE(1, 2, 5);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  auto o = tiny(pes, workers, hops);
  o.budget = std::size_t{16} << 20;
  pgas::run(o, [](pgas::pe& me) {
    struct node {
      int depth;
      unsigned path;
      void operator()(long& seen, pgas::here_of<1, long>& here) const {
        ++seen;
        if (depth == 0) return;
        for (const unsigned turn : {0u, 1u}) {
          here.send(static_cast<int>((2 * path + turn) * 2654435761u % static_cast<unsigned>(here.count())),
                    node{depth - 1, 2 * path + turn});
        }
      }
    };
    pgas::symmetric<long> seen(me, 0);
    pgas::actor_of tree(seen);
    for (int epoch = 0; epoch < 4; ++epoch) {
      if (me.index() == epoch % me.count()) tree.send(0, node{11, 1});
      tree.quiesce();
      expect(me.sum(*seen) == 4095);
      *seen = 0;
      me.barrier();
      tree.send(me.index(), [](long& n) { ++n; });
      tree.finish();
      expect(*seen == 1);
      *seen = 0;
      me.barrier();
    }
  });
}

TEST_CASE("quiesce of nothing returns, many times") {
  const int workers = GENERATE(1, 3);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(6, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> n(me, 0);
    pgas::actor_of a(n);
    for (int i = 0; i < 50; ++i) a.quiesce();
  });
}
