/// Where an actor's messages arrive, and the word that says whether the actor is idle, queued or busy.
///
///   word:  idle    no messages; the actor is in no queue and does not run
///          busy    no messages; a loop runs the actor
///          chain   newest message -> ... -> oldest; the actor is in a queue, or a loop runs it
///
///   word            push(m)                  begin()                    finish()
///   idle            -> chain, queue_it       breach of contract         breach of contract
///   chain, queued   -> chain, nothing        -> busy, the messages      breach of contract
///   busy            -> chain, nothing        breach of contract         -> idle, nothing
///   chain, running  -> chain, nothing        breach of contract         -> chain, queue_it
///
/// The caller that gets `queue_it` holds the actor, and puts it into a queue: so the actor is in one queue at most, and
/// one loop at a time runs it.
///
/// Edges
///   sent   push -> begin     the message, and all that its sender wrote before
///   left   finish -> begin   what the actor's handlers wrote. Pushes in between are read-modify-writes: they continue
///                            its release sequence.
///
/// Source: as rail/inbox.hpp, whose owner is one thread; here the owner changes, hence edge `left`.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/chain.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

/// What the caller owes after push() or finish().
enum class [[nodiscard]] after_push : bool { nothing, queue_it };

/// \tparam Message  has a member `Message* next_`, which the inbox uses while it holds the message.
template <class Message>
class inbox {
 public:
  inbox() = default;
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Any thread. Never waits.
  after_push push(Message& m) noexcept {
    auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    do {
      m.next_ = reinterpret_cast<Message*>(seen);  // which may be `none` or `busy`: the end of the chain
      // release: edge `sent` out. relaxed: the sender reads nothing of the actor.
    } while (!word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&m), std::memory_order_release,
                                          std::memory_order_relaxed));
    return seen == none ? after_push::queue_it : after_push::nothing;
  }

  /// The loop that took the actor out of a queue. \return its messages, oldest first, linked by `next_`: one at least.
  [[nodiscard]] Message* begin() noexcept {
    // acquire: edges `sent` and `left` in.
    auto* const newest = reinterpret_cast<Message*>(word_.exchange(busy, std::memory_order_acquire));
    return turned_round<&Message::next_>(newest, busy);
  }

  /// The same loop, when it has handled the messages.
  after_push finish() noexcept {
    auto seen = busy;
    // release: edge `left` out. relaxed on failure: the actor goes by the queue, whose push releases.
    return word_.compare_exchange_strong(seen, none, std::memory_order_release, std::memory_order_relaxed)
               ? after_push::nothing
               : after_push::queue_it;
  }

  [[nodiscard]] bool idle() const noexcept {
    return word_.load(std::memory_order_relaxed) == none;  // relaxed: for assertions
  }

 private:
  static constexpr std::uintptr_t none = 0;  // idle
  static constexpr std::uintptr_t busy = 1;  // no message has this address: messages are aligned

  std::atomic<std::uintptr_t> word_{none};
};

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
