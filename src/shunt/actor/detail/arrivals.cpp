#include <shunt/actor/detail/arrivals.hpp>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {
namespace {

using std::chrono::steady_clock;

// All of the line is unloaded where some of it has waited for so long: in it are messages for actors that have nothing
// else to do.
constexpr auto longest_wait_in_line = std::chrono::microseconds(200);

}  // namespace

void arrivals::take() noexcept {
  of_.outbox_.line().arrivals([this](rail::train& t) {
    in_line_.push_back(t);
    if (t.head.channel == control::channel) ++controls_in_line_;
  });
}

void arrivals::unload() noexcept {
  unload_line();
  if (!dead_.empty()) end_dead();
}

/// Unloads from the front of the line: trains with about as many messages as a batch handles, and everything up to the
/// last control.
void arrivals::unload_line() noexcept {
  take();
  for (std::int64_t left = dispatcher::messages_a_batch; !in_line_.empty();) {
    rail::train& t = in_line_.pop_front();
    if (t.head.channel == control::channel) {
      --controls_in_line_;
      obey(static_cast<control&>(t));
      continue;
    }
    left -= unload_train(t);
    if (left <= 0 && controls_in_line_ == 0 && !in_line_.empty() && may_stay_in_line()) break;
  }
  waits_ &= !in_line_.empty();
}

void arrivals::discard() noexcept {
  take();
  while (!in_line_.empty()) {
    rail::train& t = in_line_.pop_front();
    if (t.head.channel == control::channel) delete static_cast<control*>(&t);
  }
}

void arrivals::unload_trains() noexcept {
  take();
  rail::train_list controls;
  while (!in_line_.empty()) {
    rail::train& t = in_line_.pop_front();
    if (t.head.channel == control::channel) {
      controls.push_back(t);
    } else {
      unload_train(t);
    }
  }
  in_line_ = controls;
  waits_ = false;
}

/// May wait.
void arrivals::obey(control& c) noexcept {
  of_.handlers_.stand_by();
  c.what();
  delete &c;
  of_.counts_.ended();  // with all that ended with it
}

/// \return how many messages it had.
std::int64_t arrivals::unload_train(rail::train& t) noexcept {
  const auto dead = dead_.size();
  const auto messages = unload_messages(t);
  of_.outbox_.line().unloaded(t);
  dead_.size() == dead ? of_.counts_.ended() : void(++trains_of_dead_);
  return messages;
}

/// Whether the rest of the line may wait for another batch.
bool arrivals::may_stay_in_line() noexcept {
  if (of_.controlled()) return false;
  const auto time = steady_clock::now();
  if (!std::exchange(waits_, true)) waits_since_ = time;
  return time - waits_since_ < longest_wait_in_line;
}

/// Moves each message to its place: the next direct message of an idle actor, a vacant envelope of a mailbox, or, if it
/// is dead, aside (arrivals.A1). \return how many messages.
std::int64_t arrivals::unload_messages(rail::train& t) noexcept {
  std::int64_t messages = 0;
  for (batch_reader from(t); from.next_batch();) {
    messages += from.left();
    actor_cell& c = *from.batch().to;
    while (from.more()) {
      const bool lives = c.incarnation == from.batch().incarnation();
      if (lives && c.state == cell_state::idle) {
        envelope* const e = of_.envelopes_.take(of_.store_);
        from.move_to(*e);
        of_.tell_idle(c, e);
      } else if (lives && (c.vacant != nullptr || of_.mailboxes_.make_vacant_for(c, from.left()))) [[likely]] {
        from.move_to(*c.place());
      } else if (lives && c.when_full.load(std::memory_order_relaxed) == overflow::drop_oldest) {  // relaxed: ours
        dead_.push_back({c.take_first(), &c, c.incarnation, mailbox_is_full});
      } else {
        envelope* const e = of_.envelopes_.take(of_.store_);
        from.move_to(*e);
        dead_.push_back({e, lives ? &c : nullptr, c.incarnation, lives ? mailbox_is_full : actor_has_ended});
      }
    }
  }
  return messages;
}

/// Ends the messages that were put aside. May wait.
void arrivals::end_dead() noexcept {
  of_.handlers_.stand_by();
  const auto dead = std::exchange(dead_, {});
  const auto brought_by = std::exchange(trains_of_dead_, 0);
  for (const auto& d : dead) {
    const bool lives = d.cell != nullptr && d.cell->incarnation == d.incarnation;
    of_.system().end_dead(*d.message, lives ? d.cell->name() : std::string_view(), d.why);
    of_.give_back(*d.message);
  }
  of_.counts_.ended(brought_by);
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
