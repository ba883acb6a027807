#include <shunt/graph/generate.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <shunt/base/error.hpp>
#include <string>
#include <vector>

using namespace shunt::graph;

namespace {

/// One number that any other graph is unlikely to have (FNV-1a over offsets and columns).
std::uint64_t fingerprint(const graph& g) {
  std::uint64_t h = 0xcbf29ce484222325U;
  const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0x100000001b3U; };
  for (const auto x : g.offsets()) mix(x);
  for (const auto x : g.columns()) mix(x);
  return h;
}

template <class Generator>
void check_rows_in_pieces(const Generator& generator) {
  const graph whole = generator.whole();
  const vertex pieces = GENERATE(1U, 2U, 3U, 7U);
  for (vertex i = 0; i < pieces; ++i) {
    const auto bound = [&](vertex k) { return static_cast<vertex>(std::uint64_t{generator.vertices()} * k / pieces); };
    const row_block rows = generator.rows(bound(i), bound(i + 1));
    REQUIRE(rows.first == bound(i));
    REQUIRE(rows.count() == bound(i + 1) - bound(i));
    for (vertex v = bound(i); v < bound(i + 1); ++v) {
      REQUIRE(std::ranges::equal(rows.row(v), whole.row(v)));
    }
  }
  std::vector<vertex> columns;  // one row at a time, the last one first
  for (vertex v = generator.vertices(); v-- > 0;) {
    columns.clear();
    generator.append_row(v, columns);
    REQUIRE(std::ranges::equal(columns, whole.row(v)));
  }
}

/// The definition, entry by entry: are v and u neighbours in the product?
bool neighbours(const std::vector<std::uint64_t>& leaves, star_product::loop loops, std::uint64_t v, std::uint64_t u) {
  for (std::size_t i = leaves.size(); i-- > 0;) {
    const std::uint64_t m = leaves[i];
    const std::uint64_t a = v % (m + 1);
    const std::uint64_t b = u % (m + 1);
    v /= m + 1;
    u /= m + 1;
    const bool loop = a == b && ((loops == star_product::loop::centre && a == 0) ||
                                 (loops == star_product::loop::last_leaf && a == m));
    if (!loop && (a == 0) == (b == 0)) return false;
  }
  return true;
}

}  // namespace

// --- Erdos-Renyi ---

TEST_CASE("erdos_renyi: rows made in pieces, by any number of makers, are the rows of the whole") {
  check_rows_in_pieces(erdos_renyi::with_lower_row_mean(301, 8, 42));
}

TEST_CASE("erdos_renyi: p = 0 gives no edge, p = 1 every edge, whatever the seed") {
  const std::uint64_t n = GENERATE(0U, 1U, 2U, 3U, 50U);
  CHECK(erdos_renyi(n, 0, 7).whole().edges() == 0);
  CHECK(erdos_renyi(n, 1, 7).whole().edges() == n * (n - (n == 0 ? 0 : 1)) / 2);
  CHECK(erdos_renyi(n, 1e-300, 7).whole().edges() == 0);
  CHECK(erdos_renyi(n, std::numeric_limits<double>::denorm_min(), 7).whole().edges() == 0);
  CHECK(erdos_renyi(n, 1 - 0x1p-53, 7).whole().edges() == erdos_renyi(n, 1, 7).whole().edges());
}

TEST_CASE("erdos_renyi: the number of edges is within five deviations of its mean") {
  const double p = GENERATE(0.0001, 0.003, 0.1, 0.24, 0.26, 0.5, 0.9, 0.999);
  const auto seed = GENERATE(1U, 2U, 3U);
  const double pairs = 2000.0 * 1999 / 2;
  const auto edges = static_cast<double>(erdos_renyi(2000, p, seed).whole().edges());
  CHECK(std::abs(edges - pairs * p) < 5 * std::sqrt(pairs * p * (1 - p)));
}

TEST_CASE("erdos_renyi: every pair of vertices is an edge equally often") {
  constexpr vertex n = 8;
  constexpr unsigned graphs = 20'000;
  const double p = GENERATE(0.07, 0.4, 0.8);
  std::vector<unsigned> seen(n * n);
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const graph g = erdos_renyi(n, p, seed).whole();
    for (vertex v = 0; v < n; ++v) {
      for (const vertex u : g.row(v)) ++seen[v * n + u];
    }
  }
  const double deviation = std::sqrt(graphs * p * (1 - p));
  for (vertex v = 0; v < n; ++v) {
    for (vertex u = 0; u < v; ++u) CHECK(std::abs(seen[v * n + u] - graphs * p) < 5 * deviation);
  }
}

TEST_CASE("erdos_renyi: edges are independent: two occur together as often as they should") {
  constexpr unsigned graphs = 40'000;
  constexpr double p = 0.3;
  // In one row, next to each other and apart, and in two rows.
  unsigned together[3] = {};
  for (unsigned seed = 0; seed < graphs; ++seed) {
    const graph g = erdos_renyi(5, p, seed).whole();
    const auto has = [&](vertex v, vertex u) { return std::ranges::count(g.row(v), u) != 0; };
    together[0] += has(4, 0) && has(4, 1);
    together[1] += has(4, 0) && has(4, 3);
    together[2] += has(4, 2) && has(3, 2);
  }
  for (const unsigned n : together) {
    CHECK(std::abs(n - graphs * p * p) < 5 * std::sqrt(graphs * p * p * (1 - p * p)));
  }
}

TEST_CASE("erdos_renyi: a row mean is the mean degree, a lower row mean is half of it") {
  const auto by_degree = erdos_renyi::with_row_mean(10'000, 70, 1);
  const auto by_row = erdos_renyi::with_lower_row_mean(10'000, 35, 1);
  CHECK(by_degree.p() == by_row.p());
  CHECK(by_degree.p() == Approx(70.0 / 9'999));
  const graph g = by_row.whole();
  CHECK(static_cast<double>(g.edges()) == Approx(350'000).epsilon(0.01));
  CHECK(erdos_renyi::with_row_mean(1, 0, 1).whole().edges() == 0);
  CHECK(erdos_renyi::with_row_mean(0, 0, 1).whole().vertices() == 0);
  CHECK(erdos_renyi::with_row_mean(9, 8, 1).whole().edges() == 36);
}

TEST_CASE("erdos_renyi: another seed gives another graph, the same seed the same") {
  CHECK(erdos_renyi(100, 0.1, 5).whole() == erdos_renyi(100, 0.1, 5).whole());
  CHECK_FALSE(erdos_renyi(100, 0.1, 5).whole() == erdos_renyi(100, 0.1, 6).whole());
}

TEST_CASE("erdos_renyi: what cannot be is an error") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(erdos_renyi(10, -0.1, 0), shunt::usage_error);
  CHECK_THROWS_WITH(erdos_renyi(10, 1.5, 0), "erdos_renyi: 1.5 is not a probability, expected 0..1 [SHUNT-1009]");
  CHECK_THROWS_AS(erdos_renyi(10, nan, 0), shunt::usage_error);
  CHECK_THROWS_WITH(erdos_renyi(max_vertices + 1, 0, 0),
                    "erdos_renyi: 4294967296 vertices, at most 4294967295 fit [SHUNT-1008]");
  CHECK_THROWS_WITH(erdos_renyi::with_row_mean(10, 9.5, 0),
                    "erdos_renyi: a mean of 9.5 neighbours, expected 0..9 for 10 vertices [SHUNT-1010]");
  CHECK_THROWS_WITH(erdos_renyi::with_lower_row_mean(10, 5, 0),
                    "erdos_renyi: a mean of 5 lower neighbours, expected 0..4.5 for 10 vertices [SHUNT-1010]");
  CHECK_THROWS_AS(erdos_renyi::with_row_mean(0, 1, 0), shunt::usage_error);
  CHECK_THROWS_AS(erdos_renyi::with_row_mean(10, nan, 0), shunt::usage_error);
  CHECK_THROWS_WITH(erdos_renyi(10, 0.5, 0).rows(3, 11), "graph: rows 3 up to 11 of a graph with 10 [SHUNT-1007]");
  CHECK_THROWS_AS(erdos_renyi(10, 0.5, 0).rows(3, 2), shunt::usage_error);
}

TEST_CASE("generators: a seed gives this very graph, on every machine and with every compiler") {
  CHECK(fingerprint(erdos_renyi::with_lower_row_mean(5'000, 35, 1).whole()) == 0x72370556432ca49cU);
  CHECK(fingerprint(erdos_renyi(500, 0.9, 2).whole()) == 0xd9ad44fd2c2c0083U);
  CHECK(fingerprint(rmat({.scale = 12}, 1).whole()) == 0x40781c31bec98b10U);
}

// --- random matrices ---

TEST_CASE("random_matrix: every place is taken equally often, of rectangular matrices too") {
  constexpr vertex rows = 5, columns = 9;
  constexpr unsigned matrices = 20'000;
  const double p = GENERATE(0.07, 0.4, 0.8);
  std::vector<unsigned> seen(rows * columns);
  for (unsigned seed = 0; seed < matrices; ++seed) {
    const random_matrix m(rows, columns, p * columns, seed);
    for (vertex r = 0; r < rows; ++r) {
      std::vector<vertex> row;
      m.append_row(r, row);
      CHECK(std::ranges::adjacent_find(row, std::greater_equal<>()) == row.end());
      for (const vertex c : row) ++seen.at(r * columns + c);
    }
  }
  for (const unsigned n : seen) CHECK(std::abs(n - matrices * p) < 5 * std::sqrt(matrices * p * (1 - p)));
}

TEST_CASE("random_matrix: no non-zeros, all of them, and what cannot be") {
  const auto row_of = [](const random_matrix& m) {
    std::vector<vertex> row;
    m.append_row(0, row);
    return row;
  };
  CHECK(row_of({3, 7, 0, 1}).empty());
  CHECK(row_of({3, 0, 0, 1}).empty());
  CHECK(row_of({3, 7, 7, 1}).size() == 7);
  CHECK(row_of({3, 1000, 30, 1}) == row_of({5, 1000, 30, 1}));
  CHECK_FALSE(row_of({3, 1000, 30, 1}) == row_of({3, 1000, 30, 2}));
  CHECK_THROWS_WITH(random_matrix(3, 7, 7.5, 1),
                    "a mean of 7.5 non-zeros a row, expected 0..7 for 7 columns [SHUNT-1012]");
  CHECK_THROWS_AS(random_matrix(3, 7, std::numeric_limits<double>::quiet_NaN(), 1), shunt::usage_error);
  CHECK_THROWS_WITH(random_matrix(1, max_vertices + 1, 1, 1),
                    "a matrix of 1 x 4294967296, at most 4294967295 rows and columns fit [SHUNT-1011]");
}

// --- R-MAT ---

TEST_CASE("rmat: entries drawn in pieces are the entries of the whole") {
  const rmat generator({.scale = 9, .edge_factor = 8}, 3);
  std::vector<edge> all;
  for (std::uint64_t first = 0; first < generator.entries(); first += 1000) {
    const auto part = generator.edges(first, std::min(first + 1000, generator.entries()));
    all.insert(all.end(), part.begin(), part.end());
  }
  CHECK(all.size() == 8 * 512);
  CHECK(all == generator.edges(0, generator.entries()));
  const graph g = graph::from_edges(generator.vertices(), all);
  CHECK(g == generator.whole());
  CHECK(g.edges() + g.cleaned().self_loops + g.cleaned().duplicates == generator.entries());
}

TEST_CASE("rmat: scrambling is a bijection: the same graph under other numbers") {
  const unsigned scale = GENERATE(0U, 1U, 2U, 3U, 7U, 10U);
  const auto seed = GENERATE(1U, 2U, 3U);
  const graph plain = rmat({.scale = scale, .scramble = false}, seed).whole();
  const graph scrambled = rmat({.scale = scale}, seed).whole();
  auto a = degrees(plain);
  auto b = degrees(scrambled);
  if (scale >= 7) CHECK(a != b);
  std::ranges::sort(a);
  std::ranges::sort(b);
  CHECK(a == b);
  CHECK(plain.cleaned() == scrambled.cleaned());
  CHECK(count_triangles_serial(plain) == count_triangles_serial(scrambled));
}

TEST_CASE("rmat: the quadrants of each level are drawn as often as the parameters say") {
  const unsigned level = GENERATE(0U, 3U, 4U, 9U);
  const rmat generator({.scale = 10, .edge_factor = 100, .scramble = false}, 8);
  double seen[4] = {};
  for (const edge& e : generator.edges(0, generator.entries())) {
    const unsigned bit = 9 - level;
    ++seen[(e.a >> bit & 1) * 2 + (e.b >> bit & 1)];
  }
  const double expected[4] = {0.57, 0.19, 0.19, 0.05};
  const auto n = static_cast<double>(generator.entries());
  for (int q = 0; q < 4; ++q) {
    CHECK(std::abs(seen[q] - n * expected[q]) < 5 * std::sqrt(n * expected[q] * (1 - expected[q])));
  }
}

TEST_CASE("rmat: probabilities of 0 and 1 are obeyed exactly") {
  const auto corner = [](double a, double b, double c) {
    return rmat({.scale = 5, .a = a, .b = b, .c = c, .scramble = false}, 1).entry(7);
  };
  CHECK(corner(1, 0, 0) == edge{0, 0});
  CHECK(corner(0, 1, 0) == edge{0, 31});
  CHECK(corner(0, 0, 1) == edge{31, 0});
  CHECK(corner(0, 0, 0) == edge{31, 31});
  CHECK_NOTHROW(rmat({.scale = 5, .a = 0.5, .b = 0.3, .c = 0.2}, 1).whole());
}

TEST_CASE("rmat: what cannot be is an error") {
  CHECK_THROWS_WITH(rmat({.scale = 32}, 0), "rmat: scale 32, expected 0..31 [SHUNT-1013]");
  CHECK_THROWS_AS(rmat({.edge_factor = 1U << 21}, 0), shunt::usage_error);
  CHECK_THROWS_WITH(rmat({.a = 0.5, .b = 0.5, .c = 0.25}, 0),
                    "rmat: probabilities 0.5, 0.5, 0.25, expected none below 0 and a sum of "
                    "at most 1 [SHUNT-1013]");
  CHECK_THROWS_AS(rmat({.a = -0.1}, 0), shunt::usage_error);
  CHECK_THROWS_AS(rmat({.a = std::numeric_limits<double>::quiet_NaN()}, 0), shunt::usage_error);
  CHECK_THROWS_AS(rmat({.scale = 2}, 0).edges(0, 65), shunt::usage_error);
  CHECK(rmat({.scale = 2, .edge_factor = 0}, 0).whole().edges() == 0);
}

// --- products of stars ---

TEST_CASE("star_product: rows made in pieces are the rows of the whole") {
  check_rows_in_pieces(star_product::parse("1:3x4x5"));
}

TEST_CASE("star_product: two vertices are neighbours when all their digits are") {
  using leaves = std::vector<std::uint64_t>;
  const auto m = GENERATE(leaves{1}, leaves{4}, leaves{1, 1}, leaves{2, 1}, leaves{3, 4}, leaves{1, 1, 1, 1, 1},
                          leaves{2, 3, 2}, leaves{5, 1, 4});
  const auto loops = GENERATE(star_product::loop::none, star_product::loop::centre, star_product::loop::last_leaf);
  const star_product generator(m, loops);
  const graph g = generator.whole();
  std::vector<edge> expected;
  for (vertex v = 0; v < generator.vertices(); ++v) {
    for (vertex u = 0; u < v; ++u) {
      if (neighbours(m, loops, v, u)) expected.push_back({v, u});
    }
  }
  CHECK(g == graph::from_edges(generator.vertices(), expected));
  CHECK(generator.edges() == g.edges());
  CHECK(generator.triangles() == count_triangles_serial(g));
}

TEST_CASE("star_product: published triangle counts are met") {
  const auto [spec, triangles] = GENERATE(table<const char*, std::uint64_t>({{"1:3x4x5", 287},
                                                                             {"1:2x11x13", 1335},
                                                                             {"1:3x4x5x9", 9107},
                                                                             {"2:3x4x5", 7},
                                                                             {"2:3x4x5x9", 35},
                                                                             {"0:3x4x5", 0},
                                                                             {"0:3x4x5x9", 0}}));
  const auto generator = star_product::parse(spec);
  CHECK(generator.triangles() == triangles);
  CHECK(count_triangles_serial(generator.whole()) == triangles);
  CHECK(count_triangles_serial(by_degree(generator.whole())) == triangles);
}

TEST_CASE("star_product: the largest products neither wrap nor need to be made") {
  const std::vector<std::uint64_t> ones(31, 1);  // 2^31 vertices
  const star_product most_stars(ones, star_product::loop::centre);
  CHECK(most_stars.vertices() == vertex{1} << 31);
  const std::uint64_t two_to_31 = std::uint64_t{1} << 31;
  CHECK(most_stars.triangles() == (two_to_31 * two_to_31 - 3 * two_to_31 + 2) / 6);
  std::vector<vertex> row;
  most_stars.append_row((vertex{1} << 31) - 1, row);  // all leaves: its one neighbour is 0
  CHECK(row == std::vector<vertex>{0});
  const star_product one_star({max_vertices - 1}, star_product::loop::last_leaf);
  CHECK(one_star.vertices() == max_vertices);
  CHECK(one_star.edges() == max_vertices - 1);
  row.clear();
  one_star.append_row(max_vertices - 1, row);
  CHECK(row == std::vector<vertex>{0});
}

TEST_CASE("star_product: a text that is not a list of stars is an error that shows what is") {
  const auto* const text = GENERATE("", "x", "3x", "x3", "3x4x", "3xx4", "3,4", "0x3", "3x0", "3:3x4", "1:", "-1", "+3",
                                    " 3x4", "3x4 ", "3x4x5!", "99999999999999999999", "1:1:3", "0x3\n", "1;3x4");
  CHECK_THROWS_AS(star_product::parse(text), shunt::usage_error);
  CHECK_THROWS_WITH(star_product::parse(text), Catch::Contains("expected leaves such as 3x4x5"));
}

TEST_CASE("star_product: the loop that the product leaves out is counted") {
  CHECK(star_product::parse("0:3x4").whole().cleaned() == dropped{0, 0});
  CHECK(star_product::parse("1:3x4").whole().cleaned() == dropped{1, 0});
  CHECK(star_product::parse("2:3x4").whole().cleaned() == dropped{1, 0});
}

TEST_CASE("star_product: the loops in a text win over those beside it") {
  CHECK(star_product::parse("3x4x5", star_product::loop::centre).triangles() == 287);
  CHECK(star_product::parse("2:3x4x5", star_product::loop::centre).triangles() == 7);
  CHECK(star_product::parse("3x4x5").triangles() == 0);
}

TEST_CASE("star_product: too many vertices, no stars, no leaves are errors") {
  using loop = star_product::loop;
  CHECK_THROWS_WITH(star_product({65535, 65535}, loop::none),
                    "star_product: more than 4294967295 vertices, the most that fit [SHUNT-1014]");
  CHECK_THROWS_AS(star_product({std::numeric_limits<std::uint64_t>::max()}, loop::none), shunt::usage_error);
  CHECK_THROWS_AS(star_product(std::vector<std::uint64_t>(64, 1), loop::none), shunt::usage_error);
  CHECK_THROWS_AS(star_product({}, loop::none), shunt::usage_error);
  CHECK_THROWS_AS(star_product({3, 0}, loop::none), shunt::usage_error);
  CHECK_THROWS_AS(star_product::parse("3x4").rows(0, 21), shunt::usage_error);
}
