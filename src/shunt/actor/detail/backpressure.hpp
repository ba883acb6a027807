/// What happens when a mailbox is full: room for messages, the overflow policies, and the senders that wait for room.
///
/// A sender on the actor's own worker sees the room itself. A sender elsewhere sees `full`, a hint that is late. A
/// sender that waits leaves its message in its own frame, and lists itself under the gate. The actor's dispatcher takes
/// the message from there when half of the mailbox is empty, and only then wakes the sender: so it need not try again.
#pragma once

#include <cstdint>
#include <mutex>

#include <shunt/actor/detail/actor_cell.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class backpressure {
 public:
  explicit backpressure(dispatcher& of) noexcept : of_(of) {}

  // --- the owner's thread ---

  /// A queued actor without a vacant envelope gets some, if there is room for a message that is not exempt.
  /// \return whether there is. \throws std::bad_alloc
  [[nodiscard]] bool add_vacant(actor_cell& c);
  /// The same for so many messages that have arrived. They are accepted, room or not, unless the policy drops some.
  /// \return whether there is a vacant envelope, for as many messages at most.
  [[nodiscard, gnu::noinline]] bool add_vacant_for(actor_cell& c, std::int64_t messages);
  /// Other threads see from now on that it is full.
  void declare_full(actor_cell& c) noexcept;
  /// The oldest message becomes a dead letter. May wait.
  void drop_oldest(actor_cell& c) noexcept;
  /// Before a message is handled, where senders wait, or have seen `full`: lets as many in as there is room for.
  [[gnu::noinline, gnu::cold]] void let_senders_in(actor_cell& c) noexcept;
  /// The actor has ended. \return the senders that wait for room; the caller must wake each.
  [[nodiscard]] waiting_sender* end_incarnation(actor_cell& c) noexcept;

  // --- any thread ---

  /// Not on the actor's worker. \return whether a sender has to wait for room. \throws mailbox_full
  [[nodiscard]] static bool must_wait(const actor_cell& c, call_site call);
  /// Waits until the actor's dispatcher has taken the message out of the caller's frame.
  /// \return false: it was not taken, as there is room, or no actor. \throws sched::deadlock, what park() throws.
  [[nodiscard]] static bool wait_for_room(envelope& m, call_site call);

 private:
  static void enter(waiting_sender& s, actor_cell& c) noexcept;
  [[nodiscard]] static bool leave(const waiting_sender& s, actor_cell& c) noexcept;

  dispatcher& of_;
  std::mutex gate_;  // guards actor_cell::waiting, and changes of full and incarnation
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
