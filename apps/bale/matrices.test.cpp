// Kernels of matrices and permutations in all forms, against serial oracles: one answer, whatever the number of PEs.
#include <support/jobs.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/graph/generate.hpp>

#include "bale/form.hpp"
#include "bale/matrix_job.hpp"
#include "bale/permute_matrix_class.hpp"
#include "bale/permute_matrix_lambda.hpp"
#include "bale/permute_matrix_natural.hpp"
#include "bale/random_permutation_class.hpp"
#include "bale/random_permutation_lambda.hpp"
#include "bale/random_permutation_natural.hpp"
#include "bale/topological_sort_class.hpp"
#include "bale/topological_sort_lambda.hpp"
#include "bale/topological_sort_natural.hpp"
#include "bale/transpose_class.hpp"
#include "bale/transpose_lambda.hpp"
#include "bale/transpose_natural.hpp"
#include "bale/upper_triangle.hpp"

using namespace shunt;
using namespace shunt::testing;
using apps::permutation;
using graph::matrix_entries;

namespace {

apps::matrix deal(const pgas::pe& me, const graph::random_matrix& whole) {
  apps::matrix a(me, whole.rows(), whole.columns());
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    whole.append_row(a.home.global(l), a.columns);
    a.offsets[l + 1] = a.columns.size();
  }
  return a;
}

apps::matrix deal(const pgas::pe& me, const matrix_entries& whole) {
  apps::matrix a(me, static_cast<std::uint32_t>(whole.rows), static_cast<std::uint32_t>(whole.columns));
  for (std::uint32_t l = 0; l < a.count(); ++l) {
    for (const auto& e : whole.entries) {
      if (e.a == a.home.global(l)) a.columns.push_back(e.b);
    }
    a.offsets[l + 1] = a.columns.size();
  }
  return a;
}

permutation deal(const pgas::pe& me, const permutation& whole) {
  permutation mine;
  for (auto i = static_cast<std::size_t>(me.index()); i < whole.size(); i += static_cast<std::size_t>(me.count())) {
    mine.push_back(whole[i]);
  }
  return mine;
}

matrix_entries whole_of(const graph::random_matrix& random) {
  matrix_entries whole{random.rows(), random.columns(), {}};
  for (std::uint32_t r = 0; r < random.rows(); ++r) {
    std::vector<std::uint32_t> columns;
    random.append_row(r, columns);
    for (const auto c : columns) whole.entries.push_back({r, c});
  }
  return whole;
}

/// Row i goes to r[i], column j to c[j].
matrix_entries permuted(matrix_entries whole, const permutation& r, const permutation& c) {
  for (auto& e : whole.entries) e = {r[e.a], c[e.b]};
  apps::sort_entries(whole.entries);
  return whole;
}

matrix_entries transposed(const matrix_entries& whole) {
  matrix_entries t{whole.columns, whole.rows, {}};
  for (const auto& e : whole.entries) t.entries.push_back({e.b, e.a});
  apps::sort_entries(t.entries);
  return t;
}

constexpr apps::form all_forms[] = {apps::form::lambda, apps::form::class_, apps::form::natural};

apps::matrix transpose(pgas::pe& me, const apps::matrix& a, apps::form form) {
  if (form == apps::form::natural) return apps::natural::transpose(me, a);
  if (form == apps::form::lambda) return apps::lambda_form::transpose(me, a);
  return apps::class_form::transpose{{me}, apps::matrix(me, a.width, a.height)}.run(a);
}

apps::matrix permute(pgas::pe& me, const apps::matrix& a, const permutation& r, pgas::symmetric<permutation>& c,
                     apps::form form) {
  if (form == apps::form::natural) {
    pgas::array<std::uint32_t> dealt(me, a.width);
    std::ranges::copy(*c, dealt.local().begin());
    return apps::natural::permute_matrix(me, a, r, dealt);
  }
  if (form == apps::form::lambda) return apps::lambda_form::permute_matrix(me, a, r, c);
  return apps::class_form::permute_matrix{{me}, *c, apps::matrix(me, a.height, a.width)}.run(me, a, r);
}

permutation draw(pgas::pe& me, std::uint64_t total, std::uint64_t seed, apps::form form) {
  if (form == apps::form::natural) return apps::natural::random_permutation(me, total, seed);
  if (form == apps::form::lambda) return apps::lambda_form::random_permutation(me, total, seed);
  return apps::class_form::random_permutation{{me}}.run(me, total, seed);
}

apps::order sort(pgas::pe& me, const apps::matrix& a, apps::form form) {
  pgas::symmetric<apps::matrix> turned(me, apps::lambda_form::transpose(me, a));
  std::uint64_t placed = 0;
  const auto each_level = [&placed](std::uint64_t rows) {
    expect(rows > placed);
    placed = rows;
  };
  auto found = form == apps::form::natural ? apps::natural::topological_sort(me, a, *turned, each_level)
               : form == apps::form::lambda
                   ? apps::lambda_form::topological_sort(me, a, turned, each_level)
                   : apps::class_form::topological_sort{{me}, *turned, apps::rows_left(a), apps::order(a)}.run(
                         me, a, each_level);
  if (found.exists) expect(placed == a.height);
  return found;
}

/// Sorting all keys.
permutation serial_permutation(std::uint64_t total, std::uint64_t seed) {
  permutation p(total);
  std::iota(p.begin(), p.end(), 0u);
  std::sort(p.begin(), p.end(), [seed](std::uint32_t i, std::uint32_t j) {
    return std::pair(apps::random_keys::key(seed, i), i) < std::pair(apps::random_keys::key(seed, j), j);
  });
  return p;
}

bool upper_triangular(const matrix_entries& whole) {
  std::vector<int> diagonal(whole.rows);
  for (const auto& e : whole.entries) {
    if (e.b < e.a) return false;
    if (e.b == e.a) ++diagonal[e.a];
  }
  return std::all_of(diagonal.begin(), diagonal.end(), [](int n) { return n == 1; });
}

bool is_permutation(permutation p) {
  std::sort(p.begin(), p.end());
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] != i) return false;
  }
  return true;
}

void say(const pgas::options& o, apps::form form) {
  UNSCOPED_INFO("PEs " << o.pes << ", workers " << o.workers << ", hops " << o.hops << ", form "
                       << static_cast<int>(form));
}

}  // namespace

TEST_CASE("dealt: is where a division says, and its parts make the whole") {
  std::mt19937_64 numbers(1);
  for (const int pes : {1, 2, 3, 5, 7, 64, 1000, 4096, 65'535, 65'536}) {
    const apps::dealt home(pes / 2, pes);
    std::vector<std::uint64_t> globals{0, 1, 2, 0xffff'ffff, 0xffff'fffe, 1u << 31, (1u << 31) - 1};
    for (int i = 0; i < 1000; ++i) globals.push_back(numbers() >> (32 + i % 32));
    for (std::uint64_t multiple = 1; multiple < 1u << 31; multiple *= 3) {
      globals.push_back(multiple * static_cast<std::uint64_t>(pes) & 0xffff'ffff);
      globals.push_back((multiple * static_cast<std::uint64_t>(pes) - 1) & 0xffff'ffff);
    }
    for (const auto global : globals) {
      const auto wanted = apps::place::of(global, pes);
      const auto found = home.where(static_cast<std::uint32_t>(global));
      REQUIRE(found.pe == wanted.pe);
      REQUIRE(found.spot == wanted.spot);
      if (found.pe == pes / 2) REQUIRE(home.global(found.spot) == global);
    }
    for (const std::uint64_t total : {0ul, 1ul, 63ul, 1000ul, 70'001ul, 0xffff'fffful}) {
      std::uint64_t sum = 0;
      for (int pe = 0; pe < pes; ++pe) sum += apps::dealt(pe, pes).count(total);
      CHECK(sum == total);
    }
  }
}

TEST_CASE("transpose: every non-zero once, in all forms, of square and of rectangular matrices") {
  const graph::random_matrix random =
      GENERATE(graph::random_matrix(150, 150, 6, 1), graph::random_matrix(40, 300, 20, 2),
               graph::random_matrix(300, 11, 2, 3), graph::random_matrix(20, 20, 20, 4),
               graph::random_matrix(9, 9, 0, 5), graph::random_matrix(0, 5, 1, 6), graph::random_matrix(5, 0, 0, 7));
  const auto wanted = transposed(whole_of(random));
  for (const auto& job : all_jobs(small)) {
    for (const auto form : all_forms) {
      matrix_entries found;
      pgas::run(job, [&](pgas::pe& me) {
        const auto t = transpose(me, deal(me, random), form);
        expect(t.offsets.size() == t.count() + std::size_t{1} && t.offsets.back() == t.columns.size());
        auto whole = apps::collect(me, t);
        if (me.index() == 0) found = std::move(whole);
      });
      say(job, form);
      CHECK(found == wanted);
    }
  }
}

TEST_CASE("permute_matrix: row i is row r[i] then, column j column c[j], in all forms") {
  const graph::random_matrix random = GENERATE(
      graph::random_matrix(150, 150, 6, 1), graph::random_matrix(40, 300, 20, 2), graph::random_matrix(300, 11, 2, 3),
      graph::random_matrix(8, 900, 900, 4), graph::random_matrix(9, 9, 0, 5), graph::random_matrix(0, 5, 1, 6));
  // Not an involution: r and its inverse differ.
  const auto steps = [](std::uint32_t n, std::uint32_t by) {
    permutation p(n);
    for (std::uint32_t i = 0; i < n; ++i) p[i] = (i * by + 2) % n;
    return p;
  };
  const permutation r = steps(random.rows(), 7), c = steps(random.columns(), 13);
  REQUIRE(is_permutation(r));
  REQUIRE(is_permutation(c));
  const auto wanted = permuted(whole_of(random), r, c);
  for (const auto& job : all_jobs(small)) {
    for (const auto form : all_forms) {
      matrix_entries found;
      pgas::run(job, [&](pgas::pe& me) {
        const auto a = deal(me, random);
        pgas::symmetric<permutation> columns(me, deal(me, c));
        const auto b = permute(me, a, deal(me, r), columns, form);
        for (const auto name : apps::columns_under(me, a, columns)) expect(name < c.size());
        auto whole = apps::collect(me, b);
        if (me.index() == 0) found = std::move(whole);
      });
      say(job, form);
      CHECK(found == wanted);
    }
  }
}

TEST_CASE("random_permutation: the order of all keys, for any number of PEs, in all forms") {
  const std::uint64_t total = GENERATE(0, 1, 2, 5, 64, 1000, 20'011);
  const auto wanted = serial_permutation(total, 11);
  REQUIRE(is_permutation(wanted));
  for (const auto& job : all_jobs(small)) {
    for (const auto form : all_forms) {
      permutation found;
      pgas::run(job, [&](pgas::pe& me) {
        const auto mine = draw(me, total, 11, form);
        expect(apps::is_permutation(me, mine, total));
        auto whole = apps::collect(me, mine, total);
        if (me.index() == 0) found = std::move(whole);
      });
      say(job, form);
      CHECK(found == wanted);
    }
  }
}

TEST_CASE("random_permutation: each of the 120 orders of 5 is as likely as any other") {
  std::vector<int> times(5 * 5 * 5 * 5 * 5);
  constexpr int seeds = 12'000;
  pgas::run(small(2, 1), [&](pgas::pe& me) {
    for (int seed = 0; seed < seeds; ++seed) {
      const auto whole = apps::collect(me, draw(me, 5, static_cast<std::uint64_t>(seed), all_forms[seed % 3]), 5);
      if (me.index() != 0) continue;
      std::size_t code = 0;
      for (const auto number : whole) code = 5 * code + number;
      ++times[code];
    }
  });
  double chi_square = 0;
  int orders = 0;
  for (const int n : times) {
    if (n == 0) continue;
    ++orders;
    chi_square += (n - seeds / 120.) * (n - seeds / 120.) / (seeds / 120.);
  }
  CHECK(orders == 120);
  // 119 degrees of freedom: mean 119, standard deviation 15.4. The seeds are fixed, and so is this number.
  CHECK(chi_square > 119 - 4 * 15.4);
  CHECK(chi_square < 119 + 4 * 15.4);
}

TEST_CASE("random_keys: what was cut off the keys decides where the rest is equal") {
  pgas::run(small(1, 1), [](pgas::pe& me) {
    const apps::random_keys keys(me, 500, 3);
    std::vector<apps::drawn> mine;
    permutation wanted;
    // Three groups of equal keys, as far as they travel; within a group the full keys of the indices decide.
    for (const std::uint64_t group : {0ul, 77ul, 0xffff'fffful}) {
      const std::size_t first = wanted.size();
      for (std::uint32_t i = 0; i < 100; ++i) {
        const auto index = static_cast<std::uint32_t>((i * 37 + group) % 500);
        mine.push_back(group << 32 | index);
        wanted.push_back(index);
      }
      std::sort(wanted.begin() + static_cast<std::ptrdiff_t>(first), wanted.end(),
                [](auto i, auto j) { return apps::random_keys::key(3, i) < apps::random_keys::key(3, j); });
    }
    std::shuffle(mine.begin(), mine.end(), std::mt19937(5));
    keys.sort(mine);
    for (std::size_t i = 0; i < mine.size(); ++i) expect(static_cast<std::uint32_t>(mine[i]) == wanted[i]);
  });
}

TEST_CASE("topological_sort: makes hidden triangles triangular, in all forms, in as many levels for any PEs") {
  const auto [rows, mean] = GENERATE(std::pair(200u, 6.), std::pair(1u, 1.), std::pair(40u, 20.), std::pair(70u, 1.));
  std::uint64_t levels = 0;
  for (const auto& job : all_jobs(small)) {
    for (const auto form : all_forms) {
      matrix_entries sorted;
      std::uint64_t levels_now = 0;
      pgas::run(job, [&, n = rows, row_mean = mean](pgas::pe& me) {
        const auto a = apps::hidden_triangle(me, n, row_mean, 5);
        auto found = sort(me, a, form);
        expect(found.exists);
        expect(apps::is_permutation(me, found.rows, n));
        expect(apps::is_permutation(me, found.columns, n));
        pgas::symmetric<permutation> columns(me, found.columns);
        auto whole = apps::collect(me, apps::lambda_form::permute_matrix(me, a, found.rows, columns));
        if (me.index() != 0) return;
        sorted = std::move(whole);
        levels_now = found.levels;
      });
      say(job, form);
      CHECK(upper_triangular(sorted));
      if (levels == 0) levels = levels_now;
      CHECK(levels_now == levels);
    }
  }
}

TEST_CASE("topological_sort: a chain has a level for each row, a diagonal one level, an empty matrix none") {
  const auto levels_of = [](const matrix_entries& whole) {
    std::uint64_t levels = 0;
    pgas::run(small(3, 2), [&](pgas::pe& me) {
      const auto a = deal(me, whole);
      for (const auto form : all_forms) {
        const auto found = sort(me, a, form);
        expect(found.exists);
        if (me.index() == 0) levels = found.levels;
      }
    });
    return levels;
  };
  matrix_entries chain{50, 50, {}}, diagonal{50, 50, {}};
  for (std::uint32_t i = 0; i < 50; ++i) {
    diagonal.entries.push_back({i, (7 * i + 3) % 50});
    chain.entries.push_back({i, i});
    if (i > 0) chain.entries.push_back({i, i - 1});
  }
  CHECK(levels_of(chain) == 50);
  CHECK(levels_of(diagonal) == 1);
  CHECK(levels_of({0, 0, {}}) == 0);
}

TEST_CASE("topological_sort: says so where there is no order") {
  const std::vector<std::pair<const char*, matrix_entries>> without{
      {"an empty row", {3, 3, {{0, 0}, {2, 1}, {2, 2}}}},
      {"two rows with one column", {3, 3, {{0, 1}, {1, 1}, {2, 0}, {2, 2}}}},
      {"the same, and a row with that column and two others", {3, 3, {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}}}},
      {"a cycle", {3, 3, {{0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 2}, {2, 0}}}},
      {"a cycle behind a row that can be placed", {3, 3, {{0, 0}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}}},
      {"a row that loses its last two columns at once", {3, 3, {{0, 0}, {1, 1}, {2, 0}, {2, 1}}}},
      {"the same, and column 0 is free", {4, 4, {{0, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 3}}}},
      {"no entries", {2, 2, {}}},
  };
  for (const auto& [what, whole] : without) {
    for (const int pes : {1, 2, 3, 7}) {
      for (const auto form : all_forms) {
        bool exists = true;
        pgas::run(small(pes, 2), [&, &all = whole](pgas::pe& me) {
          const auto found = sort(me, deal(me, all), form);
          if (me.index() == 0) exists = found.exists;
        });
        CAPTURE(what, pes, form);
        CHECK_FALSE(exists);
      }
    }
  }
}
