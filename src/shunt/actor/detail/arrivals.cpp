#include <shunt/actor/detail/arrivals.hpp>

#include <algorithm>

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
    if (t.head.channel == message_ring::channel) return watch(static_cast<message_ring&>(t));
    in_line_.push_back(t);
    if (t.head.channel == control::channel) ++controls_in_line_;
  });
}

void arrivals::unload() noexcept {
  unload_line();
  if (!dead_.empty()) end_dead();
}

/// Unloads all that is in rings: what a handler of another worker has sent because a thread sent to it comes behind
/// what that thread had sent here. Then from the front of the line: trains with about as many messages as a batch
/// handles, and everything up to the last control.
void arrivals::unload_line() noexcept {
  take();
  if (first_watched_ != nullptr) unload_rings();
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
  if (first_watched_ != nullptr) unload_rings();
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

/// Moves each message to its place: the next direct message of an idle actor, a vacant envelope of a mailbox, or, if it
/// is dead, aside (arrivals.A1). \return how many messages.
template <class Reader>
inline std::int64_t arrivals::unload_messages(Reader& from) noexcept {
  std::int64_t messages = 0;
  while (from.next_batch()) {
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

/// \return how many messages it had.
std::int64_t arrivals::unload_train(rail::train& t) noexcept {
  const auto dead = dead_.size();
  batch_reader from(t);
  const auto messages = unload_messages(from);
  of_.outbox_.line().unloaded(t);
  count_unloaded(dead);
  return messages;
}

/// activity_counts.D2: those that brought dead messages are counted when these have ended.
inline void arrivals::count_unloaded(std::size_t dead_before) noexcept {
  dead_.size() == dead_before ? of_.counts_.ended() : void(++brought_dead_);
}

// --- rings ---

void arrivals::watch(message_ring& r) noexcept {
  r.next_watched = nullptr;
  r.empty_looks = 0;
  r.seen = 0;  // so unload_rings() leaves it to the next look
  (first_watched_ == nullptr ? first_watched_ : last_watched_->next_watched) = &r;
  last_watched_ = &r;
}

/// Unloads all that is seen now. First what threads have sent that have ended: what is sent after a thread was joined
/// comes behind that. Such a thread's ring may still lie in the inbox.
void arrivals::unload_rings() noexcept {
  for (message_ring* r = first_watched_; r != nullptr; r = r->next_watched) r->seen = r->look();
  take();
  for (message_ring* r = first_watched_; r != nullptr; r = r->next_watched) {
    if (const auto end = r->ended(); !r->is_read(end)) unload_ring(*r, end);
  }
  int most = 0;
  for (message_ring* r = first_watched_; r != nullptr; r = r->next_watched) {
    if (!r->is_read(r->seen)) {
      unload_ring(*r, r->seen);
    } else {
      most = std::max(most, ++r->empty_looks);
    }
  }
  if (most >= message_ring::looks_before_stop) stop_watching_empty(1);
}

/// What a thread has sent first comes behind what was sent here before that thread took its ring.
void arrivals::unload_ring(message_ring& r, std::uint64_t end) noexcept {
  if (const auto begin = r.begin(); begin < end && !r.is_read(begin + 1)) {
    if (!r.is_read(begin)) unload_part(r, begin);
    for (const auto number = r.begin_number(); unloaded_before_ < number; ++unloaded_before_) {
      for (const sent_before& s : of_.system().outside().rings().next_before(static_cast<std::size_t>(of_.index()))) {
        if (!s.ring->is_read(s.end)) unload_part(*s.ring, s.end);
      }
    }
  }
  if (!r.is_read(end)) unload_part(r, end);
}

void arrivals::unload_part(message_ring& r, std::uint64_t end) noexcept {
  const auto dead = dead_.size();
  of_.counts_.began();
  ring_reader from(r, end);
  static_cast<void>(unload_messages(from));
  r.took();
  r.empty_looks = 0;
  count_unloaded(dead);
}

/// \return whether one has something.
bool arrivals::look_into_rings() noexcept {
  int most = 0;
  for (message_ring* r = first_watched_; r != nullptr; r = r->next_watched) {
    if (r->any()) return true;
    most = std::max(most, ++r->empty_looks);
  }
  return most >= message_ring::looks_before_stop && !stop_watching_empty(1);
}

/// Rings that are empty, and were so at the last looks, so many, are watched no more: their senders deliver them with
/// the next message. One fence is for all of them.
/// \return whether none is watched.
bool arrivals::stop_watching_empty(int looks) noexcept {
  message_ring* watched = std::exchange(first_watched_, nullptr);
  message_ring* stopped = nullptr;
  while (watched != nullptr) {
    message_ring& r = *std::exchange(watched, watched->next_watched);
    if (r.any() || r.empty_looks < looks) {
      watch(r);
    } else {
      r.stop_watching();
      r.next_watched = std::exchange(stopped, &r);
    }
  }
  if (stopped != nullptr && asymmetric_fence::usable()) asymmetric_fence::heavy();
  while (stopped != nullptr) {
    message_ring& r = *std::exchange(stopped, stopped->next_watched);
    if (r.must_watch()) watch(r);
  }
  return first_watched_ == nullptr;
}

/// Whether the rest of the line may wait for another batch.
bool arrivals::may_stay_in_line() noexcept {
  if (of_.controlled()) return false;
  const auto time = steady_clock::now();
  if (!std::exchange(waits_, true)) waits_since_ = time;
  return time - waits_since_ < longest_wait_in_line;
}

/// Ends the messages that were put aside. May wait.
void arrivals::end_dead() noexcept {
  of_.handlers_.stand_by();
  const auto dead = std::exchange(dead_, {});
  const auto brought_by = std::exchange(brought_dead_, 0);
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
