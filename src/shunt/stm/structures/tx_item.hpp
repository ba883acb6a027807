/// What the structures of this module hold, and what they have in common.
///
/// Every operation comes twice: with a tx&, as a part of that transaction; and without, as a transaction of its own
/// (its class has the structure's name), or as a part of the transaction in which it is called. Operations wait by
/// tx::retry(): so `t.or_else(...)` waits for several structures at once, and `atomically_for(5ms, ...)` waits for 5 ms
/// at most. An exception undoes the operation: std::bad_alloc, or what copying, moving or comparing items throws.
///
/// Structures are neither copyable nor movable. A program destroys a structure when no other thread or fiber uses it
/// any more, or by tx::destroy(). Inside a transaction's body it makes one by tx::make().
#pragma once

#include <concepts>
#include <shunt/stm/tvar.hpp>

namespace shunt {
inline namespace v1 {
namespace stm {

/// Items are copied in and out, because an attempt that has taken an item may still be undone. Put a type that cannot
/// be copied into a std::shared_ptr.
template <typename T>
concept tx_item = tvar_value<T> && std::copy_constructible<T>;

}  // namespace stm
}  // namespace v1
}  // namespace shunt
