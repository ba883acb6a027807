/// What the topological sort keeps: of each row, how many columns are left and which; of each row and column, where it
/// has been placed.
#pragma once

#include <algorithm>
#include <bale/matrix.hpp>
#include <bale/permutation.hpp>
#include <cstdint>
#include <shunt/pgas/pe.hpp>
#include <utility>
#include <vector>

namespace shunt::apps {

/// The columns that are left in this PE's rows. All that is known of them is their number and their exclusive or: of
/// one column, that is the column.
class rows_left {
 public:
  explicit rows_left(const matrix& a) : rows_(a.count()) {
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      rows_[l].number = static_cast<std::uint32_t>(a.row(l).size());
      for (const auto column : a.row(l)) rows_[l].all ^= column;
      if (rows_[l].number == 1) ready_.push_back(l);
    }
  }
  /// The rows with one column left that were not taken before.
  [[nodiscard]] std::vector<std::uint32_t> take() {
    auto rows = std::exchange(ready_, {});
    // A row that lost its last two columns at once has none of its own.
    std::erase_if(rows, [this](std::uint32_t row) { return rows_[row].number != 1; });
    return rows;
  }
  [[nodiscard]] std::uint32_t only_column(std::uint32_t row) const noexcept { return rows_[row].all; }
  void drop(std::uint32_t row, std::uint32_t column) {
    auto& r = rows_[row];
    r.all ^= column;
    if (--r.number == 1) ready_.push_back(row);
  }

 private:
  struct columns {
    std::uint32_t number = 0;
    std::uint32_t all = 0;
  };
  std::vector<columns> rows_;
  std::vector<std::uint32_t> ready_;
};

/// Where this PE's rows and columns go.
struct order {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t height;
  permutation rows;
  permutation columns;
  std::uint64_t levels = 0;
  bool exists = false;  ///< whether there is such an order; if not, some rows and columns have no place

  /// Local.
  explicit order(const matrix& a) : height(a.height), rows(a.count(), none), columns(a.home.count(a.width), none) {}

  /// \return false: another row has this column already, and the matrix has no order
  bool place_column(std::uint32_t spot, std::uint32_t position) {
    if (columns[spot] != none) return false;
    columns[spot] = position;
    return true;
  }
  /// Collective. Nothing can be placed any more: was everything?
  order& complete(pgas::pe& me) {
    const auto left = [](const permutation& p) { return std::count(p.begin(), p.end(), none); };
    exists = me.sum(left(rows) + left(columns)) == 0;
    return *this;
  }
};

}  // namespace shunt::apps
