/// Objects linked one behind the other, by a pointer of their own.
#pragma once

#include <cstdint>
#include <utility>

namespace shunt {
inline namespace v1 {

/// Turns a chain round: of inboxes, whose chains begin with the newest. \param first  null: an empty chain.
/// \param end   the last one's pointer is this or less, read as a number; 0: it is null.
/// \tparam Link  the objects' pointer to the next one.
/// \return what was last.
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
