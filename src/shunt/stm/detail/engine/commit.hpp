/// How the values of a write log become those of the variables.
///
///   shared      lock all written variables; take a version from the clock; validate what was read; apply commuting
///               changes; store the values; unlock with the version; wake transactions that retry
///   exclusive   apply commuting changes; store the values: no other participant is inside
///
/// Source: Dice, Shalev, Shavit: Transactional Locking II, DISC 2006, doi:10.1007/11864219_14. See DESIGN.md.
#pragma once

#include <shunt/stm/detail/engine/write_log.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Inside, in exclusive mode: stores the values of the entries [first, end), and wakes transactions that retry.
[[gnu::noinline]] void store_exclusively(entry* first, const entry* end) noexcept;

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
