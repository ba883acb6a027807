/// What the structures of this room hold, and what they have in common.
///
/// Every operation comes twice: with a tx&, as a part of that transaction, and without, as a transaction of its own (of
/// a class that is called after the structure), or as a part of the one that it is called in. What waits does so by
/// tx::retry(): so `t.or_else(...)` waits for several structures at once, and `atomically_for(5ms, ...)` for no longer.
/// An exception undoes the operation: std::bad_alloc, or what copying, moving or comparing items throws.
///
/// Structures neither copy nor move. Who destroys one sees to it that nobody uses it any more, or lets tx::destroy() do
/// it. One made inside a transaction's body is made by tx::make().
#pragma once

#include <concepts>
#include <shunt/stm/tvar.hpp>

namespace shunt {
inline namespace v1 {

/// Items are copied, in and out: an attempt that has taken one may still be undone. What does not copy goes into a
/// std::shared_ptr.
template <typename T>
concept tx_item = tvar_value<T> && std::copy_constructible<T>;

}  // namespace v1
}  // namespace shunt
