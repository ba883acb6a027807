// Graphs that are dealt out: addresses, what distribute() makes of entries, and in which order.
#include <shunt/graph/adjacency.hpp>

#include <support/jobs.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/graph/detail/arrivals.hpp>
#include <shunt/graph/generate.hpp>
#include <shunt/graph/pieces.hpp>
#include <shunt/pgas.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

/// Local. This PE's share of the entries of a generator.
std::vector<graph::edge> share_of(const pgas::pe& me, const graph::rmat& g) {
  const auto pe = static_cast<std::uint64_t>(me.index()), pes = static_cast<std::uint64_t>(me.count());
  return g.edges(g.entries() * pe / pes, g.entries() * (pe + 1) / pes);
}

/// Words of all addresses, for share().
struct word_list {
  std::vector<std::uint64_t> all;
  explicit word_list(std::size_t size) : all(size) {}
  std::span<std::uint64_t> words() { return all; }
};

}  // namespace

TEST_CASE("addresses: there and back, and an error where 32 bits do not suffice") {
  for (const int pes : {1, 2, 3, 7, 64}) {
    pgas::run(tiny(pes, 2), [](pgas::pe& me) {
      const graph::addresses at(me, 1000);
      for (graph::vertex v = 0; v < 1000; ++v) {
        const auto a = at.of(v);
        expect(at.vertex(a, me.count()) == v);
        expect((at.owner(a) == me.index()) == (at.of_row(at.row(a)) == a));
        if (at.owner(a) == me.index()) expect(at.vertex_of_row(at.row(a)) == v && at.row(a) < at.rows());
      }
      if (me.count() == 3) {
        expect(thrown_by<usage_error>([&me] { graph::addresses(me, graph::max_vertices); }) != "");
      }
      for (const std::uint64_t far : {std::uint64_t{1} << 32 | 1, std::uint64_t{1} << 63 | 1, ~std::uint64_t{0}}) {
        const auto refusal = thrown_by<usage_error>([&] { graph::addresses(me, far); });
        expect(refusal.starts_with("a graph of " + std::to_string(far) + " vertices has no addresses"));
      }
    });
  }
}

TEST_CASE("distribute: each entry stands in the rows of both of its ends, whatever the number of PEs") {
  const graph::rmat g({.scale = 7, .edge_factor = 5}, 11);
  std::vector<std::vector<graph::vertex>> expected(g.vertices());
  for (const auto [a, b] : g.edges(0, g.entries())) {
    if (a != b) expected[a].push_back(b), expected[b].push_back(a);
  }
  for (auto& row : expected) std::sort(row.begin(), row.end());
  for (const int pes : {1, 2, 3, 7, 64}) {
    pgas::run(tiny(pes, 2), [&](pgas::pe& me) {
      auto a = graph::distribute(me, g.vertices(), share_of(me, g));
      expect(a.offsets.front() == 0 && a.offsets.back() == a.columns.size());
      const auto rows_are = [&](const auto& wanted) {
        for (std::uint32_t l = 0; l < a.count(); ++l) {
          std::vector<graph::vertex> row;
          for (const auto column : a.row(l)) row.push_back(a.at.vertex(column, me.count()));
          std::sort(row.begin(), row.end());
          expect(row == wanted(a.at.vertex_of_row(l)));
        }
      };
      rows_are([&](graph::vertex v) { return expected[v]; });
      a.simplify();
      rows_are([&](graph::vertex v) {
        auto row = expected[v];
        row.erase(std::unique(row.begin(), row.end()), row.end());
        return row;
      });
    });
  }
}

TEST_CASE("distribute: an edge whose end is no vertex is refused, and named") {
  const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
    const std::vector<graph::edge> edges{{99, 3}, {4, 100}};
    static_cast<void>(graph::distribute(me, 100, me.index() == 1 ? edges : std::vector<graph::edge>()));
  });
  CHECK(message == "PE 1: distribute: an edge from 4 to 100, but the graph has 100 vertices, 0 the first [SHUNT-1001]");
}

TEST_CASE("distribute: rows have the neighbours with more neighbours first") {
  const graph::rmat g({.scale = 9, .edge_factor = 8}, 3);
  std::vector<std::uint64_t> degree(g.vertices());
  for (const auto [a, b] : g.edges(0, g.entries())) degree[a] += a != b, degree[b] += a != b;
  pgas::run(tiny(3, 2), [&](pgas::pe& me) {
    const auto a = graph::distribute(me, g.vertices(), share_of(me, g));
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      expect(a.degree(l) == degree[a.at.vertex_of_row(l)]);
      auto last = graph::detail::magnitudes::kinds;
      for (const auto column : a.row(l)) {
        const std::size_t kind = graph::detail::magnitudes::of(degree[a.at.vertex(column, me.count())]);
        expect(kind <= last);
        last = kind;
      }
    }
  });
}

TEST_CASE("distribute: no vertices, and fewer vertices than PEs") {
  pgas::run(tiny(7, 2), [](pgas::pe& me) {
    expect(graph::distribute(me, 0, {}).count() == 0);
    const std::vector<graph::edge> loop_and_edge = {{1, 1}, {2, 0}};
    const auto a =
        graph::distribute(me, 3, me.index() == 5 ? std::span(loop_and_edge) : std::span<const graph::edge>());
    expect(a.count() == (me.index() < 3 ? 1U : 0U));
    expect(me.sum(a.columns.size()) == 2);
  });
}

TEST_CASE("share: every PE has the words of all PEs, at their places, as often as it is called") {
  constexpr std::size_t each = 300;  // more than a message carries
  for (const int pes : {1, 3, 7}) {
    pgas::run(tiny(pes, 2), [&](pgas::pe& me) {
      const auto count = static_cast<std::size_t>(me.count());
      pgas::symmetric<word_list> whole(me, each * count);
      pgas::actor_of sharer(whole);
      std::vector<std::uint64_t> mine(each);
      for (const std::uint64_t round : {1, 2}) {
        std::iota(mine.begin(), mine.end(), round * 1'000'000 + static_cast<std::size_t>(me.index()) * each);
        graph::share(me, sharer, std::span(mine));
        for (std::size_t i = 0; i < whole->all.size(); ++i) expect(whole->all[i] == round * 1'000'000 + i);
      }
    });
  }
}

TEST_CASE("dealt: the same places as place::of, there and back") {
  for (const int pes : {1, 2, 3, 7, 64, 1'000}) {
    std::uint32_t of_all = 0;
    for (int pe = 0; pe < pes; ++pe) of_all += graph::dealt(pe, pes).count(4'001);
    CHECK(of_all == 4'001);
    for (const std::uint32_t i : {0U, 1U, 63U, 64U, 999'999'937U, 4'294'967'294U}) {
      const auto at = graph::dealt(0, pes).where(i);
      const auto same = graph::place::of(i, pes);
      CHECK(std::pair(at.pe, at.spot) == std::pair(same.pe, same.spot));
      CHECK(at.global(pes) == i);
      CHECK(graph::dealt(at.pe, pes).global(at.spot) == i);
    }
  }
}
