#include <shunt/pgas/containers/sparse_matrix.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace pgas = shunt::pgas;
using namespace shunt::testing;

namespace {

using serial_matrix = std::map<std::pair<std::uint64_t, std::uint64_t>, long>;
struct triplet {
  std::uint64_t i, j;
  long value;
};

/// Entries of a matrix, some of them twice; half of the columns have none.
std::vector<triplet> triplets_of(std::uint64_t seed, std::uint64_t count, std::uint64_t rows, std::uint64_t columns) {
  const shunt::counter_random random(seed);
  std::vector<triplet> all;
  for (std::uint64_t n = 0; n != count; ++n) {
    all.push_back({random.below(3 * n, rows), random.below(3 * n + 1, (columns + 1) / 2) * 2 % columns,
                   static_cast<long>(random.below(3 * n + 2, 9)) - 4});
  }
  return all;
}
serial_matrix serial(const std::vector<triplet>& triplets) {
  serial_matrix m;
  for (const auto& [i, j, value] : triplets) m[{i, j}] += value;
  return m;
}

/// Each PE adds every so many of them.
void add_all(pgas::pe& me, pgas::sparse_matrix<long>& a, const std::vector<triplet>& triplets) {
  pgas::superstep(me, [&] {
    for (auto k = static_cast<std::size_t>(me.index()); k < triplets.size();
         k += static_cast<std::size_t>(me.count())) {
      a.add(triplets[k].i, triplets[k].j, triplets[k].value);
    }
  });
}

void expect_entries(pgas::pe& me, pgas::sparse_matrix<long>& a, const serial_matrix& wanted) {
  std::uint64_t seen = 0;
  a.each_entry([&](std::uint64_t i, std::uint64_t j, long value) {
    expect(wanted.at({i, j}) == value, std::to_string(i) + ", " + std::to_string(j));
    expect(i % static_cast<std::uint64_t>(me.count()) == static_cast<std::uint64_t>(me.index()));
    ++seen;
  });
  expect(me.sum(seen) == wanted.size());
  expect(a.entries() == wanted.size());
}

constexpr std::uint64_t rows = 37, columns = 23, wide = 51;

}  // namespace

TEST_CASE("sparse_matrix: entries are added, superstep after superstep, on any number of PEs") {
  const auto first = triplets_of(1, 200, rows, columns), second = triplets_of(2, 100, rows, columns);
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [&](pgas::pe& me) {
      pgas::sparse_matrix<long> a(me, rows, columns);
      expect(a.rows() == rows && a.columns() == columns);
      expect_entries(me, a, {});
      add_all(me, a, first);
      expect_entries(me, a, serial(first));
      add_all(me, a, second);
      expect_entries(me, a, serial(both));
      for (std::size_t spot = 0; spot != a.local_rows(); ++spot) {
        const auto [where, values] = a.row(spot);
        expect(where.size() == values.size());
        for (std::size_t k = 1; k < where.size(); ++k) expect(where[k - 1] < where[k]);
        for (long& value : values) value = 0;
      }
      a.each_entry([](std::uint64_t, std::uint64_t, long value) { expect(value == 0); });
    });
  }
}

TEST_CASE("sparse_matrix: times a vector, times a matrix, on any number of PEs") {
  const auto of_a = triplets_of(3, 150, rows, columns), of_b = triplets_of(4, 250, columns, wide);
  std::vector<long> y(rows);
  for (const auto& [at, value] : serial(of_a)) y[at.first] += value * static_cast<long>(at.second + 2);
  serial_matrix product;
  for (const auto& [a_at, a] : serial(of_a)) {
    for (const auto& [b_at, b] : serial(of_b)) {
      if (a_at.second == b_at.first) product[{a_at.first, b_at.second}] += a * b;
    }
  }
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [&](pgas::pe& me) {
      pgas::sparse_matrix<long> a(me, rows, columns), b(me, columns, wide), c(me, rows, wide);
      add_all(me, a, of_a);
      add_all(me, b, of_b);
      pgas::array<long> x(me, columns), found(me, rows, 77);
      for (auto [i, value] : x.own()) value = static_cast<long>(i + 2);
      me.barrier();
      a.multiply(x, found);
      for (auto [i, value] : found.own()) expect(value == y[i], std::to_string(i));
      pgas::superstep(me, [&] {  // a faster PE's changes of the result are not lost
        for (int i = 0; i != 300; ++i) ++found[(i + me.index()) % rows];
      });
      expect(found.sum() == std::accumulate(y.begin(), y.end(), 300L * me.count()));
      a.multiply(b, c);
      expect_entries(me, c, product);
    });
  }
}

TEST_CASE("sparse_matrix: transposed and permuted, on any number of PEs") {
  const auto of_a = triplets_of(5, 180, rows, columns);
  serial_matrix turned, moved;
  for (const auto& [at, value] : serial(of_a)) {
    turned[{at.second, at.first}] = value;
    moved[{at.first * 5 % rows, (at.second + 3) % columns}] = value;
  }
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [&](pgas::pe& me) {
      pgas::sparse_matrix<long> a(me, rows, columns), t(me, columns, rows), p(me, rows, columns);
      pgas::array<std::uint64_t> rows_to(me, rows), columns_to(me, columns);
      for (auto [i, to] : rows_to.own()) to = i * 5 % rows;
      for (auto [j, to] : columns_to.own()) to = (j + 3) % columns;
      add_all(me, a, of_a);
      a.transpose(t);
      expect_entries(me, t, turned);
      a.permute(rows_to, columns_to, p);
      expect_entries(me, p, moved);
      expect_entries(me, a, serial(of_a));
    });
  }
}

TEST_CASE("sparse_matrix: what does not fit is refused, with the line") {
  using Catch::Contains;
  const auto failure_of = [](const std::function<void(pgas::pe&, pgas::sparse_matrix<long>&)>& program) {
    return thrown_by([&] {
      pgas::run(small(2, 1), [&](pgas::pe& me) {
        pgas::sparse_matrix<long> a(me, 5, 7);
        program(me, a);
      });
    });
  };
  CHECK_THAT(failure_of([](pgas::pe&, pgas::sparse_matrix<long>& a) { a.add(1, 2, 3); }),
             Contains("outside of a superstep") && Contains("sparse_matrix.test.cpp"));
  CHECK_THAT(
      failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) { pgas::superstep(me, [&] { a.add(5, 0, 1); }); }),
      Contains("element 5 of 5, 0 the first"));
  CHECK_THAT(
      failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) { pgas::superstep(me, [&] { a.add(0, 7, 1); }); }),
      Contains("element 7 of 7, 0 the first"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) {
               pgas::array<long> x(me, 7), y(me, 7);
               a.multiply(x, y);
             }),
             Contains("multiply() needs a side of 5 and gets one of 7") && Contains("SHUNT-0950"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) {
               pgas::sparse_matrix<long> b(me, 5, 7), c(me, 5, 7);
               a.multiply(b, c);
             }),
             Contains("multiply() needs a side of 7 and gets one of 5"));
  CHECK_THAT(failure_of([](pgas::pe& me, pgas::sparse_matrix<long>& a) {
               pgas::sparse_matrix<long> b(me, 5, 7);
               a.transpose(b);
             }),
             Contains("transpose() needs a side of 7 and gets one of 5"));
}
