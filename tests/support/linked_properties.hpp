/// Disjoint sets and sparse matrices, against serial ones. Called as the properties of keyed_properties.hpp are, on
/// threads and between processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas/containers.hpp>

#include <support/expect.hpp>
#include <support/jobs.hpp>

namespace shunt::testing {

using pair_of_elements = std::pair<std::uint64_t, std::uint64_t>;

/// Unions of pairs, every so many of them by each PE, in two supersteps: the labels and the number of sets.
class disjoint_sets_as_serial {
 public:
  disjoint_sets_as_serial(std::uint64_t size, std::vector<pair_of_elements> pairs)
      : size_(size), pairs_(std::move(pairs)), labels_(size) {
    std::iota(labels_.begin(), labels_.end(), std::uint64_t{0});
    const auto root = [&](std::uint64_t a) {
      while (labels_[a] != a) a = labels_[a];
      return a;
    };
    for (const auto& [a, b] : pairs_) {
      const auto one = root(a), other = root(b);
      labels_[std::max(one, other)] = std::min(one, other);
    }
    for (std::uint64_t a = 0; a != size; ++a) labels_[a] = root(a);
    for (std::uint64_t a = 0; a != size; ++a) sets_ += labels_[a] == a ? 1 : 0;
  }
  void operator()(pgas::pe& me) const {
    pgas::disjoint_sets found(me, size_);
    expect(found.count() == size_);
    for (std::size_t half = 0; half != 2; ++half) {
      pgas::superstep(me, [&] {
        for (auto k = static_cast<std::size_t>(me.index()); k < pairs_.size();
             k += static_cast<std::size_t>(me.count())) {
          if (k % 2 == half) found.unite(pairs_[k].first, pairs_[k].second);
        }
      });
      if (half == 0) found.flatten();
    }
    expect(found.count() == sets_);
    found.flatten();
    for (const auto& [element, label] : found.own()) expect(label == labels_[element], std::to_string(element));
    expect(found.count() == sets_);
  }

 private:
  std::uint64_t size_;
  std::vector<pair_of_elements> pairs_;
  std::vector<std::uint64_t> labels_;  // the least element of each one's set
  std::uint64_t sets_ = 0;
};

inline disjoint_sets_as_serial random_unions() {
  std::vector<pair_of_elements> pairs;
  const counter_random random(11);
  for (std::uint64_t i = 0; i != 350; ++i) pairs.emplace_back(random.below(2 * i, 500), random.below(2 * i + 1, 500));
  return {500, std::move(pairs)};
}
/// Paths, a ring, a star, a few, and nothing.
inline std::vector<disjoint_sets_as_serial> shaped_unions() {
  constexpr std::uint64_t size = 400;
  std::vector<pair_of_elements> path, backwards, ring, star, scattered;
  for (std::uint64_t a = 1; a != size; ++a) {
    path.emplace_back(a - 1, a);
    backwards.emplace_back(size - a, size - a - 1);
    star.emplace_back(size - 1, a - 1);
    scattered.emplace_back((a - 1) * 149 % size, a * 149 % size);
  }
  ring = path;
  ring.emplace_back(size - 1, 0);
  std::vector<disjoint_sets_as_serial> all;
  for (auto& pairs : {path, backwards, ring, star, scattered}) all.emplace_back(size, pairs);
  all.emplace_back(size, std::vector<pair_of_elements>{{3, 3}, {5, 9}, {9, 5}});
  all.emplace_back(0, std::vector<pair_of_elements>());
  return all;
}

/// Labels are read while faster PEs unite more.
inline void unites_by_and_by(pgas::pe& me) {
  constexpr std::uint64_t size = 1024;
  pgas::disjoint_sets sets(me, size);
  for (std::uint64_t step = 1; step != size; step *= 2) {
    pgas::superstep(me, [&] {
      for (std::uint64_t a = 0; a + step < size; a += 2 * step) sets.unite(a + step, a);
    });
    sets.flatten();
    for (const auto& [element, label] : sets.own()) expect(label == element / (2 * step) * (2 * step));
  }
}

constexpr std::uint64_t matrix_rows = 37, matrix_columns = 23, wide_columns = 51;

/// What a matrix has, by row and column.
using serial_matrix = std::map<std::pair<std::uint64_t, std::uint64_t>, long>;
struct matrix_entry {
  std::uint64_t i, j;
  long value;
};

/// Entries of a matrix, some of them twice; half of the columns have none, and one row has a quarter of all.
inline std::vector<matrix_entry> entries_of(std::uint64_t seed, std::uint64_t count, std::uint64_t rows,
                                            std::uint64_t columns) {
  const counter_random random(seed);
  std::vector<matrix_entry> all;
  for (std::uint64_t n = 0; n != count; ++n) {
    all.push_back({n % 4 == 0 ? 3 : random.below(3 * n, rows), random.below(3 * n + 1, (columns + 1) / 2) * 2 % columns,
                   static_cast<long>(random.below(3 * n + 2, 9)) - 4});
  }
  return all;
}
inline serial_matrix serial_of(const std::vector<matrix_entry>& entries) {
  serial_matrix m;
  for (const auto& [i, j, value] : entries) m[{i, j}] += value;
  return m;
}

/// Each PE adds every so many of them.
inline void add_all(pgas::pe& me, pgas::sparse_matrix<long>& a, const std::vector<matrix_entry>& entries) {
  pgas::superstep(me, [&] {
    for (auto k = static_cast<std::size_t>(me.index()); k < entries.size(); k += static_cast<std::size_t>(me.count()))
      a.add(entries[k].i, entries[k].j, entries[k].value);
  });
}

inline void expect_entries(pgas::pe& me, pgas::sparse_matrix<long>& a, const serial_matrix& wanted) {
  std::uint64_t seen = 0;
  a.each_entry([&](std::uint64_t i, std::uint64_t j, long value) {
    expect(wanted.at({i, j}) == value, std::to_string(i) + ", " + std::to_string(j));
    expect(i % static_cast<std::uint64_t>(me.count()) == static_cast<std::uint64_t>(me.index()));
    ++seen;
  });
  expect(me.sum(seen) == wanted.size());
  expect(a.entries() == wanted.size());
}

/// Entries are added, superstep after superstep.
class matrix_adds {
 public:
  matrix_adds() {
    both_ = first_;
    both_.insert(both_.end(), second_.begin(), second_.end());
  }
  void operator()(pgas::pe& me) const {
    pgas::sparse_matrix<long> a(me, matrix_rows, matrix_columns);
    expect(a.rows() == matrix_rows && a.columns() == matrix_columns);
    expect_entries(me, a, {});
    add_all(me, a, first_);
    expect_entries(me, a, serial_of(first_));
    add_all(me, a, second_);
    expect_entries(me, a, serial_of(both_));
    for (std::size_t spot = 0; spot != a.local_rows(); ++spot) {
      const auto [where, values] = a.row(spot);
      expect(where.size() == values.size());
      for (std::size_t k = 1; k < where.size(); ++k) expect(where[k - 1] < where[k]);
      for (long& value : values) value = 0;
    }
    a.each_entry([](std::uint64_t, std::uint64_t, long value) { expect(value == 0); });
  }

 private:
  std::vector<matrix_entry> first_ = entries_of(1, 200, matrix_rows, matrix_columns);
  std::vector<matrix_entry> second_ = entries_of(2, 100, matrix_rows, matrix_columns);
  std::vector<matrix_entry> both_;
};

/// A matrix times a vector, and times another one.
class matrix_multiplies {
 public:
  matrix_multiplies() {
    for (const auto& [at, value] : serial_of(of_a_)) y_[at.first] += value * static_cast<long>(at.second + 2);
    for (const auto& [a_at, a] : serial_of(of_a_)) {
      for (const auto& [b_at, b] : serial_of(of_b_)) {
        if (a_at.second == b_at.first) product_[{a_at.first, b_at.second}] += a * b;
      }
    }
  }
  void operator()(pgas::pe& me) const {
    pgas::sparse_matrix<long> a(me, matrix_rows, matrix_columns), b(me, matrix_columns, wide_columns);
    pgas::sparse_matrix<long> c(me, matrix_rows, wide_columns);
    add_all(me, a, of_a_);
    add_all(me, b, of_b_);
    pgas::array<long> x(me, matrix_columns), found(me, matrix_rows, 77);
    for (auto [i, value] : x.own()) value = static_cast<long>(i + 2);
    me.barrier();
    a.multiply(x, found);
    for (auto [i, value] : found.own()) expect(value == y_[i], std::to_string(i));
    pgas::superstep(me, [&] {  // a faster PE's changes of the result are not lost
      for (int i = 0; i != 300; ++i) ++found[static_cast<std::uint64_t>(i + me.index()) % matrix_rows];
    });
    expect(found.sum() == std::accumulate(y_.begin(), y_.end(), 300L * me.count()));
    a.multiply(b, c);
    expect_entries(me, c, product_);
  }

 private:
  std::vector<matrix_entry> of_a_ = entries_of(3, 150, matrix_rows, matrix_columns);
  std::vector<matrix_entry> of_b_ = entries_of(4, 250, matrix_columns, wide_columns);
  std::vector<long> y_ = std::vector<long>(matrix_rows);
  serial_matrix product_;
};

/// A matrix, transposed and permuted.
class matrix_moves {
 public:
  matrix_moves() {
    for (const auto& [at, value] : serial_of(of_a_)) {
      turned_[{at.second, at.first}] = value;
      moved_[{at.first * 5 % matrix_rows, (at.second + 3) % matrix_columns}] = value;
    }
  }
  void operator()(pgas::pe& me) const {
    pgas::sparse_matrix<long> a(me, matrix_rows, matrix_columns), t(me, matrix_columns, matrix_rows);
    pgas::sparse_matrix<long> p(me, matrix_rows, matrix_columns);
    pgas::array<std::uint64_t> rows_to(me, matrix_rows), columns_to(me, matrix_columns);
    for (auto [i, to] : rows_to.own()) to = i * 5 % matrix_rows;
    for (auto [j, to] : columns_to.own()) to = (j + 3) % matrix_columns;
    add_all(me, a, of_a_);
    a.transpose(t);
    expect_entries(me, t, turned_);
    a.permute(rows_to, columns_to, p);
    expect_entries(me, p, moved_);
    expect_entries(me, a, serial_of(of_a_));
  }

 private:
  std::vector<matrix_entry> of_a_ = entries_of(5, 180, matrix_rows, matrix_columns);
  serial_matrix turned_, moved_;
};

}  // namespace shunt::testing
