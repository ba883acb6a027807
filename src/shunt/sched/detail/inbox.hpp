/// How other threads reach a worker: a stack of fibers and of wakes, and whether it sleeps, in one word.
///
///   state       push(f), push_wake(f)   unpark()              arm()                drain()
///   empty       -> list, nothing        -> notified, nothing  -> asleep, sleep     -> empty, none
///   notified    -> list, nothing        -> notified, nothing  -> empty,  stay      -> empty, none
///   asleep      -> list, wake           -> notified, wake     breach of contract   -> empty, none
///   list        -> list, nothing        -> list,     nothing  -> list,   stay      -> empty, the list
///   closed      refused                 -> closed,   nothing  breach of contract   breach of contract
///
/// Only the owner calls arm() and drain(). With drain() it also stops being asleep, after a wake or when its time ran
/// out. It calls close(), which drains as well, when it takes nothing any more, and open() when a new owner begins. A
/// fiber is not pushed to a closed inbox; a wake may be: its fiber has ended.
///
/// Invariants
///   fiber_inbox.I1  Exactly one of push, unpark and drain ends `asleep`. The caller that is told `wake` calls the
///                   parker's unpark(), once.
///   fiber_inbox.I2  A fiber is in at most one list: its state word decides which thread enqueues it
///                   (fiber_state.hpp). As a wake it is in at most one list: posted_wake.I1.
///
/// Edge `sent`, any thread -> owner: what was written before push() or unpark() is visible after drain(), or after an
/// arm() that says `stay`. Every transition is written, those that change nothing too.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// What the caller owes after push() or unpark(): `wake` is parker::unpark().
enum class [[nodiscard]] after_push : std::uint8_t { nothing, wake, refused };
/// What the owner may do after arm().
enum class [[nodiscard]] after_arm : std::uint8_t { sleep, stay };

/// \tparam Node  has members `Node* link` and `Node* wake_link`, which the inbox uses while the node, or its wake, is
///               in it. At least 4-aligned: the four lowest values of the word are states.
template <typename Node>
class inbox {
 public:
  /// What drain() returns, in the order in which it was pushed. A value; take each before the inbox's next push of the
  /// same node.
  class items {
   public:
    [[nodiscard]] bool empty() const noexcept { return first_ == 0; }
    /// Whether the first one is a wake.
    [[nodiscard]] bool is_wake() const noexcept { return inbox::is_wake(first_); }
    /// Takes the first one; its link is free then.
    [[nodiscard]] Node* pop() noexcept {
      Node* const node = to_node(first_);
      first_ = as_word(link_of(first_));
      return node;
    }

   private:
    friend inbox;
    explicit items(std::uintptr_t first) noexcept : first_(first) {}
    std::uintptr_t first_;
  };

  /// Any thread. Never waits; O(1) but for contention.
  after_push push(Node* node) noexcept { return push_word(as_word(node)); }
  /// Any thread. The same, of a wake for the node's fiber.
  after_push push_wake(Node* node) noexcept { return push_word(as_word(node) | wake_bit); }

  /// Any thread.
  after_push unpark() noexcept {
    auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    for (;;) {
      const auto next = is_list(seen) || seen == closed ? seen : notified;
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

  /// Owner only.
  [[nodiscard]] items drain() noexcept {
    // acquire: edge `sent` in. release: what this worker did stays ordered before a later unpark().
    return turned_round(word_.exchange(empty, std::memory_order_acq_rel));
  }

  /// Owner only: the last drain().
  [[nodiscard]] items close() noexcept {
    // acquire: edge `sent` in.
    return turned_round(word_.exchange(closed, std::memory_order_acquire));
  }
  /// The new owner, before another thread knows it.
  void open() noexcept { word_.store(empty, std::memory_order_relaxed); }  // relaxed: see above
  /// Any thread. A look.
  [[nodiscard]] bool is_closed() const noexcept {
    return word_.load(std::memory_order_relaxed) == closed;  // relaxed: posted_wake.I2 says what it must see
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
  static constexpr std::uintptr_t closed = 3;
  static constexpr std::uintptr_t wake_bit = 1;  // in a word that is a node's: it stands for its wake

  static bool is_list(std::uintptr_t word) noexcept { return word > closed; }
  static bool is_wake(std::uintptr_t word) noexcept { return (word & wake_bit) != 0; }
  static Node* to_node(std::uintptr_t word) noexcept { return reinterpret_cast<Node*>(word & ~wake_bit); }
  static std::uintptr_t as_word(Node* node) noexcept { return reinterpret_cast<std::uintptr_t>(node); }
  /// The link by which `word` is in the list: to the next word of it, or null.
  static Node*& link_of(std::uintptr_t word) noexcept {
    return is_wake(word) ? to_node(word)->wake_link : to_node(word)->link;
  }

  after_push push_word(std::uintptr_t word) noexcept {
    static_assert(alignof(Node) >= 4);
    auto seen = word_.load(std::memory_order_relaxed);  // relaxed: a guess; the exchange below decides
    do {
      if (seen == closed) [[unlikely]]
        return after_push::refused;
      link_of(word) = is_list(seen) ? reinterpret_cast<Node*>(seen) : nullptr;
      // release: edge `sent` out. acquire: the order among pushers' nodes, for link chains.
    } while (!word_.compare_exchange_weak(seen, word, std::memory_order_acq_rel, std::memory_order_relaxed));
    return seen == asleep ? after_push::wake : after_push::nothing;
  }

  /// The newest is first in the word; the oldest is first in what is returned.
  static items turned_round(std::uintptr_t word) noexcept {
    std::uintptr_t before = 0;
    while (is_list(word)) {
      const auto next = as_word(link_of(word));
      link_of(word) = reinterpret_cast<Node*>(before);
      before = std::exchange(word, next);
    }
    return items(before);
  }

  std::atomic<std::uintptr_t> word_{empty};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
