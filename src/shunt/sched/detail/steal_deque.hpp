/// A double-ended queue: its owner pushes and takes at the bottom, thieves steal at the top.
///
///        top_                 bottom_
///          v                     v
///   ....   | oldest | . | newest |          slot = index & (capacity - 1)
///          ^ steal               ^ push, take
///
/// Invariants
///   steal_deque.D1  top_ only grows, by compare-exchange. Only the owner stores bottom_.
///   steal_deque.D2  Slots [top_, bottom_) hold items. A slot is overwritten only when top_ has passed it.
///   steal_deque.D3  The last item goes to the thread that moves top_: owner and thief both compete for it there.
///   steal_deque.D4  An array that was replaced stays readable until the deque ends: a thief may hold it.
///
/// Edges
///   pushed    push -> steal    the item's contents (store and load of bottom_)
///   arrays    grow -> steal    the new array's contents (store and load of array_)
///
/// take() stores bottom_ and then reads top_; steal() reads top_ and then bottom_. For steal_deque.D3 these four are in
/// one total order, so they are seq_cst operations. (Fences would be slightly cheaper, but ThreadSanitizer does not
/// know them.) push() stores bottom_ seq_cst as well, and looks_empty() reads it so: pair `asleep` of sleepers.hpp, see
/// DESIGN.md, "No worker sleeps on work".
///
/// Source: Chase, Lev: Dynamic circular work-stealing deque. SPAA 2005, doi:10.1145/1073970.1073974;
/// orderings after Le, Pop, Cohen, Zappa Nardelli, PPoPP 2013, doi:10.1145/2442516.2442524.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

template <typename T>
class steal_deque {
 public:
  /// \param slots  room to begin with: a power of two, at least 2.
  explicit steal_deque(std::size_t slots = 256) {
    SHUNT_ASSERT(std::has_single_bit(slots) && slots >= 2);
    arrays_.push_back(std::make_unique<array>(slots));
    array_.store(arrays_.back().get(), std::memory_order_relaxed);  // relaxed: not shared yet
  }

  /// Owner only. \throws std::bad_alloc if it must grow and cannot; nothing is pushed then.
  void push(T* item) {
    const auto bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: steal_deque.D1
    const auto top = top_.load(std::memory_order_acquire);        // acquire: a thief's read precedes our overwrite
    auto* slots = array_.load(std::memory_order_relaxed);         // relaxed: only the owner stores it
    if (bottom - top >= slots->size()) slots = grow(slots, top, bottom);
    slots->at(bottom).store(item, std::memory_order_relaxed);  // relaxed: edge `pushed` follows
    bottom_.store(bottom + 1, std::memory_order_seq_cst);      // edge `pushed` out; seq_cst: pair `asleep`
  }

  /// Owner only. \return the newest item; nullptr if there is none, or a thief won the last.
  [[nodiscard]] T* take() noexcept {
    const auto bottom = bottom_.load(std::memory_order_relaxed);  // relaxed: steal_deque.D1
    // A look first: most calls find nothing, and then cost no seq_cst store.
    // relaxed: top_ may be stale, that is too small; then the exact part below decides.
    if (bottom - top_.load(std::memory_order_relaxed) <= 0) return nullptr;
    const auto last = bottom - 1;
    // seq_cst, both: steal_deque.D3, see above.
    bottom_.store(last, std::memory_order_seq_cst);
    auto top = top_.load(std::memory_order_seq_cst);
    if (top > last) {
      bottom_.store(bottom, std::memory_order_release);  // was empty; keeps edge `pushed` whole
      return nullptr;
    }
    auto* const slots = array_.load(std::memory_order_relaxed);       // relaxed: only the owner stores
    T* const item = slots->at(last).load(std::memory_order_relaxed);  // relaxed: our own store
    if (top < last) return item;
    const bool ours = top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed);  // steal_deque.D3
    bottom_.store(bottom, std::memory_order_release);                           // release: keeps edge `pushed` whole
    return ours ? item : nullptr;
  }

  /// Any thread. \return the oldest item; nullptr if there is none, or another thread took it.
  [[nodiscard]] T* steal() noexcept {
    auto top = top_.load(std::memory_order_seq_cst);              // steal_deque.D3
    const auto bottom = bottom_.load(std::memory_order_seq_cst);  // edge `pushed` in
    if (top >= bottom) return nullptr;
    auto* const slots = array_.load(std::memory_order_acquire);  // edge `arrays` in
    // relaxed: may be a newer item than the one meant, if the slot went round (steal_deque.D2); then top_ has
    // moved, and the exchange fails.
    T* const item = slots->at(top).load(std::memory_order_relaxed);
    return top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed) ? item
                                                                                                            : nullptr;
  }

  /// Any thread. A sleeper that announced itself by a seq_cst operation before this call sees every
  /// push that did not see the announcement.
  [[nodiscard]] bool looks_empty() const noexcept {
    // bottom_: pair `asleep`. top_: an old value is smaller, and makes the deque look filled; so its seq_cst is more
    // than the pair needs.
    return bottom_.load(std::memory_order_seq_cst) <= top_.load(std::memory_order_seq_cst);
  }

 private:
  class array {
   public:
    explicit array(std::size_t slots) : mask_(slots - 1), slots_(std::make_unique<std::atomic<T*>[]>(slots)) {}
    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(mask_ + 1); }
    [[nodiscard]] std::atomic<T*>& at(std::int64_t index) noexcept {
      return slots_[static_cast<std::size_t>(index) & mask_];
    }

   private:
    std::size_t mask_;
    std::unique_ptr<std::atomic<T*>[]> slots_;
  };

  array* grow(array* old, std::int64_t top, std::int64_t bottom) {
    arrays_.push_back(std::make_unique<array>(2 * static_cast<std::size_t>(old->size())));
    auto* const bigger = arrays_.back().get();
    for (auto i = top; i < bottom; ++i) {
      // relaxed: edge `arrays` follows
      bigger->at(i).store(old->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    array_.store(bigger, std::memory_order_release);  // edge `arrays` out
    return bigger;
  }

  alignas(quiet_distance) std::atomic<std::int64_t> top_{0};
  alignas(quiet_distance) std::atomic<std::int64_t> bottom_{0};
  std::atomic<array*> array_{nullptr};
  std::vector<std::unique_ptr<array>> arrays_;  // owner only; all are kept (steal_deque.D4)
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
