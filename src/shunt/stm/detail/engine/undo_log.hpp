/// What a nested part of a transaction has overwritten: the values of entries that were in the write log before it
/// began.
#pragma once

#include <cstddef>
#include <shunt/stm/detail/engine/write_log.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class undo_log {
 public:
  /// Whether the entry at `position` belongs to an outer part, so that its value is saved before it is replaced.
  [[nodiscard]] bool is_outer(std::size_t position) const noexcept { return position < first_own_; }
  /// \throws std::bad_alloc
  void save(std::size_t position, const words& value) { saved_.push_back({position, value}); }

  /// A part begins. \param writes  entries at that moment. \return what end_part() is given.
  [[nodiscard]] std::size_t begin_part(std::size_t writes) noexcept { return std::exchange(first_own_, writes); }
  void end_part(std::size_t outer) noexcept { first_own_ = outer; }

  [[nodiscard]] std::size_t size() const noexcept { return saved_.size(); }
  /// Puts the saved values back, the last one first, until `size` of them are left; deletes the boxes they replace.
  void roll_back(write_log& writes, std::size_t size) noexcept {
    for (; saved_.size() > size; saved_.pop_back()) {
      entry& e = writes[saved_.back().position];
      drop(*e.how, e.value[0]);
      e.value = saved_.back().value;
    }
  }
  /// Deletes the saved boxes: the transaction is over. The log is empty only after clear().
  void drop_boxes(write_log& writes) noexcept {
    for (const saved& s : saved_) {
      const form& how = *writes[s.position].how;
      if (how.drop != nullptr) how.drop(s.value[0]);
    }
  }
  void clear() noexcept { saved_.clear(); }

 private:
  struct saved {
    std::size_t position;
    words value;
  };
  std::size_t first_own_ = 0;  // entries below it belong to an outer part
  std::vector<saved> saved_;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
