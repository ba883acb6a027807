/// Singly linked chains of objects that hold the link themselves (intrusive lists).
#pragma once

#include <cstdint>
#include <utility>

namespace shunt {
inline namespace v1 {

/// Owner of the chain only. Reverses it: an inbox's chain begins with the newest object.
/// \tparam Link  the objects' pointer to the next one
/// \param first  null: an empty chain
/// \param end    the last object's pointer is this or less, read as a number; 0: it is null
/// \return the object that was last, which is now first. Cost: one pass.
template <auto Link, class Node>
[[nodiscard]] Node* turned_round(Node* first, std::uintptr_t end = 0) noexcept {
  Node* last = nullptr;
  while (reinterpret_cast<std::uintptr_t>(first) > end) {
    Node* const following = std::exchange(first->*Link, last);
    last = std::exchange(first, following);
  }
  return last;
}

}  // namespace v1
}  // namespace shunt
