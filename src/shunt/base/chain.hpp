/// Objects linked one behind the other, by a pointer of their own.
#pragma once

#include <utility>

namespace shunt {
inline namespace v1 {

/// Turns a chain round: of inboxes, whose chains begin with the newest. \param first  null: an empty chain.
/// \tparam Link  the objects' pointer to the next one.
/// \return what was last.
template <auto Link, class Node>
[[nodiscard]] Node* turned_round(Node* first) noexcept {
  Node* last = nullptr;
  while (first != nullptr) {
    Node* const following = std::exchange(first->*Link, last);
    last = std::exchange(first, following);
  }
  return last;
}

}  // namespace v1
}  // namespace shunt
