#include <shunt/actor/detail/outside_senders.hpp>

#include <utility>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

outside_senders::outside_senders(actor_system& of)
    : of_(of), line_(&train_came_home, this, {longest_message, 1024, 2048, 1024}, 1, *this) {}

/// Takes in the trains that have come home, opens one, waiting if there is none, and lets it depart with the message.
void outside_senders::send(envelope& m, const char* call) {
  actor_cell& c = *m.to;
  const std::scoped_lock held(lock_);
  for (;;) {
    line_.arrivals([](rail::train&) {});  // only own trains come here
    if (line_.open(0, 0)) break;
    line_.wait_for_trains(0, 1, call);
  }
  open_batch& b = line_.out(0, 0);
  b.writer.begin(*b.open, 1);
  static_cast<void>(b.writer.begin_batch(c, m.target, *m.ops));  // has room
  m.ops->move_arguments(m.arguments, b.writer.place());
  static_cast<void>(b.writer.advance(m.ops->bytes));
  b.writer.end(*b.open);
  of_.count_sent();
  c.home->inbox().deliver(line_.take_open(0, 0));
}

/// Arms the inbox, so that the next train that comes home wakes all; returns at once if one has come.
void outside_senders::wait(std::uint8_t /*channel*/, std::size_t /*trains*/, const char* call) {
  if (!armed_) {
    if (!line_.inbox().arm()) return;
    armed_ = true;
  }
  if (sched::this_fiber::inside()) sched::this_fiber::require_wait(call);  // wait() below does not throw, then
  listed_waiter w;
  w.next = std::exchange(waiting_, &w);
  lock_.unlock();
  w.wait("a train to come home", call);
  lock_.lock();
}

/// The thread that brings a train home while the inbox is armed.
void outside_senders::train_came_home(void* self) noexcept {
  auto& me = *static_cast<outside_senders*>(self);
  const std::scoped_lock held(me.lock_);
  me.line_.inbox().disarm();
  me.armed_ = false;
  wake_all(me.waiting_);
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
