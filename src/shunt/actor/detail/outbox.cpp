#include <shunt/actor/detail/outbox.hpp>

#include <algorithm>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {

// Enough that the next train to be filled has rested in the shared cache (rail/train.hpp).
constexpr std::size_t trains = 32;

rail::endpoint<open_batch>::pool_size pool_for(std::size_t dispatchers) {
  const auto regular = std::max<std::size_t>(trains, 2 * dispatchers);
  return {outbox::bytes_a_train, regular, 2 * regular, trains};
}

}  // namespace

outbox::outbox(rail::train_inbox::wake_function wake, dispatcher& of, std::size_t dispatchers)
    : of_(of), line_(wake, &of, pool_for(dispatchers), dispatchers, *this) {
  batches_ = line_.outs(0);
}

/// Such messages are loaded next, if the mailbox has room as far as is known here. \return false: it has not, or there
/// is no train.
bool outbox::admit(actor_cell& c, std::uint64_t target, const message_ops& ops) {
  if (c.full.load(std::memory_order_relaxed)) return false;  // relaxed: a hint; a sender looks again under the gate
  if (begin_batch(c, target, ops)) return true;
  return open(*c.home) && !has_become_full(c) && begin_batch(c, target, ops);
}

/// Such messages are loaded next. If the open train has no room for them, it departs. \return false: no train is open.
bool outbox::begin_batch(actor_cell& c, std::uint64_t target, const message_ops& ops) {
  const auto to = static_cast<std::size_t>(c.home->index());
  open_batch& b = batches_[to];
  if (b.open == nullptr) return false;
  if (b.writer.begin_batch(c, target, ops)) return true;
  depart(to);
  return false;
}

/// Opens a train, after a look at those that have come home. \return false: there is none.
bool outbox::open(dispatcher& to) {
  const auto index = static_cast<std::size_t>(to.index());
  if (!line_.pool().has(0)) of_.arrivals_.take();
  if (!line_.open(0, index)) return false;
  of_.counts_.began();
  // A dispatcher that sleeps gets the first message at once, the others together.
  const bool at_once = to.looks_asleep();
  batches_[index].writer.begin(*batches_[index].open, at_once ? 1 : messages_a_train);
  if (!at_once) of_.handlers_.wake();  // a handler fiber sends what is open when there is nothing else to do
  return true;
}

/// Whether the mailbox has become full since the train that has been opened came home. If so, the train departs without
/// anything when nothing else is left to do.
bool outbox::has_become_full(const actor_cell& c) noexcept {
  if (!c.full.load(std::memory_order_relaxed)) return false;  // relaxed: set before the train was sent home
  of_.handlers_.wake();
  return true;
}

void outbox::depart(std::size_t to) noexcept {
  batches_[to].writer.end(*batches_[to].open);
  of_.system().dispatchers()[to]->inbox().deliver(line_.take_open(0, to));
}

bool outbox::send(envelope& m, call_site call) {
  actor_cell& c = *m.to;
  const auto to = static_cast<std::size_t>(c.home->index());
  if (backpressure::must_wait(c, call)) {
    depart_all();  // what was sent before goes first
    return backpressure::wait_for_room(m, call);
  }
  batch_writer& w = batches_[to].writer;
  if (!w.takes(c, m.target, *m.ops) && !begin_batch(c, m.target, *m.ops)) {
    if (!open(*c.home)) {
      line_.wait_for_trains(0, 1, call);
      return false;
    }
    if (has_become_full(c) || !begin_batch(c, m.target, *m.ops)) return false;
  }
  m.ops->move_arguments(m.arguments, w.place());
  built(to, m.ops->bytes);
  return true;
}

/// Waits until trains have come home, once: the fiber may go on on another worker, and another sender may have taken
/// the train, so send() begins anew. Lets the open trains depart first, as they are among those that have to come home.
void outbox::wait(std::uint8_t /*channel*/, std::size_t /*trains*/, call_site call) {
  sched::this_fiber::require_wait(call);
  depart_all();
  listed_waiter w;
  w.next = std::exchange(waiting_, &w);
  of_.handlers_.wake();  // trains come home when a handler fiber takes arrivals
  w.wait("a train to come home", call);
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
