/// The functions that a body has given to tx::on_commit() and tx::on_abort().
///
/// Invariant callbacks.C1: undone_ has capacity for all of on_abort_ as well. So the end of an attempt, or of a nested
/// part, allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

using callback_list = std::vector<std::function<void()>>;

class callbacks {
 public:
  /// \throws std::bad_alloc
  void add_on_commit(std::function<void()> what) { on_commit_.push_back(std::move(what)); }
  void add_on_abort(std::function<void()> what) {
    const auto needed = undone_.size() + on_abort_.size() + 1;
    if (undone_.capacity() < needed) undone_.reserve(std::max(needed, 2 * undone_.capacity()));  // callbacks.C1
    on_abort_.push_back(std::move(what));
  }

  [[nodiscard]] bool empty() const noexcept { return on_commit_.empty() && on_abort_.empty() && undone_.empty(); }

  struct lengths {
    std::size_t commits, aborts;
  };
  [[nodiscard]] lengths size() const noexcept { return {on_commit_.size(), on_abort_.size()}; }
  /// A nested part is undone: its on_commit() functions are gone, its on_abort() functions are called when the attempt
  /// is over, whether it commits or not.
  void undo_part(const lengths& before) noexcept {
    on_commit_.resize(before.commits);
    for (; on_abort_.size() > before.aborts; on_abort_.pop_back()) {
      undone_.push_back(std::move(on_abort_.back()));  // callbacks.C1
    }
  }

  /// What is to be called after a commit: the functions of undone parts, then those of the whole. Empties everything.
  void take_after_commit(callback_list& of_undone_parts, callback_list& of_the_commit) noexcept {
    of_undone_parts.swap(undone_);
    of_the_commit.swap(on_commit_);
    on_abort_.clear();
  }
  /// What is to be called after an abort, in order. Empties everything.
  void take_after_abort(callback_list& to_call) noexcept {
    on_commit_.clear();
    to_call.swap(undone_);
    to_call.insert(to_call.end(), std::make_move_iterator(on_abort_.rbegin()),
                   std::make_move_iterator(on_abort_.rend()));  // callbacks.C1
    undone_.clear();
    on_abort_.clear();
  }

 private:
  callback_list on_commit_;
  callback_list on_abort_;
  callback_list undone_;  // on_abort() functions of nested parts that were undone
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
