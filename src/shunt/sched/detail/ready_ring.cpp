#include <shunt/sched/detail/ready_ring.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

void ready_ring::grow(std::size_t fibers) {
  leave_seat();
  const auto seats = std::bit_ceil(std::max<std::size_t>(64, fibers));
  // Zeroed by the system where it is large: what nobody has sat on takes no memory.
  auto* const bigger = static_cast<seat*>(std::calloc(seats + stacks_ahead, sizeof(seat)));
  if (bigger == nullptr) throw std::bad_alloc();
  for (std::uint32_t i = 0; i < count_; ++i) bigger[i] = ahead(i);
  std::free(memory_);
  memory_ = bigger;
  capacity_ = room_ = static_cast<std::uint32_t>(seats);
  low_ = head_ = memory_;
  high_ = low_ + seats;
  tail_ = low_ + count_;
  until_close_ = static_cast<std::int32_t>(count_) + 1;
}

/// The region is full, and another one comes.
void ready_ring::open() noexcept {
  room_ = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // moves() says so before anything moves
  std::rotate(low_, head_, high_);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  room_ = capacity_;
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
