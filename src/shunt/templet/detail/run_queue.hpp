/// A worker's queue of actors. Its owner pushes at the back. The owner pops, and thieves steal, at the front; a thief
/// takes half of the items at once.
///
///        front_                 back_
///          v                      v
///   ....   | oldest | .. | newest |  free         slot = position & (Slots - 1)
///          ^ pop, steal           ^ push
///
/// Invariants
///   run_queue.Q1  back_ is stored by the owner only. Both only grow.
///   run_queue.Q2  Items leave by an exchange of front_, one or several at once: so each leaves once.
///   run_queue.Q3  Slots [front_, back_) hold items. A slot is written again only when front_ has passed it: a thread
///       that read a slot before its exchange of front_ succeeded has read the item that it then owns.
///
/// Edges
///   `filled`   push -> pop, steal_half              what lies behind the item, beyond what the item itself hands over
///   `vacated`  pop, steal_half -> push              the slots before front_ have been read, and may be written
///              pop, steal_half -> steal_half, look  back_ was at least as large as this front_
///
/// Pair `sleeping` (scheduler.hpp): push() stores back_ seq_cst, and looks_empty() reads back_ seq_cst.
///
/// Source: the queue of Go's processors and of tokio's workers, with the copy before the exchange.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <shunt/base/cache_line.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

template <typename T, std::size_t Slots>
class run_queue {
  static_assert(std::has_single_bit(Slots) && Slots >= 2);

 public:
  /// Owner only. \return false: it is full, nothing was pushed.
  [[nodiscard]] bool push(T* item) noexcept {
    const auto back = back_.load(std::memory_order_relaxed);  // relaxed: run_queue.Q1
    if (back >= limit_) [[unlikely]] {
      // acquire: edge `vacated` in. The threads that emptied the slots have read them (run_queue.Q3).
      limit_ = front_.load(std::memory_order_acquire) + Slots;
      if (back >= limit_) return false;
    }
    slot(back).store(item, std::memory_order_relaxed);  // relaxed: edge `filled` follows
    back_.store(back + 1, std::memory_order_seq_cst);   // edge `filled` out; seq_cst: pair `sleeping`
    return true;
  }

  /// Owner only. \return the oldest item; nullptr if there is none.
  [[nodiscard]] T* pop() noexcept {
    T* item = nullptr;
    return pop(item) ? item : nullptr;
  }
  /// The same. \return whether there was one, and `item` is it.
  [[nodiscard]] bool pop(T*& item) noexcept {
    auto front = front_.load(std::memory_order_relaxed);      // relaxed: the exchange decides
    const auto back = back_.load(std::memory_order_relaxed);  // relaxed: run_queue.Q1
    while (front != back) {
      item = slot(front).load(std::memory_order_relaxed);  // relaxed: own store, or own copy
      // release: edge `vacated` out (run_queue.Q3). relaxed: this thread does not use what others took.
      if (front_.compare_exchange_weak(front, front + 1, std::memory_order_release, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// The owner of `mine`, which is empty, and not this: moves half of the items, the oldest, the odd one too.
  /// \return the oldest of them, which is in no queue; nullptr if there was none, or another thread was faster.
  [[nodiscard]] T* steal_half(run_queue& mine) noexcept {
    auto front = front_.load(std::memory_order_acquire);      // edge `vacated` in: else the count may be negative
    const auto back = back_.load(std::memory_order_acquire);  // edge `filled` in
    const auto count = std::min<std::uint64_t>((back - front + 1) / 2, Slots / 2);
    if (count == 0 || back - front > Slots) return nullptr;         // the second: front is an old one
    T* const oldest = slot(front).load(std::memory_order_relaxed);  // relaxed: as those below
    const auto to = mine.back_.load(std::memory_order_relaxed);     // relaxed: run_queue.Q1
    for (std::uint64_t i = 1; i < count; ++i) {
      // relaxed: edge `filled`; mine.back_ follows
      mine.slot(to + i - 1).store(slot(front + i).load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    // acq_rel: edge `filled` goes on to a thread that steals from this one; release: edge `vacated` out
    // (run_queue.Q3). relaxed: then nothing is taken.
    if (!front_.compare_exchange_strong(front, front + count, std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return nullptr;
    }
    if (count > 1) mine.back_.store(to + count - 1, std::memory_order_seq_cst);  // edge `filled` out
    return oldest;
  }

  /// Any thread. What the queue held a moment ago.
  struct snapshot {
    std::uint64_t front;
    std::uint64_t items;
  };
  [[nodiscard]] snapshot look() const noexcept {
    const auto front = front_.load(std::memory_order_acquire);  // edge `vacated` in: back_ is not less, as above
    // No caller reads an item by this count, so acquire, the in half of edge `filled`, is more than the load needs.
    return {front, back_.load(std::memory_order_acquire) - front};
  }

  /// Any thread. A sleeper that announced itself by a seq_cst operation before this call sees every push that did not
  /// see the announcement.
  [[nodiscard]] bool looks_empty() const noexcept {
    // back_: pair `sleeping`. front_: an old value is smaller, and makes the queue look filled; so its seq_cst is more
    // than the pair needs.
    return front_.load(std::memory_order_seq_cst) >= back_.load(std::memory_order_seq_cst);
  }

 private:
  std::atomic<T*>& slot(std::uint64_t position) noexcept { return slots_[position & (Slots - 1)]; }

  alignas(quiet_distance) std::atomic<std::uint64_t> front_{0};
  alignas(quiet_distance) std::atomic<std::uint64_t> back_{0};
  std::uint64_t limit_ = Slots;  // the owner's: back_ may get so far without a look at front_
  alignas(quiet_distance) std::atomic<T*> slots_[Slots] = {};
};

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
