/// Changes that commute: functions that a commit applies to the values it finds once the variables are locked
/// (tx::commute()).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <shunt/stm/detail/engine/write_log.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

struct commuting_change {
  const variable* target;
  std::atomic<word>* data;
  const form* how;
  std::function<void(words&)> apply;  // replaces the value; a box by a new box
};

/// In the order in which the body asked for them.
class commute_log {
 public:
  [[nodiscard]] bool empty() const noexcept { return changes_.empty(); }
  /// \throws std::bad_alloc
  void add(commuting_change change) { changes_.push_back(std::move(change)); }
  /// Takes the first change of `v` out of the log. \param v  null: of any variable.
  [[nodiscard]] std::optional<commuting_change> take(const variable* v);
  void clear() noexcept { changes_.clear(); }

  [[nodiscard]] const commuting_change* begin() const noexcept { return changes_.data(); }
  [[nodiscard]] const commuting_change* end() const noexcept { return changes_.data() + changes_.size(); }

 private:
  std::vector<commuting_change> changes_;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
