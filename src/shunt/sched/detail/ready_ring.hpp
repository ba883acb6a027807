/// Who runs, and started fibers that are ready, first in first out, and where those among them stopped that have
/// yielded.
///
///   wide:    | . | . | f0 | f1 | f2 | ... | . | . |       region: the whole memory
///                      ^ head: next         ^ tail: who is pushed
///   closed:          | f5 | f6 | me | f1 | ... | f4 |     region: a seat for each that is ready or runs
///                                ^ mine: tail; head is the next one
///
/// Fibers that do nothing but yield take their turns in one order. Once nobody has come for a whole round, the region
/// is closed round them: then a yield stores where it stopped in its own seat, and goes on at the next one. It touches
/// neither block, its own or the next; seats lie side by side, so the processor fetches them ahead, and the one word
/// that each yield reads from the last one is `mine`, which says who runs, too. Whoever parks leaves a gap, which the
/// next one to come fills; one more than there are seats opens the region, which moves its seats once.
///
/// Invariants
///   S1  A ready fiber's place is in its seat if `at.sp` is not null, else in its block.
///   S2  In the whole memory a seat whose `at.sp` is not null, and whose fiber does not run, says where that fiber
///       stopped. So who looks from outside needs to know neither region nor head.
///   S3  `mine` is not null while a fiber runs that may yield straight to the next seat, and only then: all seats of
///       the region but that one are taken. leave_seat() comes before anything else is done with the ring.
///   S4  While it is not, `running` is who had such a seat first, hence not null.
///
/// Memory is reserved when a fiber starts, so that push() cannot fail.
///
/// One thread's. Cost: push and pop constant, but for one push a round at most, which opens: about a nanosecond a seat.
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

struct seat {
  context::place at;  // S1
  fiber* who = nullptr;
};

class ready_ring {
 public:
  constexpr ready_ring() = default;
  ~ready_ring() { std::free(memory_); }
  ready_ring(const ready_ring&) = delete;
  ready_ring& operator=(const ready_ring&) = delete;

  /// Null: none.
  [[nodiscard]] fiber* running() const noexcept { return mine_ != nullptr ? mine_->who : running_; }
  /// Whether somebody does: one load.
  [[nodiscard]] bool anybody_runs() const noexcept { return running_ != nullptr; }  // S4
  void set_running(fiber* f) noexcept {
    leave_seat();
    running_ = f;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// Room for so many, the running one included. \throws std::bad_alloc
  void reserve(std::size_t fibers) {
    if (fibers > capacity_) grow(fibers);
  }

  void push(fiber* f) noexcept {
    leave_seat();
    SHUNT_ASSERT(count_ < capacity_);
    if (count_ == room_) [[unlikely]]
      open();
    tail_->who = f;
    tail_ = after(tail_);
    ++count_;
  }
  /// Not of an empty one. Where it stopped is in its block again.
  [[nodiscard]] fiber* pop() noexcept {
    fiber* const f = take_first();
    if (count_ > blocks_ahead) {
      __builtin_prefetch(ahead(blocks_ahead).who);
      const seat& soon = ahead(stacks_ahead);
      __builtin_prefetch(soon.at.sp != nullptr ? soon.at.sp : soon.who->run.sp);
    }
    return f;
  }
  /// The same for who parks: a round of such fibers is long, system calls in it, so what was asked for many places
  /// ahead would be gone again, and a miss on the way to it would hold up the next call. Of the next one more is asked
  /// for: the frames that it will return through.
  [[nodiscard]] fiber* pop_after_park() noexcept {
    fiber* const f = take_first();
    if (count_ > 2) ahead(2).who->prefetch();
    if (count_ > 0) ahead(0).who->prefetch_frames();
    return f;
  }

  /// The running fiber is about to yield: closes the region round it and those that are ready, if nobody has come
  /// for a round, and they lie in one piece.
  void close() noexcept {
    leave_seat();
    if (!context::places_suffice || --until_close_ > 0 || head_ >= tail_) return;
    until_close_ = 1;
    low_ = head_;
    high_ = tail_ + 1;
    room_ = count_ + 1;
  }
  /// The running one may yield straight to the next one, if there is a seat for it (S3).
  void take_seat() noexcept {
    if (!context::places_suffice || count_ == 0 || count_ + 1 != room_) return;
    tail_->who = running_;
    std::atomic_signal_fence(
        std::memory_order_release);  // who interrupts this thread finds no seat, or one that says whose
    mine_ = tail_;
  }
  void leave_seat() noexcept {
    if (mine_ == nullptr) return;
    running_ = mine_->who;
    std::atomic_signal_fence(std::memory_order_release);  // who interrupts this thread finds him here or there
    tail_ = mine_;
    head_ = after(mine_);
    mine_->at.sp = nullptr;
    mine_ = nullptr;
  }

  // A yield's, which goes from `mine` to the one after it.
  [[nodiscard]] seat* mine() const noexcept { return mine_; }
  [[nodiscard]] seat* after(seat* s) const noexcept { return s + 1 == high_ ? low_ : s + 1; }
  void move_on_to(seat* s) noexcept { mine_ = s; }
  [[gnu::always_inline]] static void ask_ahead(const seat* s) noexcept {
    __builtin_prefetch(s[stacks_ahead].at.sp);  // there are so many behind the last one; what they hold may be old
  }

  /// Writes down in the blocks where fibers stopped, but for the running one's. Amid anything but open(), even in a
  /// signal handler.
  void show_places() const noexcept {
    const fiber* const runs = running();
    for (std::size_t i = 0; i < capacity_; ++i) {
      const seat& s = memory_[i];
      if (s.at.sp != nullptr && s.who != runs) static_cast<context::place&>(s.who->run) = s.at;  // S2
    }
  }
  /// Amid open(): for who has interrupted this thread.
  [[nodiscard]] bool moves() const noexcept { return room_ == 0 && capacity_ != 0; }

  // Offsets for debuggers: of the memory's address, of the number of its seats, four bytes, of `mine` and of `running`.
  [[nodiscard]] static constexpr std::size_t memory_at() noexcept;
  [[nodiscard]] static constexpr std::size_t capacity_at() noexcept;
  [[nodiscard]] static constexpr std::size_t mine_at() noexcept;
  [[nodiscard]] static constexpr std::size_t running_at() noexcept;

 private:
  static constexpr std::uint32_t blocks_ahead = 16;
  static constexpr std::uint32_t stacks_ahead = 12;

  fiber* take_first() noexcept {
    leave_seat();
    seat* const s = head_;
    head_ = after(s);
    --count_;
    fiber* const f = s->who;
    if (s->at.sp != nullptr) {
      static_cast<context::place&>(f->run) = s->at;
      s->at.sp = nullptr;
    }
    return f;
  }
  /// So many places behind the first one; there are as many.
  [[nodiscard]] const seat& ahead(std::uint32_t places) const noexcept {
    const auto to_end = static_cast<std::size_t>(high_ - head_);
    return places < to_end ? head_[places] : low_[places - to_end];
  }
  void open() noexcept;
  void grow(std::size_t fibers);

  // What a yield needs.
  seat* mine_ = nullptr;  // S3
  seat* low_ = nullptr;   // the region
  seat* high_ = nullptr;

  fiber* running_ = nullptr;  // S4

  seat* head_ = nullptr;
  seat* tail_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t room_ = 0;  // seats in the region; 0: they move
  std::uint32_t capacity_ = 0;
  // So many yields more without a push that opens, and the region is closed: a round, so that opening costs a fraction
  // of it.
  std::int32_t until_close_ = 1;
  seat* memory_ = nullptr;
};

constexpr std::size_t ready_ring::memory_at() noexcept { return offsetof(ready_ring, memory_); }
constexpr std::size_t ready_ring::capacity_at() noexcept { return offsetof(ready_ring, capacity_); }
constexpr std::size_t ready_ring::mine_at() noexcept { return offsetof(ready_ring, mine_); }
constexpr std::size_t ready_ring::running_at() noexcept { return offsetof(ready_ring, running_); }

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
