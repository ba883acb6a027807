/// Where an actor's messages arrive, and the word that says whether it is idle, queued or busy.
///
///   word:  idle    no messages; the actor is in nobody's hands
///          busy    no messages; a runner runs it
///          chain   newest message -> ... -> oldest; it stands in a queue, or a runner runs it
///
///   word            push(m)                  begin()                    rest()
///   idle            -> chain, queue_it       breach of contract         breach of contract
///   chain, queued   -> chain, nothing        -> busy, the messages      breach of contract
///   busy            -> chain, nothing        breach of contract         -> idle, nothing
///   chain, running  -> chain, nothing        breach of contract         -> chain, queue_it
///
/// Whoever is told `queue_it` holds the actor, and puts it into a queue: so it stands in one at most, and one
/// runner at a time runs it.
///
/// Edges
///   sent   push -> begin   the message, and all that its sender wrote before
///   left   rest -> begin   what the actor's handlers wrote. Pushes in between are read-modify-writes: they
///                          continue its release sequence.
///
/// Source: as rail/inbox.hpp, whose owner is one thread; here it changes, hence `left`.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/chain.hpp>

namespace shunt {
inline namespace v1 {
namespace actors {
namespace detail {

/// What the caller owes after push() or rest().
enum class [[nodiscard]] after_mail : bool { nothing, queue_it };

/// \tparam Message  has a member `Message* next_`, which the inbox uses while it holds the message.
template <class Message>
class core_inbox {
 public:
  core_inbox() = default;
  core_inbox(const core_inbox&) = delete;
  core_inbox& operator=(const core_inbox&) = delete;

  /// Any thread. Never waits.
  after_mail push(Message& m) noexcept {
    auto seen = word_.load(std::memory_order_relaxed);  // a guess; the exchange below decides
    do {
      m.next_ = reinterpret_cast<Message*>(seen);  // which may be `idle` or `busy`: the end of the chain
      // release: edge `sent` out. relaxed: who pushes reads nothing of the actor.
    } while (!word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&m), std::memory_order_release,
                                          std::memory_order_relaxed));
    return seen == idle ? after_mail::queue_it : after_mail::nothing;
  }

  /// Who took the actor out of a queue. \return its messages, oldest first, linked by `next_`: one at least.
  [[nodiscard]] Message* begin() noexcept {
    // acquire: edges `sent` and `left` in.
    auto* const newest = reinterpret_cast<Message*>(word_.exchange(busy, std::memory_order_acquire));
    return turned_round<&Message::next_>(newest, busy);
  }

  /// The same runner, when the messages are dealt with.
  after_mail rest() noexcept {
    auto seen = busy;
    // release: edge `left` out. On failure it goes by the queue, whose push releases.
    return word_.compare_exchange_strong(seen, idle, std::memory_order_release, std::memory_order_relaxed)
               ? after_mail::nothing
               : after_mail::queue_it;
  }

  [[nodiscard]] bool resting() const noexcept {
    return word_.load(std::memory_order_relaxed) == idle;  // relaxed: for assertions
  }

 private:
  static constexpr std::uintptr_t idle = 0;
  static constexpr std::uintptr_t busy = 1;  // no message has this address: messages are aligned

  std::atomic<std::uintptr_t> word_{idle};
};

}  // namespace detail
}  // namespace actors
}  // namespace v1
}  // namespace shunt
