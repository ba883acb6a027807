#include <shunt/sched/detail/ready_ring.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// Copies the ready fibers to the low end of a larger memory, whose region is wide.
void ready_ring::grow(std::size_t fibers) {
  leave_slot();
  const auto slots = std::bit_ceil(std::max<std::size_t>(64, fibers));
  // Where it is large, the system zeroes it page by page: a slot that was never used takes no memory.
  auto* const bigger = static_cast<slot*>(std::calloc(slots + stacks_ahead, sizeof(slot)));
  if (bigger == nullptr) throw std::bad_alloc();
  for (std::uint32_t i = 0; i < count_; ++i) bigger[i] = ahead(i);
  std::free(memory_);
  memory_ = bigger;
  capacity_ = region_ = static_cast<std::uint32_t>(slots);
  low_ = head_ = memory_;
  high_ = low_ + slots;
  tail_ = low_ + count_;
  until_close_ = static_cast<std::int32_t>(count_) + 1;
}

/// The region is full, and another fiber comes: turns the region so that its first fiber lies at its low end, then
/// widens it to the whole memory.
void ready_ring::open() noexcept {
  region_ = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // ready_ring.S5: moves() says so before anything moves
  std::rotate(low_, head_, high_);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // ready_ring.S5: and until everything has moved
  region_ = capacity_;
  head_ = low_;
  tail_ = high_;
  low_ = memory_;
  high_ = low_ + capacity_;
  if (tail_ == high_) tail_ = low_;
  until_close_ = static_cast<std::int32_t>(count_) + 1;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
