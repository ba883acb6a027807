// The applications' kernels in their forms, against serial oracles: one answer, whatever the number of PEs.
#include <support/jobs.hpp>

#include <array>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/graph/generate.hpp>
#include <shunt/graph/graph.hpp>

#include "bale/histogram_class.hpp"
#include "bale/histogram_lambda.hpp"
#include "bale/histogram_natural.hpp"
#include "bale/index_gather_class.hpp"
#include "bale/index_gather_lambda.hpp"
#include "bale/index_gather_natural.hpp"
#include "bale/triangle_count.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

/// Triangles and wedges that the PEs find together.
struct answer {
  std::uint64_t triangles = 0;
  std::uint64_t wedges = 0;
  friend bool operator==(const answer&, const answer&) = default;
};

answer count(const graph::graph& g, const pgas::options& o, apps::form form, apps::ask_by how) {
  answer all;
  pgas::run(o, [&](pgas::pe& me) {
    pgas::symmetric<apps::rows> lower(me, apps::deal(g, me.index(), me.count()));
    std::uint32_t rows_done = 0;
    const auto each = [&rows_done](std::uint32_t n) { rows_done = n; };
    const apps::tally mine = apps::count_triangles(me, lower, form, how, each);
    expect(rows_done == lower->count());
    const answer sum{me.sum(mine.found), me.sum(mine.asked)};
    if (me.index() == 0) all = sum;
  });
  return all;
}

/// The forms, and the kinds of messages.
constexpr std::pair<apps::form, apps::ask_by> ways[] = {
    {apps::form::lambda, apps::ask_by::wedge},  {apps::form::lambda, apps::ask_by::row},
    {apps::form::class_, apps::ask_by::wedge},  {apps::form::class_, apps::ask_by::row},
    {apps::form::natural, apps::ask_by::wedge}, {apps::form::natural, apps::ask_by::row}};

/// All vertices know each other.
graph::graph complete(std::uint64_t vertices) {
  std::vector<graph::edge> edges;
  for (graph::vertex a = 0; a < vertices; ++a) {
    for (graph::vertex b = 0; b < a; ++b) edges.push_back({a, b});
  }
  return graph::graph::from_edges(vertices, edges);
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

TEST_CASE("rows: finds how many of some columns are in a row, of any lengths") {
  for (const std::uint32_t length : {0u, 1u, 5u, 31u, 100u, 1000u}) {
    for (const std::uint32_t sought : {0u, 1u, 7u, 64u, 900u}) {
      apps::rows r(0, 1);
      r.append(std::array<graph::vertex, 2>{0, 5});
      std::vector<graph::vertex> columns(length), some(sought);
      for (std::uint32_t i = 0; i < length; ++i) columns[i] = 3 * i + 1;
      for (std::uint32_t i = 0; i < sought; ++i) some[i] = 2 * i + 1;
      r.append(columns);
      std::uint64_t wanted = 0;
      for (const auto k : some) wanted += r.has(1, k);
      CHECK(r.has_of(1, some) == wanted);
      CHECK((length < 100 || sought < 7 || wanted > 1));
    }
  }
}

TEST_CASE("histogram: counts what a serial loop counts, in all forms") {
  const auto job = GENERATE(from_range(all_jobs(tiny)));
  CAPTURE(job.pes, job.workers, job.hops);
  constexpr std::uint64_t table = 500, updates = 5'000;
  std::vector<std::int64_t> wanted(table);
  for (const auto& p : apps::random_places(updates, table, 9, 0, 1)) ++wanted[p.global(1)];
  pgas::run(job, [&](pgas::pe& me) {
    const auto places = apps::random_places(updates, table, 9, me.index(), me.count());
    const auto mine = (table + static_cast<std::uint64_t>(me.count()) - 1) / static_cast<std::uint64_t>(me.count());
    pgas::symmetric<std::vector<std::int64_t>> by_lambda(me, mine), by_class(me, mine);
    apps::lambda_form::histogram(by_lambda, places);
    apps::class_form::histogram{{me}, *by_class}.run(places);
    pgas::array<std::int64_t> by_nature(me, mine * static_cast<std::uint64_t>(me.count()));
    apps::natural::histogram(me, by_nature, apps::indices_of(places, me.count()));
    for (std::uint32_t s = 0; s < mine; ++s) {
      const auto global = apps::place{me.index(), s}.global(me.count());
      const auto right = global < table ? wanted[global] : 0;
      expect((*by_lambda)[s] == right);
      expect((*by_class)[s] == right);
      expect(by_nature.local()[s] == right);
    }
  });
}

TEST_CASE("index_gather: reads what is there, in all forms") {
  const auto job = GENERATE(from_range(all_jobs(small)));
  CAPTURE(job.pes, job.workers, job.hops);
  constexpr std::uint64_t table = 300, reads = 5'000;
  pgas::run(job, [&](pgas::pe& me) {
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
    pgas::array<std::int64_t> dealt(me, mine * static_cast<std::uint64_t>(me.count()));
    std::ranges::copy(*entries, dealt.local().begin());
    std::vector<std::int64_t> by_nature(places.size());
    apps::natural::index_gather(dealt, apps::indices_of(places, me.count()), by_nature);
    for (std::size_t i = 0; i < places.size(); ++i) {
      expect((*by_lambda)[i] == entry(places[i].global(me.count())));
      expect((*by_class)[i] == entry(places[i].global(me.count())));
      expect(by_nature[i] == entry(places[i].global(me.count())));
    }
  });
}

TEST_CASE("triangle: counts what the serial oracle counts, in all forms, on random and skewed graphs") {
  const auto g = GENERATE(graph::erdos_renyi::with_lower_row_mean(300, 10, 1).whole(),
                          graph::rmat({.scale = 8, .edge_factor = 8}, 2).whole(),
                          graph::by_degree(graph::rmat({.scale = 8, .edge_factor = 8}, 3).whole()));
  const answer wanted{graph::count_triangles_serial(g), graph::wedges(g)};
  REQUIRE(wanted.triangles > 100);
  for (const int pes : {1, 2, 3, 7, 64}) {
    for (const int workers : {1, 3}) {
      for (const int hops : {1, 2}) {
        for (const auto& [form, how] : ways) {
          CAPTURE(pes, workers, hops, form, how);
          CHECK(count(g, tiny(pes, workers, hops), form, how) == wanted);
        }
      }
    }
  }
  for (const auto& [form, how] : ways) CHECK(count(g, small(1000, 2), form, how) == wanted);
}

TEST_CASE("triangle: products of stars have the number that is known") {
  const auto* const text = GENERATE("1:3x4x5", "2:3x4x5", "0:3x4x5", "1:2x2x2x2", "2:9", "1:16x3");
  const auto stars = graph::star_product::parse(text);
  const auto g = stars.whole();
  for (const int pes : {1, 5}) {
    for (const auto& [form, how] : ways) {
      CAPTURE(text, pes, form, how);
      CHECK(count(g, tiny(pes, 2), form, how) == answer{stars.triangles(), graph::wedges(g)});
    }
  }
}

TEST_CASE("triangle: graphs without triangles, edges or vertices, and fewer vertices than PEs") {
  const std::vector<graph::edge> square{{0, 1}, {1, 2}, {2, 3}, {3, 0}}, triangle{{0, 1}, {1, 2}, {2, 0}};
  for (const auto& [form, how] : ways) {
    CHECK(count(graph::graph(), tiny(3, 2), form, how) == answer{});
    CHECK(count(graph::graph::from_edges(5, {}), tiny(3, 2), form, how) == answer{});
    CHECK(count(graph::graph::from_edges(4, square), tiny(7, 2), form, how).triangles == 0);
    CHECK(count(graph::graph::from_edges(3, triangle), tiny(7, 2), form, how) == answer{1, 1});
  }
}

TEST_CASE("triangle: a row longer than a train is asked for in pieces") {
  constexpr std::uint64_t n = 1'000;
  const auto g = complete(n);
  for (const auto form : {apps::form::lambda, apps::form::class_}) {
    CHECK(count(g, tiny(3, 2), form, apps::ask_by::row) ==
          answer{n * (n - 1) * (n - 2) / 6, n * (n - 1) * (n - 2) / 6});
  }
}

TEST_CASE("triangle: asks by rows where a row has enough columns below each one, whatever the number of PEs") {
  // Of n vertices that all know each other, a column has n / 3 below it on average.
  const std::uint64_t enough = 3 * apps::columns_that_pay;
  for (const int pes : {1, 2, 3, 7}) {
    pgas::run(tiny(pes, 2), [&](pgas::pe& me) {
      const auto better = [&me](const graph::graph& g) {
        return apps::better_for(me, apps::deal(g, me.index(), me.count()));
      };
      expect(better(complete(enough)) == apps::ask_by::row);
      expect(better(complete(enough - 1)) == apps::ask_by::wedge);
      expect(better(complete(3)) == apps::ask_by::wedge);
    });
  }
}

TEST_CASE("triangle: by rows, a message carries many wedges") {
  const auto g = complete(60);
  std::uint64_t messages[2];
  for (const auto how : {apps::ask_by::wedge, apps::ask_by::row}) {
    pgas::run(small(2, 2), [&](pgas::pe& me) {
      pgas::symmetric<apps::rows> lower(me, apps::deal(g, me.index(), me.count()));
      const auto before = me.traffic();
      static_cast<void>(apps::count_triangles(me, lower, apps::form::lambda, how, [](std::uint32_t) {}));
      const auto sent = (me.traffic() - before).messages;
      if (me.index() == 0) messages[static_cast<int>(how)] = sent;
    });
  }
  CHECK(messages[0] == 60 * 59 * 58 / 6);
  CHECK(messages[1] == 59 * 58 / 2);
}
