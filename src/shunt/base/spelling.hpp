/// How far two words are apart, for messages that guess what the user meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace shunt {
inline namespace v1 {

/// Any thread. The least number of characters to insert, delete or replace that makes one word of the other.
/// Source: Levenshtein: Binary codes capable of correcting deletions, insertions, and reversals. Soviet Physics Doklady
/// 10 (1966); the computation by rows is Wagner and Fischer's, doi:10.1145/321796.321811.
/// Cost: O(a.size() * b.size()). \throws std::bad_alloc
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace v1
}  // namespace shunt
