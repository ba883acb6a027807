#include <algorithm>
#include <bit>
#include <shunt/sched/fiber.hpp>
#include <shunt/stm/detail/class_record.hpp>
#include <shunt/stm/detail/track.hpp>
#include <shunt/stm/detail/word.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

void track::take_out(const waiting& w) noexcept {
  for (waiting** at = &first_; *at != nullptr; at = &(*at)->next) {
    if (*at != &w) continue;
    *at = w.next;
    waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);  // relaxed: under the lock
    return;
  }
}

/// \return what `bit` may take: a holder whose slice is over, or its own bit: a free place; 0: nothing yet.
std::uint64_t track::place_for(std::uint64_t bit, time_point now) const noexcept {
  const auto holders =
      holders_.load(std::memory_order_relaxed);  // relaxed: under the lock, as in the rest of this file
  if (std::popcount(holders) < places_) return bit;
  for (auto left = holders; left != 0; left &= left - 1) {
    const auto one = left & (~left + 1);
    if (now >= slices_[number(one)].over) return one;
  }
  return 0;
}

/// Of the holders' slices.
time_point track::first_end() const noexcept {
  auto first = time_point::max() - patience_of_a_waiter;
  for (auto left = holders_.load(std::memory_order_relaxed); left != 0; left &= left - 1)
    first = std::min(first, slices_[number(left)].over);
  return first;
}

/// Has a place now: its slice begins, and its mates in the queue go on.
void track::settle(std::uint64_t bit, time_point now) noexcept {
  int mates = 1;
  waiting* second = nullptr;  // woken last, for that one runs next: in the order in which they stand
  for (waiting* w = first_; w != nullptr; w = w->next) {
    if (w->bit != bit) continue;
    ++mates;
    if (second == nullptr) {
      second = w;
    } else {
      w->sleeps.wake();
    }
  }
  if (second != nullptr) second->sleeps.wake();
  const std::chrono::nanoseconds fair = std::max(least_slice, mates * quantum);
  auto& mine = slices_[number(bit)];
  mine.left = fair + std::clamp(mine.left, fair.zero(), most_left * fair);  // what it could not use of the last one
  mine.over = now + mine.left;
}

void track::enter(std::uint64_t bit, const class_record& whose) {
  waiting me{bit};
  time_point until;
  bool stands = false;
  for (;;) {
    const auto now = stm::detail::now();
    {
      const std::scoped_lock held(lock_);
      const bool holds_now = holds(bit);
      const auto place = holds_now || whose.on.load(std::memory_order_relaxed) != this ? bit : place_for(bit, now);
      // Fairly: a place goes to the worker of who stands first.
      const bool mine = place != 0 && (holds_now || first_ == nullptr || first_->bit == bit || place == bit);
      if (mine) {
        if (stands) take_out(me);
        if (!holds_now && whose.on.load(std::memory_order_relaxed) == this) {
          holders_.store((holders_.load(std::memory_order_relaxed) & ~place) | bit, std::memory_order_relaxed);
          settle(bit, now);
        }
        return;
      }
      if (!stands) {
        waiting** last = &first_;
        while (*last != nullptr) last = &(*last)->next;
        *last = &me;
        waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        stands = true;
      }
      me.sleeps.reset();
      until = std::max(first_end(), now) + patience_of_a_waiter;
    }
    try {
      me.sleeps.sleep_until(until, "its turn to run transactions");
    } catch (...) {  // no memory for the deadline: then it goes on out of turn
      const std::scoped_lock held(lock_);
      take_out(me);
      return;
    }
  }
}

void track::look(std::uint64_t bit, time_point now, std::chrono::nanoseconds used) noexcept {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  const std::scoped_lock held(lock_);
  auto& mine = slices_[number(bit)];
  mine.left -= used;
  if (mine.left > used.zero()) return;
  mine.over = std::min(mine.over, now);
  if (first_ != nullptr && !first_->sleeps.woken()) first_->sleeps.wake();
}

void track::set_places(int places) noexcept {
  const std::scoped_lock held(lock_);
  if (places < places_) holders_.store(0, std::memory_order_relaxed);
  places_ = places;
  for (waiting* w = first_; w != nullptr; w = w->next) w->sleeps.wake();
}

void track::look_again() noexcept {
  const std::scoped_lock held(lock_);
  for (waiting* w = first_; w != nullptr; w = w->next) w->sleeps.wake();
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
