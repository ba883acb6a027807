/// The running fiber, and the started fibers that are ready, first in first out; and, of those that have yielded, where
/// they stopped.
///
///   wide:    | . | . | f0 | f1 | f2 | ... | . | . |       region: the whole memory
///                      ^ head: next         ^ tail: the next push
///   closed:          | f5 | f6 | me | f1 | ... | f4 |     region: one slot for each fiber that is ready or runs
///                                ^ current: tail; head is the next one
///
/// Fibers that do nothing but yield take their turns in one order. After a whole round without another arrival the
/// region is closed round them. From then on a yield stores where it stopped in its own slot, and continues at the next
/// slot. It touches neither its own block nor the next fiber's. Slots lie side by side, so the processor fetches them
/// ahead. The one word that each yield reads from the last one is `current_`, which also says which fiber runs. A fiber
/// that parks leaves a gap, which the next arrival fills; an arrival without a gap opens the region, which moves its
/// slots once.
///
/// Invariants
///   ready_ring.S1  A ready fiber's place is in its slot if `at.sp` is not null, else in its block.
///   ready_ring.S2  In the whole memory, a slot whose `at.sp` is not null, and whose occupant does not run, says
///                  where that fiber stopped. So an observer needs to know neither region nor head.
///   ready_ring.S3  `current_` is not null exactly while a fiber runs that may yield straight to the next slot: all
///                  slots of the region but that one are taken. leave_slot() comes before anything else is done with
///                  the ring.
///   ready_ring.S4  While `current_` is not null, `running_` is the first fiber that had such a slot, hence not null.
///   ready_ring.S5  A signal handler on the owner's thread may call running() and moves() at any time. running() is
///                  right: the slot that `current_` names has its occupant, and `running_` is set before `current_`
///                  becomes null. While open() moves slots, `region_` is 0. Signal fences keep the compiler from
///                  reordering these stores.
///
/// Memory is reserved when a fiber starts, so that push() cannot fail.
///
/// Owner only: one thread. Cost: push and pop are constant, except for at most one push a round, which opens: about a
/// nanosecond a slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <shunt/base/error.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct slot {
  context::place at;  // ready_ring.S1
  fiber* occupant = nullptr;
};

class ready_ring {
 public:
  constexpr ready_ring() = default;
  ~ready_ring() { std::free(memory_); }
  ready_ring(const ready_ring&) = delete;
  ready_ring& operator=(const ready_ring&) = delete;

  /// The running fiber; null: none.
  [[nodiscard]] fiber* running() const noexcept { return current_ != nullptr ? current_->occupant : running_; }
  /// Whether a fiber runs: one load.
  [[nodiscard]] bool has_running() const noexcept { return running_ != nullptr; }  // ready_ring.S4
  void set_running(fiber* f) noexcept {
    leave_slot();
    running_ = f;
  }
  /// The same, for a caller that knows that a fiber runs, without a slot.
  [[nodiscard]] fiber* running_without_slot() const noexcept {
    SHUNT_ASSERT(current_ == nullptr && running_ != nullptr);
    return running_;
  }
  /// That fiber makes way for `f`, which gets a slot if there is one.
  void go_on_with(fiber* f) noexcept {
    running_ = f;
    take_slot();
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Makes room for so many fibers, the running one included. \throws std::bad_alloc
  void reserve(std::size_t fibers) {
    if (fibers > capacity_) grow(fibers);
  }

  void push(fiber* f) noexcept {
    leave_slot();
    SHUNT_ASSERT(count_ < capacity_);
    if (count_ == region_) [[unlikely]]
      open();
    tail_->occupant = f;
    tail_ = after(tail_);
    ++count_;
  }
  /// Not on an empty ring (contract). Afterwards the block says again where the fiber stopped.
  [[nodiscard]] fiber* pop() noexcept {
    fiber* const f = take_first();
    if (count_ > blocks_ahead) {
      __builtin_prefetch(ahead(blocks_ahead).occupant);
      const slot& soon = ahead(stacks_ahead);
      __builtin_prefetch(soon.at.sp != nullptr ? soon.at.sp : soon.occupant->run.sp);
    }
    return f;
  }
  /// The same for a fiber that parks. A round of such fibers is long and contains system calls: what was prefetched
  /// many places ahead would be evicted again, and a miss on the way to it would delay the next call. So only the next
  /// fiber is prefetched, and more of it: the frames that it will return through.
  [[nodiscard]] fiber* pop_after_park() noexcept {
    fiber* const f = take_first();
    if (count_ > 2) ahead(2).occupant->prefetch();
    if (count_ > 0) ahead(0).occupant->prefetch_frames();
    return f;
  }

  /// The running fiber is about to yield. Closes the region round it and the ready fibers, if no other fiber has come
  /// for a round, and if they lie in one piece.
  void close() noexcept {
    leave_slot();
    if (!context::places_suffice || --until_close_ > 0 || head_ >= tail_) return;
    until_close_ = 1;
    low_ = head_;
    high_ = tail_ + 1;
    region_ = count_ + 1;
  }
  /// Lets the running fiber yield straight to the next one, if there is a slot for it (ready_ring.S3).
  void take_slot() noexcept {
    if (!context::places_suffice || count_ == 0 || count_ + 1 != region_) return;
    tail_->occupant = running_;
    // ready_ring.S5: a signal handler on this thread finds no slot, or one whose occupant is right.
    std::atomic_signal_fence(std::memory_order_release);
    current_ = tail_;
  }
  void leave_slot() noexcept {
    if (current_ == nullptr) return;
    running_ = current_->occupant;
    // ready_ring.S5: a signal handler on this thread finds the running fiber in one of the two.
    std::atomic_signal_fence(std::memory_order_release);
    tail_ = current_;
    head_ = after(current_);
    current_->at.sp = nullptr;
    current_ = nullptr;
  }

  // For a yield, which goes from the current slot to the one after it.
  [[nodiscard]] slot* current() const noexcept { return current_; }
  [[nodiscard]] slot* after(slot* s) const noexcept { return s + 1 == high_ ? low_ : s + 1; }
  void advance_to(slot* s) noexcept { current_ = s; }
  [[gnu::always_inline]] static void prefetch_ahead(const slot* s) noexcept {
    // The memory has so many slots behind the last one; an old address in them does no harm.
    __builtin_prefetch(s[stacks_ahead].at.sp);
  }

  /// Writes into the blocks where their fibers stopped, except for the running fiber. A signal handler may call it amid
  /// every function but two, which move slots: open(), of which moves() tells, and grow(), which also frees the old
  /// ones. grow() runs on the loop's stack; a handler that finds this thread there does not call this.
  void show_places() const noexcept {
    const fiber* const runs = running();
    for (std::size_t i = 0; i < capacity_; ++i) {
      const slot& s = memory_[i];
      if (s.at.sp != nullptr && s.occupant != runs)
        static_cast<context::place&>(s.occupant->run) = s.at;  // ready_ring.S2
    }
  }
  /// In a signal handler on this thread: whether it has interrupted open().
  [[nodiscard]] bool moves() const noexcept { return region_ == 0 && capacity_ != 0; }

  // Offsets for debuggers: of the memory's address, of the number of its slots (four bytes), of `current_`, of
  // `running_`.
  [[nodiscard]] static constexpr std::size_t memory_at() noexcept;
  [[nodiscard]] static constexpr std::size_t capacity_at() noexcept;
  [[nodiscard]] static constexpr std::size_t current_at() noexcept;
  [[nodiscard]] static constexpr std::size_t running_at() noexcept;

 private:
  static constexpr std::uint32_t blocks_ahead = 16;
  static constexpr std::uint32_t stacks_ahead = 12;

  fiber* take_first() noexcept {
    leave_slot();
    slot* const s = head_;
    head_ = after(s);
    --count_;
    fiber* const f = s->occupant;
    if (s->at.sp != nullptr) {
      static_cast<context::place&>(f->run) = s->at;
      s->at.sp = nullptr;
    }
    return f;
  }
  /// The slot so many places behind the first one; there are that many (contract).
  [[nodiscard]] const slot& ahead(std::uint32_t places) const noexcept {
    const auto to_end = static_cast<std::size_t>(high_ - head_);
    return places < to_end ? head_[places] : low_[places - to_end];
  }
  void open() noexcept;
  void grow(std::size_t fibers);

  // What a yield needs.
  slot* current_ = nullptr;  // ready_ring.S3
  slot* low_ = nullptr;      // the region
  slot* high_ = nullptr;

  fiber* running_ = nullptr;  // ready_ring.S4

  slot* head_ = nullptr;
  slot* tail_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t region_ = 0;  // slots in the region; 0: open() moves them
  std::uint32_t capacity_ = 0;
  // The region is closed after so many more yields without a push that opens it: a round, so that opening costs a
  // fraction of that round.
  std::int32_t until_close_ = 1;
  slot* memory_ = nullptr;
};

constexpr std::size_t ready_ring::memory_at() noexcept { return offsetof(ready_ring, memory_); }
constexpr std::size_t ready_ring::capacity_at() noexcept { return offsetof(ready_ring, capacity_); }
constexpr std::size_t ready_ring::current_at() noexcept { return offsetof(ready_ring, current_); }
constexpr std::size_t ready_ring::running_at() noexcept { return offsetof(ready_ring, running_); }

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
