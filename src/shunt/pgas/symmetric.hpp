/// An object of which every PE has its own part.
#pragma once

#include <utility>

#include <shunt/pgas/pe.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// ```cpp
/// pgas::symmetric<std::vector<long>> histogram(me, 1000);   // 1000 counters on each PE
/// ```
/// Only its own PE touches a part: its program directly, others through messages, whose handlers run beside the part.
/// The part outlives every actor_of that names it.
template <class T>
class symmetric {
 public:
  using part_type = T;

  /// Collective, but does not wait. \param arguments  of this PE's part; they may differ from PE to PE.
  template <class... Arguments>
  explicit symmetric(pe& me, Arguments&&... arguments) : me_(&me), part_(std::forward<Arguments>(arguments)...) {}
  symmetric(const symmetric&) = delete;
  symmetric& operator=(const symmetric&) = delete;

  /// Local. This PE's part.
  [[nodiscard]] T& operator*() noexcept { return part_; }
  [[nodiscard]] const T& operator*() const noexcept { return part_; }
  [[nodiscard]] T* operator->() noexcept { return &part_; }
  [[nodiscard]] const T* operator->() const noexcept { return &part_; }

  [[nodiscard]] pe& owner() const noexcept { return *me_; }

 private:
  pe* me_;
  T part_;
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
