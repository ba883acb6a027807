/// How other threads reach a worker: a stack of fibers, and whether it sleeps, in one word.
///
///   state       push(f)              unpark()              arm()                drain()
///   empty       -> list, nothing     -> notified, nothing  -> asleep, sleep     -> empty, none
///   notified    -> list, nothing     -> notified, nothing  -> empty,  stay      -> empty, none
///   asleep      -> list, wake        -> notified, wake     breach of contract   -> empty, none
///   list        -> list, nothing     -> list,     nothing  -> list,   stay      -> empty, the list
///
/// Only the owner calls arm() and drain(). With drain() it also stops being asleep, after a wake or when its time ran
/// out.
///
/// Invariants
///   fiber_inbox.I1  Exactly one of push, unpark and drain ends `asleep`. The caller that is told `wake` calls the
///                   parker's unpark(), once.
///   fiber_inbox.I2  A fiber is in at most one list: its state word decides which thread enqueues it
///                   (fiber_state.hpp).
///
/// Edge `sent`, any thread -> owner: what was written before push() or unpark() is visible after drain(), or after an
/// arm() that says `stay`. Every transition is written, those that change nothing too.
#pragma once

#include <atomic>
#include <cstdint>

#include <shunt/base/chain.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// What the caller owes after push() or unpark(): `wake` is parker::unpark().
enum class [[nodiscard]] after_push : std::uint8_t { nothing, wake };
/// What the owner may do after arm().
enum class [[nodiscard]] after_arm : std::uint8_t { sleep, stay };

/// \tparam Node  has a member `Node* link`, which the inbox uses while the node is in it. At least
///               4-aligned: the two lowest values of the word are states.
template <typename Node>
class inbox {
 public:
  /// Any thread. Never waits; O(1) but for contention.
  after_push push(Node* node) noexcept {
    static_assert(alignof(Node) >= 4);
    auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    do {
      node->link = is_list(seen) ? to_node(seen) : nullptr;
      // release: edge `sent` out. acquire: the order among pushers' nodes, for link chains.
    } while (!word_.compare_exchange_weak(seen, from_node(node), std::memory_order_acq_rel, std::memory_order_relaxed));
    return seen == asleep ? after_push::wake : after_push::nothing;
  }

  /// Any thread.
  after_push unpark() noexcept {
    auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    for (;;) {
      const auto next = is_list(seen) ? seen : notified;
      // acq_rel: edge `sent` out, and the earlier pushers' halves stay in the chain.
      if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        return seen == asleep ? after_push::wake : after_push::nothing;
      }
    }
  }

  /// Owner only.
  after_arm arm() noexcept {
    auto seen = empty;
    // acquire on failure: edge `sent` in, from unpark(). On success nothing was sent. seq_cst: stuck_detector.T1.
    if (word_.compare_exchange_strong(seen, asleep, std::memory_order_seq_cst, std::memory_order_acquire)) {
      return after_arm::sleep;
    }
    SHUNT_ASSERT(seen != asleep);
    if (seen == notified) {
      // acquire: edge `sent` in. Only a push or unpark can come between; then the exchange takes its `sent` along.
      // release: what this worker did stays ordered before a later unpark().
      word_.compare_exchange_strong(seen, empty, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    return after_arm::stay;
  }

  /// Owner only. \return the first node that was pushed, linked to the later ones; nullptr for none.
  [[nodiscard]] Node* drain() noexcept {
    // acquire: edge `sent` in. release: what this worker did stays ordered before a later unpark().
    auto seen = word_.exchange(empty, std::memory_order_acq_rel);
    if (!is_list(seen)) return nullptr;
    return turned_round<&Node::link>(to_node(seen));
  }

  /// Owner only: whether drain() would return a node. A look: a false may be stale.
  [[nodiscard]] bool has_nodes() const noexcept {
    return is_list(word_.load(std::memory_order_relaxed));  // relaxed: drain() takes the edge
  }

  /// Any thread: whether its owner has armed it, and nothing has come since. seq_cst: stuck_detector.T1.
  [[nodiscard]] bool is_armed() const noexcept { return word_.load(std::memory_order_seq_cst) == asleep; }

  /// Owner only: whether anything came at all, a node or an unpark().
  [[nodiscard]] bool has_anything() const noexcept {
    return word_.load(std::memory_order_relaxed) != empty;  // relaxed: drain() takes the edge
  }

 private:
  static constexpr std::uintptr_t empty = 0;
  static constexpr std::uintptr_t asleep = 1;
  static constexpr std::uintptr_t notified = 2;

  static bool is_list(std::uintptr_t word) noexcept { return word > notified; }
  static Node* to_node(std::uintptr_t word) noexcept { return reinterpret_cast<Node*>(word); }
  static std::uintptr_t from_node(Node* node) noexcept { return reinterpret_cast<std::uintptr_t>(node); }

  std::atomic<std::uintptr_t> word_{empty};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
