/// The way of a message into a mailbox of this dispatcher, where the inlined way ends: see post.hpp and dispatcher.hpp.
#pragma once

#include <cstdint>

#include <shunt/actor/detail/actor_cell.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// For the dispatcher's own actors. The owner's thread only.
class mailboxes {
 public:
  explicit mailboxes(dispatcher& of) noexcept : of_(of) {}

  /// As actor_cell::place(), where that finds no vacant envelope. nullptr: the actor is idle, or has ended, or its
  /// mailbox is full. \throws std::bad_alloc
  [[nodiscard]] envelope* place(actor_cell& c, std::uint32_t incarnation);
  /// A message in an envelope of the pool. May wait. \throws as dispatcher::send()
  [[gnu::noinline]] void tell(actor_cell& c, envelope* e, call_site call);
  /// A message in the caller's frame. May wait.
  /// \return whether it has left the frame; if not, the caller tries again. \throws as dispatcher::send()
  [[nodiscard]] bool send(envelope& m, call_site call);
  /// The same, with room or without. `m` is empty then.
  void deliver(actor_cell& c, envelope& m) noexcept;
  /// For so many messages that have arrived, for an actor that is not idle: see backpressure::add_vacant_for().
  [[nodiscard, gnu::noinline]] bool make_vacant_for(actor_cell& c, std::int64_t messages);

 private:
  [[nodiscard]] bool make_vacant(actor_cell& c);
  [[nodiscard]] envelope* envelope_for(envelope& m);

  dispatcher& of_;
};

/// Ends a message whose sender gets an exception.
void lose(envelope& m) noexcept;

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
