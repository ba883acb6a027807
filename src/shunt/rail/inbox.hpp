/// A many-to-one inbox: any thread puts a node in with one compare-and-swap, the owner takes all.
///
///   word_:  empty   no node is in
///           asleep  the same, and the owner sleeps
///           chain   newest node -> ... -> oldest node
///
///   state    push(n)              take_all()        arm()             disarm()
///   empty    -> chain, nothing    -> empty, none    -> asleep, true   breach of contract
///   asleep   -> chain, wake       breach            breach            -> empty
///   chain    -> chain, nothing    -> empty, nodes   -> chain, false   -> chain
///
/// Edge: a release exchange, and the acquire exchange that it feeds
///   filled   push -> take_all     the node and what it carries. A chain that several threads built is covered whole:
///                                 each push is a read-modify-write in the release sequence of those before it.
///
/// Source: the chain is Treiber's stack (IBM RJ 5118, 1986) whose consumer takes everything, which rules out the ABA
/// problem; the sentinel is as in Java's SynchronousQueue and tokio's wakers.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/chain.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace rail {

/// What the caller owes after push().
enum class [[nodiscard]] after_push : std::uint8_t { nothing, wake };

/// \tparam Node  has a public member `Node* next`, which the inbox uses while it holds the node.
template <class Node>
class inbox {
 public:
  inbox() = default;
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Any thread. Never waits. The inbox holds the node until take_all() returns it.
  /// \return wake: the owner sleeps, and this caller, no other, must wake it.
  after_push push(Node& node) noexcept {
    prefetch_to_write(reinterpret_cast<std::uintptr_t>(&word_));  // else it comes twice: to be read, and to be written
    auto seen = word_.load(std::memory_order_relaxed);            // relaxed: a guess; the exchange below decides
    for (;;) {
      node.next = seen == asleep ? nullptr : reinterpret_cast<Node*>(seen);
      // release: edge `filled`. No acquire: a push reads nothing of other nodes.
      // relaxed on failure: the next round decides.
      if (word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&node), std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return seen == asleep ? after_push::wake : after_push::nothing;
      }
    }
  }

  /// Owner only. Whether a node is in, so that take_all() is worth its exchange.
  [[nodiscard]] bool any() const noexcept {
    return word_.load(std::memory_order_relaxed) > asleep;  // relaxed: only a hint
  }

  /// Owner only, awake. Every node put in so far, oldest first, linked by `next`; or nullptr.
  [[nodiscard]] Node* take_all() noexcept {
    const auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    if (seen <= asleep) return nullptr;
    // The owner will read the node next, and what lies behind its link. They come while the exchange fetches the word.
    prefetch_to_write(seen);
    prefetch_to_write(seen + cache_line);
    // acquire: edge `filled`.
    auto* newest = reinterpret_cast<Node*>(word_.exchange(empty, std::memory_order_acquire));
    return turned_round<&Node::next>(newest);
  }

  /// Owner only, awake, before it sleeps. \return true: the next push returns `wake`. False: a node is in, do not
  /// sleep.
  [[nodiscard]] bool arm() noexcept {
    auto expected = empty;
    // relaxed: nothing is handed over; the modification order of the word decides whether push() or arm() comes first.
    return word_.compare_exchange_strong(expected, asleep, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  /// Owner only, after arm() returned true, whether or not a push has woken it.
  void disarm() noexcept {
    auto expected = asleep;
    // relaxed: as for arm(). Failure means a chain is in already.
    word_.compare_exchange_strong(expected, empty, std::memory_order_relaxed, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t empty = 0;
  static constexpr std::uintptr_t asleep = 1;  // no node has this address: nodes are aligned

  alignas(quiet_distance) std::atomic<std::uintptr_t> word_{empty};
};

}  // namespace rail
}  // namespace v1
}  // namespace shunt
