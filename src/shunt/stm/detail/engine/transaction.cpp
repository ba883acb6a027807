#include <algorithm>
#include <cmath>
#include <shunt/base/clock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/detail/engine/names.hpp>
#include <shunt/stm/detail/engine/transaction.hpp>
#include <shunt/stm/detail/policy/hot_variables.hpp>
#include <shunt/stm/detail/policy/policies.hpp>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {
namespace {

using namespace std::chrono_literals;

fair_queue oldest_transactions;

fair_queue& queue_of(const variable* v) noexcept {
  constexpr int bits = 6;
  static fair_queue all[1 << bits];
  return all[hash_of<bits>(v)];
}

}  // namespace

const refusal refuses_waits;

void refusal::refuse(call_site call) const {
  throw blocking_in_transaction(
      error_number(704),
      std::string(call.name()) +
          ": called inside a transaction, which neither waits nor spawns: call it afterwards, or in tx::on_commit()" +
          call.place(),
      call.where());
}

bool refusal::in_force() const noexcept { return stm_access::inside(); }

// --- begin ---

/// Outside. From now on the thread's number counts that class's commits. \return false: the class does not admit this
/// thread at present. \throws std::bad_alloc
bool transaction::bind_class(attempt& a, const class_record& c, bool read_only) {
  class_binding& binding = a.binding;
  binding.unbind(a.own_number());
  const auto* const by = c.admitted_by.load(std::memory_order_relaxed);  // relaxed: policy
  if (by != nullptr && !by->holds(a.bit())) return false;
  auto& mine = a.counts.of(c.id);
  binding.count_in(mine);
  // A transaction that may have to wait for what it has read keeps a log. relaxed: only this thread stores it.
  const bool unlogged = read_only || (a.exclusive() && mine.retries.load(std::memory_order_relaxed) == 0);
  a.prepare(read_only, !unlogged);
  binding.bind(class_binding::key(&c, read_only), a.own_number());
  return true;
}

/// \return false; `a` is outside.
bool transaction::mode_has_changed(attempt& a) noexcept {
  a.binding.unbind(a.own_number());
  a.leave();
  return false;
}

/// Counts first, because that may find no memory; then the clock, the turn, and the way inside.
attempt& transaction::begin() {
  const sched::this_fiber::stay here_now;  // what is found out below belongs to this thread
  attempt& a = stm_access::this_thread();
  a.binding.unbind(a.own_number());
  a.binding.count_in(a.counts.of(class_.id));
  if (a.binding.look_is_due(a.own_number())) look_at_clock(a);
  if (irrevocable_) {
    if (!is_oldest_ && may_wait()) {
      oldest_transactions.enter("its turn to run a transaction without others");
      is_oldest_ = true;
    }
    a.enter_irrevocably();
    a.set_irrevocable();
  } else {
    admission* const by = class_.admitted_by.load(std::memory_order_relaxed);  // relaxed: policy
    if (by != nullptr && !by->holds(a.bit()) && queue_ == nullptr && may_wait()) {
      // A turn that the end of a slice cut short goes on in the next slice. With a whole turn each time it would always
      // be the same fiber that gets one and a half, where all turns together are about as long as a slice.
      const auto used = a.slice.turn_used_ns();
      by->enter(a.bit(), class_);
      a.slice.begin_turn(now_ns(), a.own_number(), used);
    }
    a.enter();
  }
  const bool read_only = manner_ == manner::snapshot;
  a.prepare(read_only, !(read_only && conflicts_ < unlogged_attempts));
  if (conflicts_ != 0) began_ = stm::detail::now();
  a.begin();
  return a;
}

/// About every 20 to 50 us of transactions: the class's tick, this thread's slice, exclusive mode, memory, and the
/// turns of this worker's fibers.
void transaction::look_at_clock(attempt& a) {
  const auto now = stm::detail::now();
  const std::int64_t ns = now.time_since_epoch() / 1ns;
  const auto seen = a.slice.look(ns, a.own_number());
  a.binding.look_at(a.slice.next_look(a.own_number()));
  class_.tick(now);
  // relaxed: policy
  if (admission* const by = class_.admitted_by.load(std::memory_order_relaxed); by != nullptr && by->holds(a.bit())) {
    // On a slow core a slice is longer: equal shares are equal numbers of transactions, not equal times.
    const bool had_its_cpu = seen.elapsed_ns == seen.used_ns && seen.elapsed_ns > 0 && seen.count > 0;
    const double relative =
        had_its_cpu ? class_.worker_speed.compare(static_cast<double>(seen.count), seen.used_ns * 1ns) : 1;
    by->use(a.bit(), now, std::chrono::nanoseconds(std::llround(static_cast<double>(seen.used_ns) * relative)));
  }
  if (the_policies.exclusive.load(std::memory_order_relaxed)) a.try_exclusive_mode(ns);  // relaxed: policy
  if (!a.memory.empty()) a.memory.free_unseen(a);
  a.slice.use(seen.used_ns);
  // A fiber that has its turn in a queue keeps it: others wait for it there.
  if (a.slice.turn_used_ns() >= turn_time / 1ns && queue_ == nullptr) {
    if (sched::this_fiber::may_wait() && sched::this_worker::has_runnable()) sched::this_fiber::yield();
    a.slice.begin_turn(now_ns(), a.own_number());
  }
}

// --- after an attempt ---

/// Unbinds the class first, because the number also changes with attempts that are lost.
bool transaction::finish(attempt& a, outcome ended_by) {
  a.binding.unbind(a.own_number());
  try {
    switch (ended_by) {
      case outcome::committed:
      case outcome::committed_with_extras: finish_commit(a); return false;
      case outcome::conflict:
        abort_attempt(a);
        count_conflict(a);
        back_off();
        return true;
      case outcome::retry: return finish_retry(a);
    }
    return false;
  } catch (...) {
    release();
    throw;
  }
}

/// Leaves, counts, clears; then the queues' next fiber goes on, and last come the callbacks, which may wait.
void transaction::finish_commit(attempt& a) {
  callback_list commits;
  a.leave_transaction();
  count_commit(a);
  a.calls.take_after_commit(calls_, commits);
  a.clear_after_commit();
  leave_queues();
  call_quietly();
  calls_.swap(commits);
  call_all();
}

/// After leaving, before the logs are cleared: their sizes are counted where reads were logged.
void transaction::count_commit(attempt& a) {
  auto& n = a.binding.present();
  counts::add(n.commits, 1);
  if (irrevocable_) counts::add(n.irrevocable, 1);
  if (conflicts_ != 0) {
    const auto lost = stm::detail::now() - first_conflict_;
    counts::add(n.lost_ns, static_cast<std::uint64_t>(lost / 1ns));
    counts::at_least(n.most_attempts, static_cast<std::uint64_t>(conflicts_) + 1);
  }
  if (!a.state().unlogged) {
    counts::add(n.samples, 1);
    counts::add(n.reads, a.reads().size());
    counts::add(n.writes, a.writes().size());
    counts::at_least(n.most_reads, a.reads().size());
    counts::at_least(n.most_writes, a.writes().size());
  }
}

/// on_abort()'s functions are left in calls_.
void transaction::abort_attempt(attempt& a) noexcept {
  a.abort();
  a.calls.take_after_abort(calls_);
}

void transaction::abort_first(attempt& a, class_record& c, manner m) noexcept { transaction(c, m, nullptr).abort(a); }

void transaction::abort(attempt& a) noexcept {
  a.binding.unbind(a.own_number());
  abort_attempt(a);
  release();
}

// --- conflict ---

/// The first lost attempt's work is not known, because its beginning was not timed.
void transaction::count_conflict(attempt& a) {
  const auto now = stm::detail::now();
  if (conflicts_++ == 0) {
    first_conflict_ = now;
  } else {
    work_lost_ += now - began_;
  }
  at_ = a.lost().at;
  auto& n = a.binding.present();
  switch (a.lost().why) {
    case cause::locked: counts::add(n.locked, 1); break;
    case cause::stale: counts::add(n.stale, 1); break;
    case cause::validation: counts::add(n.validation, 1); break;
    case cause::wants_irrevocable: irrevocable_ = true; break;
  }
  if (at_ != nullptr) hot_variables.note(at_);
}

/// Gives the next attempt better chances: a pause, a place in the variable's queue, or to run irrevocably.
void transaction::back_off() {
  call_quietly();
  if (irrevocable_) return;
  const bool too_often = conflicts_ >= attempts_before_irrevocable || work_lost_ >= loss_before_irrevocable;
  if (too_often && the_policies.oldest_first.load(std::memory_order_relaxed)) {  // relaxed: policy
    irrevocable_ = true;
    return;
  }
  // relaxed: policy
  if (conflicts_ >= attempts_at_once && queue_ == nullptr &&
      the_policies.queue_losers.load(std::memory_order_relaxed) && may_wait()) {
    fair_queue& queue = queue_of(at_);
    queue.enter("others that lost at the same variable");
    queue_ = &queue;
    return;
  }
  for (int i = 0; i < 1 << std::min(conflicts_, 10); ++i) relax();
}

// --- retry ---

/// While the attempt is inside it enlists for what it has read; then it aborts, and waits. \return false: the deadline
/// has come, or a stop was requested. \throws what waiting throws
bool transaction::finish_retry(attempt& a) {
  if (a.state().unlogged) {  // the next attempt keeps a log, and may wait
    abort_attempt(a);
    call_quietly();
    return true;
  }
  bool enlisted = false;
  try {
    std::vector<const variable*> read(a.reads().begin(), a.reads().end());
    if (read.empty() && limits_ == nullptr) {
      throw error(error_number(705),
                  "retry: the transaction has read nothing, so nothing would end its wait (" + class_.name + ")");
    }
    enlisted = waiter_.emplace(read).enlist(a.reads().limit());
    if (enlisted) waiter_->describe(class_.waits, the_names().of_some(read));
    counts::add(a.binding.present().retries, 1);
  } catch (...) {
    abort_attempt(a);
    throw;
  }
  abort_attempt(a);
  if (!enlisted) waiter_.reset();
  return wait_for_change();
}

/// Leaves the queues before it waits, so that others go on; afterwards the transaction starts anew, without conflicts.
bool transaction::wait_for_change() {
  call_quietly();
  leave_queues();
  irrevocable_ = manner_ == manner::irrevocable;
  conflicts_ = 0;
  work_lost_ = work_lost_.zero();
  if (!waiter_) return true;  // another transaction has committed to something already
  auto& waiter = *waiter_;
  if (!may_wait()) {
    waiter_.reset();
    sched::this_fiber::require_wait("retry");  // throws
  }
  bool woken = false;
  if (limits_ == nullptr) {
    woken = waiter.wait_until(time_point::max());
  } else {
    const auto wake = [&waiter] { waiter.wake(); };
    const std::stop_callback on_stop(limits_->stop, wake);
    woken = waiter.wait_until(limits_->deadline) && !limits_->stop.stop_requested();
  }
  waiter_.reset();
  return woken;
}

// --- callbacks and queues ---

void transaction::call_all() {
  callback_list all;
  all.swap(calls_);
  for (const auto& call : all) call();
}

/// As on_abort() promises: what they throw is lost.
void transaction::call_quietly() noexcept {
  callback_list all;
  all.swap(calls_);
  for (const auto& call : all) {
    try {
      call();
    } catch (...) {  // lost
    }
  }
}

void transaction::leave_queues() noexcept {
  if (queue_ != nullptr) std::exchange(queue_, nullptr)->leave();
  if (std::exchange(is_oldest_, false)) oldest_transactions.leave();
}

/// After an exception: other transactions neither wait for this one nor wake it any more.
void transaction::release() noexcept {
  waiter_.reset();
  leave_queues();
  call_quietly();
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
