/// Objects that a transaction deletes if it commits, or if it does not.
#pragma once

#include <cstdint>
#include <shunt/stm/detail/engine/word.hpp>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// An object, and how it is deleted.
struct owned {
  word what;  // its address
  void (*drop)(word) noexcept;
};
template <typename T>
[[nodiscard]] owned owned_object(T* what) noexcept {
  return {static_cast<word>(reinterpret_cast<std::uintptr_t>(what)),
          [](word w) noexcept { delete reinterpret_cast<T*>(static_cast<std::uintptr_t>(w)); }};
}

/// Deletes all of them; the list is empty afterwards, and keeps its memory. The list is emptied first, because
/// destructors may use tvars.
void drop_all(std::vector<owned>& list) noexcept;

/// One transaction's objects.
struct objects {
  std::vector<owned> made;       ///< by tx::make(): deleted if the attempt is undone
  std::vector<owned> destroyed;  ///< by tx::destroy(): retired by the commit
  std::vector<owned> displaced;  ///< boxes that the transaction made and replaced: no other thread has seen them
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
