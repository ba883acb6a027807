#include <shunt/actor/detail/message_ring.hpp>

#include <mutex>
#include <utility>

#include <shunt/base/clock.hpp>
#include <shunt/base/topology.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {

// Looks of a thread at a full ring before it sleeps: some 10 us. To sleep and be woken takes longer, and a dispatcher
// that goes on empties a ring in less.
constexpr int looks_for_room = 400;

// Of the shortest messages, with the heads of two batches: DESIGN.md.
static_assert((message_ring::capacity - 2 * sizeof(message_batch)) / 8 == 2040);

}  // namespace

/// Looks again for room behind the open batch; else begins a batch, if there is room for its head and one message.
std::byte* message_ring::place_slowly(const actor_cell& c, std::uint64_t target, const message_ops& ops) noexcept {
  const auto room_ends = taken_.load(std::memory_order_acquire) + capacity;  // acquire: edge `emptied` in
  if (to_ == &c && target_ == target && ops_ == &ops && most_ - written_ >= ops.bytes) {
    limit_ = std::min(most_, room_ends);
    return limit_ - written_ >= ops.bytes ? at(written_) : nullptr;
  }
  const auto begin = begin_behind(written_);
  const auto arguments = begin + sizeof(message_batch);
  if (arguments + ops.bytes > room_ends) return nullptr;
  if (open_ != nullptr) {
    // relaxed: published_ publishes it, with the message that is built now. message_ring.G3
    std::atomic_ref(open_->bytes).store(written_ - opened_, std::memory_order_relaxed);
  }
  open_ = ::new (static_cast<void*>(at(begin))) message_batch{const_cast<actor_cell*>(&c), target, &ops, 0};
  written_ = opened_ = arguments;
  most_ = limit_of(begin);
  limit_ = std::min(most_, room_ends);
  to_ = &c;
  target_ = target;
  ops_ = &ops;
  return at(written_);
}

/// A thread looks for a moment first. Lists itself, and looks once more: the dispatcher that comes later wakes it.
void message_ring::wait_for_room(call_site call) {
  if (sched::this_fiber::inside()) {
    sched::this_fiber::require_wait(call);  // wait() below does not throw, then
  } else if (static const bool may_spin = usable_cpus().size() > 1; may_spin) {
    for (int i = 0; i < looks_for_room; ++i) {
      if (has_room()) return;
      relax();
    }
  }
  listed_waiter w;
  {
    const std::scoped_lock held(lock_);
    w.next = std::exchange(waiting_, &w);
    waits_.store(true, std::memory_order_seq_cst);  // pair `room`
    if (has_room()) {
      waiting_ = w.next;
      return;
    }
  }
  w.wait("room for messages to a worker", call);
}

/// When half of the ring is empty; for less a sender would wait again soon.
void message_ring::wake_senders() noexcept {
  // relaxed: taken_ is this thread's, and a sender that waits publishes nothing
  const auto used = published_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_relaxed);
  if (used > capacity / 2) return;
  listed_waiter* waiting = nullptr;
  {
    const std::scoped_lock held(lock_);
    waits_.store(false, std::memory_order_relaxed);  // relaxed: under the lock, before the next sender lists itself
    waiting = std::exchange(waiting_, nullptr);
  }
  wake_all(waiting);
}

bool ring_reader::next_batch() noexcept {
  if (ring_.is_read(end_)) return false;
  if (ring_.reads_ == nullptr || ring_.batch_is_over()) {
    const auto begin = message_ring::begin_behind(ring_.read_);
    ring_.reads_ = std::launder(reinterpret_cast<message_batch*>(ring_.at(begin)));
    ring_.read_ = ring_.batch_begins_ = begin + sizeof(message_batch);
  }
  const auto closed = message_ring::size_of(*ring_.reads_);
  const auto known = closed != 0 ? std::min(ring_.batch_begins_ + closed, end_) : end_;
  size_ = ring_.reads_->ops->bytes;
  place_ = ring_.at(ring_.read_);
  batch_end_ = place_ + (known - ring_.read_);
  ring_.read_ = known;
  return true;
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
