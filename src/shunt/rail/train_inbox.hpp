/// Where trains arrive: an inbox, and how to wake its owner when that sleeps.
///
/// Both kinds of train come here: full ones to be unloaded, and the owner's own, empty, on their
/// way home. An owner that waits for either watches one word, and sleeps on it.
///
/// An inbox may lie in memory that several processes map at one address, and its trains too: then threads of all of
/// them deliver. A function has another address in each process, so its owner is woken by a token (base/futex.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/futex.hpp>
#include <shunt/rail/inbox.hpp>
#include <shunt/rail/train.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

/// Where trains of other threads arrive. Any thread delivers, one owner takes.
class train_inbox {
 public:
  /// Called by the thread that puts a train in front of a sleeping owner. Any thread; must not wait.
  using wake_function = void (*)(void* owner) noexcept;

  train_inbox() = default;
  /// \param owner  handed to `wake`; both may be null for an owner that never arms its inbox.
  train_inbox(wake_function wake, void* owner) noexcept : wake_(wake), owner_(owner) {}
  /// In shared memory. \param token  of the owner, which sleeps while it is 0; in the same memory
  explicit train_inbox(std::atomic<std::uint32_t>& token) noexcept : token_(&token) {}

  /// Any thread: hands the train over (T1).
  void deliver(train& t) noexcept {
    if (in_.push(t) != after_push::wake) return;
    if (token_ != nullptr) return leave_token(*token_);
    wake_(owner_);
  }

  /// Owner only: everything that has arrived, oldest first.
  [[nodiscard]] train* arrivals() noexcept { return in_.take_all(); }
  /// Owner only: whether something has arrived. A look.
  [[nodiscard]] bool any() const noexcept { return in_.any(); }
  /// Owner only, before it sleeps. \return false: something has arrived, so it must not. Else the next deliver() wakes
  /// it.
  [[nodiscard]] bool arm() noexcept { return in_.arm(); }
  /// Owner only, after it slept, or will not.
  void disarm() noexcept { in_.disarm(); }

 private:
  inbox<train> in_;
  wake_function wake_ = nullptr;
  void* owner_ = nullptr;
  std::atomic<std::uint32_t>* token_ = nullptr;
};

/// Sends an unloaded train home. Any thread; the caller held the train and holds it no more.
inline void send_home(train& t) noexcept {
  t.head.empty = 1;
  t.home->deliver(t);
}

}  // namespace rail
}  // namespace v1
}  // namespace shunt
