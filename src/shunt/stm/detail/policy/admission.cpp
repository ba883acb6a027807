#include <algorithm>
#include <bit>
#include <shunt/sched/fiber.hpp>
#include <shunt/stm/detail/engine/word.hpp>
#include <shunt/stm/detail/policy/admission.hpp>
#include <shunt/stm/detail/policy/class_record.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

void admission::add_last(queued& q) noexcept {
  queued** last = &first_;
  while (*last != nullptr) last = &(*last)->next;
  *last = &q;
  // relaxed, both: under the lock
  waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void admission::remove(const queued& q) noexcept {
  for (queued** at = &first_; *at != nullptr; at = &(*at)->next) {
    if (*at != &q) continue;
    *at = q.next;
    // relaxed, both: under the lock
    waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return;
  }
}

/// \return the place that `bit` may take: its own bit for a free one; the bit of a holder whose slice is over; 0: none.
std::uint64_t admission::place_for(std::uint64_t bit, time_point now) const noexcept {
  const auto holders = holders_.load(std::memory_order_relaxed);  // relaxed: under the lock
  if (std::popcount(holders) < places_) return bit;
  for (auto left = holders; left != 0; left &= left - 1) {
    const auto one = left & (~left + 1);
    if (now >= slices_[number(one)].over) return one;
  }
  return 0;
}

/// Of the holders' slices.
time_point admission::first_end() const noexcept {
  auto first = time_point::max() - wait_beyond_slice;
  // relaxed: under the lock
  for (auto left = holders_.load(std::memory_order_relaxed); left != 0; left &= left - 1)
    first = std::min(first, slices_[number(left)].over);
  return first;
}

/// `bit` holds a place now: wakes its other fibers in the queue, then gives it a slice as long as all their turns.
void admission::begin_slice(std::uint64_t bit, time_point now) noexcept {
  int fibers = 1;
  queued* second = nullptr;  // woken last, because the fiber woken last runs next: they run in the queue's order
  for (queued* q = first_; q != nullptr; q = q->next) {
    if (q->bit != bit) continue;
    ++fibers;
    if (second == nullptr) {
      second = q;
    } else {
      q->wait.wake();
    }
  }
  if (second != nullptr) second->wait.wake();
  const std::chrono::nanoseconds fair = std::max(least_slice, fibers * turn_time);
  auto& mine = slices_[number(bit)];
  mine.left = fair + std::clamp(mine.left, fair.zero(), most_saved_slices * fair);  // with the rest of the last one
  mine.over = now + mine.left;
}

/// Tries to hold a place; else queues, and waits until it is woken, or a holder's slice has been over for some time.
void admission::enter(std::uint64_t bit, const class_record& c) {
  queued me{bit};
  bool is_queued = false;
  for (;;) {
    const auto now = stm::detail::now();
    time_point until;
    {
      const std::scoped_lock held(lock_);
      // relaxed: the lock orders it. After a store the class calls wake_all(), which takes the lock: a fiber that takes
      // it later sees the store, and a fiber that took it before is queued, and woken.
      const bool admits_class = c.admitted_by.load(std::memory_order_relaxed) == this;
      const bool holds_now = holds(bit);
      const auto place = holds_now || !admits_class ? bit : place_for(bit, now);
      // In order: a place that another worker gives up goes to the worker of the queue's first fiber.
      const bool mine = place != 0 && (holds_now || first_ == nullptr || first_->bit == bit || place == bit);
      if (mine) {
        if (is_queued) remove(me);
        if (!holds_now && admits_class) {
          // relaxed, both: under the lock
          holders_.store((holders_.load(std::memory_order_relaxed) & ~place) | bit, std::memory_order_relaxed);
          begin_slice(bit, now);
        }
        return;
      }
      if (!is_queued) add_last(me);
      is_queued = true;
      me.wait.reset();
      until = std::max(first_end(), now) + wait_beyond_slice;
    }
    try {
      me.wait.wait_until(until, "its turn to run transactions");
    } catch (...) {  // no memory for the deadline: goes on out of turn
      const std::scoped_lock held(lock_);
      remove(me);
      return;
    }
  }
}

void admission::use(std::uint64_t bit, time_point now, std::chrono::nanoseconds used) noexcept {
  // relaxed: policy; a fiber that is overlooked here looks at the time itself
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  const std::scoped_lock held(lock_);
  auto& mine = slices_[number(bit)];
  mine.left -= used;
  if (mine.left > used.zero()) return;
  mine.over = std::min(mine.over, now);
  if (first_ != nullptr && !first_->wait.woken()) first_->wait.wake();
}

void admission::set_places(int places) noexcept {
  const std::scoped_lock held(lock_);
  if (places < places_) holders_.store(0, std::memory_order_relaxed);  // relaxed: under the lock
  places_ = places;
  for (queued* q = first_; q != nullptr; q = q->next) q->wait.wake();
}

void admission::wake_all() noexcept {
  const std::scoped_lock held(lock_);
  for (queued* q = first_; q != nullptr; q = q->next) q->wait.wake();
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
