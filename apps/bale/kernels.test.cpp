// The applications' kernels in both forms, against serial oracles: one answer, whatever the number of PEs.
#include <support/jobs.hpp>

#include <array>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>
#include <graph/generate.hpp>
#include <graph/graph.hpp>

#include "bale/histogram_class.hpp"
#include "bale/histogram_lambda.hpp"
#include "bale/index_gather_class.hpp"
#include "bale/index_gather_lambda.hpp"
#include "bale/triangle_class.hpp"
#include "bale/triangle_lambda.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

/// Triangles and wedges that the PEs find together.
struct answer {
  std::uint64_t triangles = 0;
  std::uint64_t wedges = 0;
  friend bool operator==(const answer&, const answer&) = default;
};

answer count(const graph::graph& g, const pgas::options& o, bool lambda) {
  answer all;
  pgas::run(o, [&](pgas::pe& me) {
    pgas::symmetric<apps::rows> lower(me, apps::deal(g, me.index(), me.count()));
    apps::tally mine;
    std::uint32_t rows_done = 0;
    const auto each = [&rows_done](std::uint32_t n) { rows_done = n; };
    if (lambda) {
      mine = apps::lambda_form::triangle(me, lower, each);
    } else {
      mine = apps::class_form::triangle{{me}, *lower}.run(each);
    }
    expect(rows_done == lower->count());
    const answer sum{me.sum(mine.found), me.sum(mine.asked)};
    if (me.index() == 0) all = sum;
  });
  return all;
}

}  // namespace

TEST_CASE("random_places: the same accesses whatever the number of PEs") {
  std::vector<std::uint64_t> wanted;
  for (const auto& p : apps::random_places(1000, 77, 3, 0, 1)) wanted.push_back(p.global(1));
  CHECK(wanted.size() == 1000);
  for (const int pes : {2, 3, 7}) {
    std::vector<std::uint64_t> found(1000);
    for (int pe = 0; pe < pes; ++pe) {
      auto i = static_cast<std::size_t>(pe);
      for (const auto& p : apps::random_places(1000, 77, 3, pe, pes)) {
        CHECK(p.pe < pes);
        found[i] = p.global(pes);
        i += static_cast<std::size_t>(pes);
      }
    }
    CHECK(found == wanted);
  }
}

TEST_CASE("rows: finds what is in a row of any length, and nothing else") {
  for (const std::uint32_t length : {0u, 1u, 2u, 31u, 32u, 33u, 64u, 65u, 1000u}) {
    apps::rows r(0, 1);
    r.append({});
    std::vector<graph::vertex> columns(length);
    for (std::uint32_t i = 0; i < length; ++i) columns[i] = 3 * i + 1;
    r.append(columns);
    r.append(std::array<graph::vertex, 2>{0, 5});
    std::uint32_t found = 0;
    for (graph::vertex k = 0; k < 3 * length + 5; ++k) {
      CHECK(r.has(1, k) == (k % 3 == 1 && k < 3 * length));
      found += r.has(1, k);
      CHECK_FALSE(r.has(0, k));
    }
    CHECK(found == length);
    CHECK(r.has(2, 5));
  }
}

TEST_CASE("histogram: counts what a serial loop counts, in both forms") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  constexpr std::uint64_t table = 500, updates = 5'000;
  std::vector<std::int64_t> wanted(table);
  for (const auto& p : apps::random_places(updates, table, 9, 0, 1)) ++wanted[p.global(1)];
  pgas::run(tiny(pes, workers, hops), [&](pgas::pe& me) {
    const auto places = apps::random_places(updates, table, 9, me.index(), me.count());
    const auto mine = (table + static_cast<std::uint64_t>(me.count()) - 1) / static_cast<std::uint64_t>(me.count());
    pgas::symmetric<std::vector<std::int64_t>> by_lambda(me, mine), by_class(me, mine);
    apps::lambda_form::histogram(by_lambda, places);
    apps::class_form::histogram{{me}, *by_class}.run(places);
    for (std::uint32_t s = 0; s < mine; ++s) {
      const auto global = apps::place{me.index(), s}.global(me.count());
      const auto right = global < table ? wanted[global] : 0;
      expect((*by_lambda)[s] == right);
      expect((*by_class)[s] == right);
    }
  });
}

TEST_CASE("index_gather: reads what is there, in both forms") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  constexpr std::uint64_t table = 300, reads = 5'000;
  pgas::run(small(pes, workers, hops), [&](pgas::pe& me) {
    const auto places = apps::random_places(reads, table, 4, me.index(), me.count());
    const auto mine = (table + static_cast<std::uint64_t>(me.count()) - 1) / static_cast<std::uint64_t>(me.count());
    const auto entry = [](std::uint64_t global) { return static_cast<std::int64_t>(1'000'000'007 * global + 5); };
    pgas::symmetric<std::vector<std::int64_t>> entries(me, mine), by_lambda(me, places.size()),
        by_class(me, places.size());
    for (std::uint32_t s = 0; s < mine; ++s) {
      (*entries)[s] = entry(apps::place{me.index(), s}.global(me.count()));
    }
    me.barrier();
    apps::lambda_form::index_gather(entries, by_lambda, places);
    apps::class_form::index_gather{{me}, *entries, *by_class}.run(places);
    for (std::size_t i = 0; i < places.size(); ++i) {
      expect((*by_lambda)[i] == entry(places[i].global(me.count())));
      expect((*by_class)[i] == entry(places[i].global(me.count())));
    }
  });
}

TEST_CASE("triangle: counts what the serial oracle counts, in both forms, on random and skewed graphs") {
  const auto g = GENERATE(graph::erdos_renyi::with_lower_row_mean(300, 10, 1).whole(),
                          graph::rmat({.scale = 8, .edge_factor = 8}, 2).whole(),
                          graph::by_degree(graph::rmat({.scale = 8, .edge_factor = 8}, 3).whole()));
  const answer wanted{graph::count_triangles_serial(g), graph::wedges(g)};
  REQUIRE(wanted.triangles > 100);
  for (const int pes : {1, 2, 3, 7, 64}) {
    for (const int workers : {1, 3}) {
      for (const int hops : {1, 2}) {
        for (const bool lambda : {true, false}) {
          CAPTURE(pes, workers, hops, lambda);
          CHECK(count(g, tiny(pes, workers, hops), lambda) == wanted);
        }
      }
    }
  }
}

TEST_CASE("triangle: products of stars have the number that is known") {
  const auto* const text = GENERATE("1:3x4x5", "2:3x4x5", "0:3x4x5", "1:2x2x2x2", "2:9", "1:16x3");
  const auto stars = graph::star_product::parse(text);
  const auto g = stars.whole();
  for (const int pes : {1, 5}) {
    for (const bool lambda : {true, false}) {
      CAPTURE(text, pes, lambda);
      CHECK(count(g, tiny(pes, 2), lambda) == answer{stars.triangles(), graph::wedges(g)});
    }
  }
}

TEST_CASE("triangle: graphs without triangles, edges or vertices, and fewer vertices than PEs") {
  const std::vector<graph::edge> square{{0, 1}, {1, 2}, {2, 3}, {3, 0}}, triangle{{0, 1}, {1, 2}, {2, 0}};
  for (const bool lambda : {true, false}) {
    CHECK(count(graph::graph(), tiny(3, 2), lambda) == answer{});
    CHECK(count(graph::graph::from_edges(5, {}), tiny(3, 2), lambda) == answer{});
    CHECK(count(graph::graph::from_edges(4, square), tiny(7, 2), lambda).triangles == 0);
    CHECK(count(graph::graph::from_edges(3, triangle), tiny(7, 2), lambda) == answer{1, 1});
  }
}
