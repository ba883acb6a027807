/// A distributed sparse matrix: rows are dealt out, each PE keeps its rows as compressed sparse rows.
///
/// ```cpp
/// pgas::sparse_matrix<double> a(me, n, n);
/// pgas::superstep(me, [&] {
///   for (const auto& [i, j, v] : triplets) a.add(i, j, v);   // a(i, j) += v
/// });
/// pgas::array<double> x(me, n, 1), y(me, n);
/// a.multiply(x, y);                                          // y = a x
/// ```
///
/// Rows lie as the elements of an array by default do: row i on PE i % PEs. So do the vectors that it is multiplied by.
///
/// Memory: of a PE 12 bytes and a value an entry, 8 a row, and 8 for each column in which it has an entry; while
/// entries are added, 16 and a value for each that has arrived. At the end of a superstep that has added some, new rows
/// are made beside the old ones. Where there is no memory for them, superstep() throws std::bad_alloc, and usage_error
/// for entries in more than 2^32 columns of a PE's rows. Then the PE's rows are as they were before that superstep, and
/// what has arrived is put in at the end of the next one.
///
/// Source of multiply(matrix), row by row: Gustavson, Two fast algorithms for sparse matrices, ACM TOMS 4 (1978),
/// doi:10.1145/355791.355796.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <shunt/pgas/array.hpp>
#include <shunt/pgas/containers/detail/hash_table.hpp>
#include <shunt/pgas/containers/key_hash.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// The program of each PE makes it, in the same order as its other symmetric objects, and destroys it.
/// \tparam T  a plain value with + and *
template <plain_value T>
class sparse_matrix final : private detail::distributed {
 public:
  using value_type = T;  ///< of an entry

  /// A row of this PE: its entries by column.
  struct row_view {
    std::span<const std::uint64_t> columns;  ///< where they are, ascending
    std::span<T> values;                     ///< what they are; may be written
  };

  /// Collective, but does not wait for all: as actor_of's. No entry is there.
  /// \param rows, columns  below 2^46; rows of one PE below 2^32 \throws usage_error for more; std::bad_alloc
  sparse_matrix(pe& me, std::uint64_t rows, std::uint64_t columns)
      : distributed(me, rows), columns_(columns), part_(me), messages_(part_) {
    if (rows >> 46U != 0) detail::refuse_array_size(me.index(), me.count(), rows);
    if (columns >> 46U != 0) detail::refuse_array_size(me.index(), me.count(), columns);
    layout_.place_on(rows, me.count());
    if (layout_.count(0) >> 32U != 0) detail::refuse_array_size(me.index(), me.count(), rows);
    part_->begin.assign(layout_.count(me.index()) + 1, 0);
  }
  /// Collective: the last superstep is over.
  ~sparse_matrix() = default;

  /// One-sided, in a superstep. Entry (i, j) becomes value, or `value` more where it is there.
  /// \throws usage_error outside of a superstep, and for an entry beyond the matrix.
  void add(std::uint64_t i, std::uint64_t j, const T& value,
           std::source_location where = std::source_location::current()) {
    if (i >= changeable()) [[unlikely]]
      detail::refuse_change(me().index(), open(), i, elements(), where);
    if (j >= columns_) [[unlikely]]
      detail::refuse_element(me().index(), j, columns_, where);
    const auto to = layout_.where(i);
    messages_.send(to.pe, [e = added{j, to.spot, value}](part& there) { there.arrived.push_back(e); }, where);
  }

  [[nodiscard]] std::uint64_t rows() const noexcept { return elements(); }   ///< of the matrix
  [[nodiscard]] std::uint64_t columns() const noexcept { return columns_; }  ///< of the matrix
  /// Collective. Entries of all PEs.
  [[nodiscard]] std::uint64_t entries() const { return me().sum(std::uint64_t{part_->columns.size()}); }

  /// Local, as row(). Rows of this PE.
  [[nodiscard]] std::size_t local_rows() const noexcept { return part_->begin.size() - 1; }
  /// Local. Which row of the matrix this PE's row `spot` is.
  [[nodiscard]] std::uint64_t row_of(std::size_t spot) const noexcept { return layout_.element(me().index(), spot); }
  /// Local. In a superstep: as before it, without what add() brings. \param spot  0..local_rows()-1 (contract)
  [[nodiscard]] row_view row(std::size_t spot) noexcept {
    const auto begin = part_->begin[spot], count = part_->begin[spot + 1] - begin;
    return {std::span<const std::uint64_t>(part_->columns).subspan(begin, count),
            std::span<T>(part_->values).subspan(begin, count)};
  }
  /// Local, as row(). Calls f(i, j, value) for each entry of this PE, row by row.
  template <class F>
  void each_entry(F&& f) {
    for (std::size_t spot = 0; spot != local_rows(); ++spot) {
      const auto [columns, values] = row(spot);
      for (std::size_t k = 0; k != columns.size(); ++k) f(row_of(spot), columns[k], values[k]);
    }
  }

  /// Collective, outside of supersteps. y = this x. \throws usage_error where sizes do not fit, or in a superstep.
  /// Cost: a request and a reply for each column in which this PE has an entry, and a pass over the entries.
  void multiply(array<T>& x, array<T>& y, std::source_location where = std::source_location::current()) {
    if (x.size() != columns_) detail::refuse_shape(me().index(), "multiply()", columns_, x.size(), where);
    if (y.size() != rows()) detail::refuse_shape(me().index(), "multiply()", rows(), y.size(), where);
    std::vector<T> values(part_->used.size());
    x.gather(std::span<const std::uint64_t>(part_->used), std::span<T>(values), where);
    const auto into = y.local();
    for (std::size_t spot = 0; spot != local_rows(); ++spot) {
      T sum{};
      for (auto k = part_->begin[spot]; k != part_->begin[spot + 1]; ++k) {
        sum = static_cast<T>(sum + part_->values[k] * values[part_->use[k]]);
      }
      into[spot] = sum;
    }
    y.finish_changes();  // no PE changes y before all have written it
  }

  /// Collective, outside of supersteps. `into` becomes this b. Entries that are there in `into` stay, and are added to.
  /// \throws usage_error where sizes do not fit, or in a superstep.
  /// Cost: each row of b that this PE needs comes here once, a request and a reply an entry, and is kept until the
  /// product is done.
  void multiply(sparse_matrix& b, sparse_matrix& into, std::source_location where = std::source_location::current()) {
    check_read("multiply()", where);
    if (b.rows() != columns_) detail::refuse_shape(me().index(), "multiply()", columns_, b.rows(), where);
    if (into.rows() != rows()) detail::refuse_shape(me().index(), "multiply()", rows(), into.rows(), where);
    if (into.columns() != b.columns()) {
      detail::refuse_shape(me().index(), "multiply()", b.columns(), into.columns(), where);
    }
    const auto fetched = b.rows_of(part_->used, where);
    detail::hash_table<std::uint64_t, T, key_hash<std::uint64_t>> sums;
    for (std::size_t spot = 0; spot != local_rows(); ++spot) {
      for (auto k = part_->begin[spot]; k != part_->begin[spot + 1]; ++k) {
        for (const auto& [column, value] : fetched[part_->use[k]]) {
          T& sum = sums.find_or_insert(column).first->value;
          sum = static_cast<T>(sum + part_->values[k] * value);
        }
      }
      for (const auto& [column, sum] : sums) {
        into.part_->arrived.push_back({column, static_cast<std::uint32_t>(spot), sum});
      }
      sums.clear();
    }
    into.finish_changes();  // holds back what others add in the next superstep
  }

  /// Collective, outside of supersteps. `into` gets entry (j, i) for each (i, j) of this one.
  /// \throws usage_error where sizes do not fit, or in a superstep. Cost: a message an entry.
  void transpose(sparse_matrix& into, std::source_location where = std::source_location::current()) {
    if (into.rows() != columns_) detail::refuse_shape(me().index(), "transpose()", columns_, into.rows(), where);
    if (into.columns() != rows()) detail::refuse_shape(me().index(), "transpose()", rows(), into.columns(), where);
    superstep(
        me(),
        [&] { each_entry([&](std::uint64_t i, std::uint64_t j, const T& value) { into.add(j, i, value, where); }); },
        where);
  }

  /// Collective, outside of supersteps. `into` gets entry (rows_to[i], columns_to[j]) for each (i, j) of this one.
  /// \throws usage_error where sizes do not fit, for an index beyond `into`, or in a superstep.
  /// Cost: a message an entry, and a request and a reply for each column in which this PE has an entry.
  void permute(array<std::uint64_t>& rows_to, array<std::uint64_t>& columns_to, sparse_matrix& into,
               std::source_location where = std::source_location::current()) {
    if (rows_to.size() != rows()) detail::refuse_shape(me().index(), "permute()", rows(), rows_to.size(), where);
    if (columns_to.size() != columns_)
      detail::refuse_shape(me().index(), "permute()", columns_, columns_to.size(), where);
    std::vector<std::uint64_t> to(part_->used.size());
    columns_to.gather(std::span<const std::uint64_t>(part_->used), std::span<std::uint64_t>(to), where);
    superstep(
        me(),
        [&] {
          for (std::size_t spot = 0; spot != local_rows(); ++spot) {
            for (auto k = part_->begin[spot]; k != part_->begin[spot + 1]; ++k) {
              into.add(rows_to.local()[spot], to[part_->use[k]], part_->values[k], where);
            }
          }
        },
        where);
  }

  /// Local, outside of supersteps. For a checkpoint (checkpoint.hpp): this PE's rows.
  template <class Writer>
  void save(Writer& to) const {
    to.put(rows());
    to.put(columns_);
    to.put(part_->begin);
    to.put(part_->columns);
    to.put(part_->values);
  }
  /// Local, outside of supersteps. This PE's rows, as they were saved by a matrix of the same shape on as many PEs.
  template <class Reader>
  void load(Reader& from) {
    const auto saved_rows = from.template get<std::uint64_t>(), saved_columns = from.template get<std::uint64_t>();
    if (saved_rows != rows() || saved_columns != columns_) {
      from.refuse("it is of a matrix of " + std::to_string(saved_rows) + " x " + std::to_string(saved_columns) +
                  ", and the program's has another shape");
    }
    from.get(part_->begin);
    from.get(part_->columns);
    from.get(part_->values);
    part_->find_used(part_->columns, me().index());
  }

 private:
  /// An entry on its way, or not yet in its row.
  struct added {
    std::uint64_t column;
    std::uint32_t row;
    T value;
  };
  /// An entry without its row.
  struct entry {
    std::uint64_t column;
    T value;
  };

  /// Invariant: rows' entries are [begin[spot], begin[spot + 1]), their columns ascend; used[use[k]] == columns[k].
  struct part {
    std::vector<std::size_t> begin;
    std::vector<std::uint64_t> columns;
    std::vector<T> values;
    std::vector<std::uint32_t> use;
    std::vector<std::uint64_t> used;  // columns in which an entry is, ascending
    std::vector<added> arrived;

    static constexpr std::size_t most_used = std::size_t{1} << 32;  // that `use` can name

    /// Puts what has arrived into the rows.
    /// \throws std::bad_alloc, usage_error for too many columns: the rows are as before, and what has arrived stays
    void assemble(int pe) {
      if (arrived.empty()) return;
      // Equal places keep their order, so that sorting again, after a call that has failed, changes nothing.
      std::ranges::stable_sort(
          arrived, [](const added& a, const added& b) { return a.row != b.row ? a.row < b.row : a.column < b.column; });
      std::vector<std::size_t> next_begin(begin.size());
      each_merged([&](std::size_t row, std::uint64_t, const T&) { ++next_begin[row + 1]; });
      std::inclusive_scan(next_begin.begin(), next_begin.end(), next_begin.begin());
      std::vector<std::uint64_t> next_columns;
      std::vector<T> next_values;
      next_columns.reserve(next_begin.back());
      next_values.reserve(next_begin.back());
      each_merged([&](std::size_t, std::uint64_t column, const T& value) {
        next_columns.push_back(column);
        next_values.push_back(value);
      });
      find_used(next_columns, pe);  // the last that may throw
      begin = std::move(next_begin);
      columns = std::move(next_columns);
      values = std::move(next_values);
      arrived = {};
    }
    /// What follows from the columns of all entries. \throws as assemble(): then nothing has changed
    void find_used(const std::vector<std::uint64_t>& of, int pe) {
      std::vector<std::uint64_t> next_used(of);
      std::ranges::sort(next_used);
      const auto rest = std::ranges::unique(next_used);
      next_used.erase(rest.begin(), rest.end());
      if (next_used.size() > most_used) detail::refuse_columns(pe, next_used.size());
      std::vector<std::uint32_t> next_use(of.size());
      for (std::size_t k = 0; k != of.size(); ++k) {
        next_use[k] = static_cast<std::uint32_t>(std::ranges::lower_bound(next_used, of[k]) - next_used.begin());
      }
      used = std::move(next_used);
      use = std::move(next_use);
    }
    /// Calls put(row, column, value) for each entry that the rows have with what has arrived, in their order.
    template <class Put>
    void each_merged(Put&& put) const {
      auto next = arrived.begin();
      for (std::size_t row = 0; row + 1 != begin.size(); ++row) {
        for (auto k = begin[row];;) {
          const bool old = k != begin[row + 1], fresh = next != arrived.end() && next->row == row;
          if (!old && !fresh) break;
          if (!fresh || (old && columns[k] < next->column)) {
            put(row, columns[k], values[k]);
            ++k;
            continue;
          }
          const auto column = next->column;
          T sum = next->value;
          while (++next != arrived.end() && next->row == row && next->column == column) {
            sum = static_cast<T>(sum + next->value);
          }
          if (old && columns[k] == column) sum = static_cast<T>(sum + values[k++]);
          put(row, column, sum);
        }
      }
    }
  };

  [[nodiscard]] detail::ending_selector changes() noexcept override { return detail::end_of::changes(messages_); }
  void ended() override { part_->assemble(me().index()); }

  /// Collective. \return the entries of some rows of this matrix, in the order of `wanted`
  std::vector<std::vector<entry>> rows_of(const std::vector<std::uint64_t>& wanted, std::source_location where) {
    using rows_here = std::vector<std::vector<entry>>;
    symmetric<rows_here> here(me(), wanted.size());
    actor_of requests(part_, here);
    // A request an entry, each with a reply of its own: so no handler sends more than it was asked for.
    for (std::size_t n = 0; n != wanted.size(); ++n) {
      const auto at = layout_.where(wanted[n]);
      requests.ask(
          at.pe, [spot = at.spot](part& mine, rows_here&) { return mine.begin[spot + 1] - mine.begin[spot]; },
          [n](part&, rows_here& to, std::size_t entries) { to[n].resize(entries); }, where);
    }
    requests.finish();
    for (std::size_t n = 0; n != wanted.size(); ++n) {
      const auto at = layout_.where(wanted[n]);
      for (std::size_t k = 0; k != (*here)[n].size(); ++k) {
        requests.ask(
            at.pe,
            [k, spot = at.spot](part& mine, rows_here&) {
              return entry{mine.columns[mine.begin[spot] + k], mine.values[mine.begin[spot] + k]};
            },
            [n, k](part&, rows_here& to, const entry& e) { to[n][k] = e; }, where);
      }
    }
    requests.finish();
    return std::move(*here);
  }

  std::uint64_t columns_;
  cyclic layout_;
  symmetric<part> part_;
  actor_of<part> messages_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
