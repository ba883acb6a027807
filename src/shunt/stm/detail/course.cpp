#include <algorithm>
#include <cmath>
#include <shunt/base/clock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/stm/atomically.hpp>
#include <shunt/stm/detail/course.hpp>
#include <shunt/stm/detail/hot_variables.hpp>
#include <shunt/stm/detail/names.hpp>
#include <shunt/stm/detail/registry.hpp>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {
namespace {

using namespace std::chrono_literals;

// ns, as it should be
constexpr std::int64_t look_apart_at_least = 20'000;
constexpr std::int64_t look_apart_at_most = 50'000;

lane elders;

lane& lane_of(const variable* v) noexcept {
  constexpr std::size_t lanes = 64;
  static lane all[lanes];
  return all[(reinterpret_cast<std::uintptr_t>(v) >> 4) * 0x9E3779B97F4A7C15U >> 58];
}

std::int64_t ns_now() noexcept { return stm::detail::now().time_since_epoch() / 1ns; }

}  // namespace

const refusal refuses_waits;

void refusal::refuse(const char* call) const {
  throw blocking_in_transaction(
      std::string(call) +
      ": called inside a transaction, which neither waits nor spawns: do it after, or in tx::on_commit()");
}

bool refusal::in_force() const noexcept { return stm_access::inside(); }

bool course::not_as_before(tx& t) noexcept {
  t.drop_class();
  t.leave();
  return false;
}

tx& course::begin() {
  const sched::this_fiber::stay here_now;  // what is found out below is about this thread
  tx& t = tx::here();
  t.drop_class();
  t.counted_ = &t.counts_of(class_);  // may find no memory: so not after a commit
  if (t.own_number() >= t.look_at_) look(t);
  if (alone_) {
    if (!elder_ && may_sleep()) {
      elders.enter("its turn to run a transaction alone");
      elder_ = true;
    }
    t.come_inside_alone();
    t.alone_ = true;
  } else {
    if (track* const on = class_.on.load(std::memory_order_relaxed);
        on != nullptr && !on->holds(t.bit()) && hot_ == nullptr && may_sleep()) {
      // Of a turn that the slice's end has cut short the rest is still to come: with a new one it would always be the
      // same fiber that gets one and a half, where all turns together are about as long as a slice.
      const auto used = t.turn_used_;
      on->enter(t.bit(), class_);
      t.begin_turn(ns_now(), used);
    }
    t.come_inside();
  }
  t.read_only_ = manner_ == manner::snapshot;
  t.read_unlogged(t.read_only_ && lost_ < unlogged_attempts);
  if (lost_ != 0) began_ = stm::detail::now();
  t.begin();
  return t;
}

/// Now and then: about every 20 to 50 us of transactions; oftener where they are so short that it costs little.
void course::look(tx& t) {
  const auto now = stm::detail::now();
  const std::int64_t ns = now.time_since_epoch() / 1ns;
  const auto since = ns - t.last_look_;
  t.last_look_ = ns;
  const auto count = (t.own_number() - std::exchange(t.looked_at_, t.own_number())) / 2;  // transactions, nearly
  if (since > look_apart_at_most) {
    t.look_every_ = std::max(std::int64_t{1}, t.look_every_ * look_apart_at_most / since);
  } else if (since < look_apart_at_least) {
    t.look_every_ = std::min(tx::looks_apart_at_most, 2 * t.look_every_);
  }
  t.look_at_ = t.own_number() + 2 * static_cast<std::uint64_t>(t.look_every_);
  // What the thread spent without its CPU is not held against it, nor against the fiber that ran.
  const auto used = std::min(since, look_apart_at_most);
  class_.tick(now);
  // relaxed: policy
  if (track* const on = class_.on.load(std::memory_order_relaxed); on != nullptr && on->holds(t.bit())) {
    // On a slow core a slice is longer: shares are what fibers get done.
    const bool had_its_cpu = since == used && since > 0 && count > 0;
    const double speed = had_its_cpu ? class_.pace.compare(static_cast<double>(count), used * 1ns) : 1;
    on->look(t.bit(), now, std::chrono::nanoseconds(std::llround(static_cast<double>(used) * speed)));
  }
  if (the_policies.solo.load(std::memory_order_relaxed)) t.look_for_solo(ns);  // relaxed: policy
  if (!t.retired_.empty() || !t.waiting_.empty()) t.reclaim(false);
  t.turn_used_ += used;                                    // fibers of one worker take turns
  if (t.turn_used_ >= quantum / 1ns && hot_ == nullptr) {  // others wait for who has its turn in a lane
    if (sched::this_fiber::may_wait() && sched::this_worker::has_runnable()) sched::this_fiber::yield();
    t.begin_turn(ns_now());
  }
}

void course::end(tx& t) {
  std::vector<std::function<void()>> commits;
  t.end_inside();
  auto& n = *t.counted_;
  counts::add(n.commits, 1);
  if (alone_) counts::add(n.alone, 1);
  if (lost_ != 0) {
    const auto lost = stm::detail::now() - first_loss_;
    counts::add(n.lost_ns, static_cast<std::uint64_t>(lost / 1ns));
    counts::at_least(n.most_attempts, static_cast<std::uint64_t>(lost_) + 1);
  }
  if (!t.unlogged_) {
    const auto reads = static_cast<std::uint64_t>(t.reads_end_ - t.reads_.get());
    counts::add(n.samples, 1);
    counts::add(n.reads, reads);
    counts::add(n.writes, t.writes_.size());
    counts::at_least(n.most_reads, reads);
    counts::at_least(n.most_writes, t.writes_.size());
  }
  if ((t.unusual_ & tx::extras) != 0) {
    calls_.swap(t.undone_);
    commits.swap(t.on_commit_);
    t.on_abort_.clear();
    t.settle_extras();
  } else {
    t.clear();
  }
  leave_lanes();
  call_quietly();
  calls_.swap(commits);
  call_all();
}

/// Ends an attempt that has not committed; what on_abort() was given is to be called.
void course::undone(tx& t) noexcept {
  t.end_inside();
  t.part_ = 0;
  t.abort();
  calls_.swap(t.undone_);
  try {
    calls_.insert(calls_.end(), std::make_move_iterator(t.on_abort_.rbegin()),
                  std::make_move_iterator(t.on_abort_.rend()));
  } catch (...) {  // no memory: they are not called
  }
  t.undone_.clear();
  t.on_abort_.clear();
}

void course::count_loss(tx& t) {
  const auto now = stm::detail::now();
  if (lost_++ == 0) {
    first_loss_ = now;
  } else {
    work_lost_ += now - began_;
  }
  at_ = t.lost_at_;
  auto& n = *t.counted_;
  switch (t.lost_by_) {
    case tx::cause::locked: counts::add(n.locked, 1); break;
    case tx::cause::stale: counts::add(n.stale, 1); break;
    case tx::cause::validation: counts::add(n.validation, 1); break;
    case tx::cause::wants_alone: alone_ = true; break;
  }
  if (at_ != nullptr) hot_variables.note(at_);
}

void course::lost(tx& t) {
  undone(t);
  count_loss(t);
  prepare_again();
}

void course::prepare_again() {
  call_quietly();
  if (alone_) return;
  const bool too_often = lost_ >= attempts_before_elder || work_lost_ >= loss_before_elder;
  if (too_often && the_policies.elders.load(std::memory_order_relaxed)) {  // relaxed: policy
    alone_ = true;
    return;
  }
  if (lost_ >= attempts_at_once && hot_ == nullptr && the_policies.queue_losers.load(std::memory_order_relaxed) &&
      may_sleep()) {
    lane& hot = lane_of(at_);
    hot.enter("others that lost at the same variable");
    hot_ = &hot;
    return;
  }
  for (int i = 0; i < 1 << std::min(lost_, 10); ++i) relax();
}

bool course::retried(tx& t) {
  if (t.unlogged_) {  // then the next attempt, which keeps a log, may wait
    undone(t);
    call_quietly();
    return true;
  }
  bool stands = false;
  try {
    std::vector<const variable*> read(t.reads_.get(), t.reads_end_);
    if (read.empty() && limits_ == nullptr)
      throw error("retry: the transaction has read nothing, so nothing would end its wait");
    stands = waiter_.emplace(read).stand_in(t.limit_);
    if (stands) waiter_->say(class_.waits, the_names().of_some(read));
    counts::add(t.counted_->retries, 1);
  } catch (...) {
    undone(t);
    throw;
  }
  undone(t);
  if (!stands) waiter_.reset();
  return wait();
}

bool course::wait() {
  call_quietly();
  leave_lanes();
  alone_ = manner_ == manner::alone;
  lost_ = 0;
  work_lost_ = work_lost_.zero();
  if (!waiter_) return true;  // something has been committed to already
  if (!may_sleep()) {
    waiter_.reset();
    sched::this_fiber::require_wait("retry");  // throws
  }
  bool woken = false;
  if (limits_ == nullptr) {
    woken = waiter_->sleeps.sleep_until(time_point::max(), waiter_->waits_for());
  } else {
    const auto awaken = [this] { waiter_->sleeps.wake(); };
    const std::stop_callback on_stop(limits_->stop, awaken);
    woken = waiter_->sleeps.sleep_until(limits_->deadline, waiter_->waits_for()) && !limits_->stop.stop_requested();
  }
  waiter_.reset();
  return woken;
}

void course::call_all() {
  std::vector<std::function<void()>> all;
  all.swap(calls_);
  for (const auto& call : all) call();
}

void course::call_quietly() noexcept {
  std::vector<std::function<void()>> all;
  all.swap(calls_);
  for (const auto& call : all) {
    try {
      call();
    } catch (...) {  // as on_abort() says
    }
  }
}

bool course::go_on(tx& t, outcome ended_by) {
  t.drop_class();
  try {
    switch (ended_by) {
      case outcome::committed:
      case outcome::settles: end(t); return false;
      case outcome::lost: lost(t); return true;
      case outcome::retry: return retried(t);
    }
    return false;
  } catch (...) {
    clean_up();
    throw;
  }
}

void course::failed_at_once(tx& t, class_record& c, manner m) noexcept { course(c, m, nullptr).failed(t); }

void course::failed(tx& t) noexcept {
  t.drop_class();
  undone(t);
  clean_up();
}

void course::clean_up() noexcept {
  waiter_.reset();
  leave_lanes();
  call_quietly();
}

void course::leave_lanes() noexcept {
  if (hot_ != nullptr) std::exchange(hot_, nullptr)->leave();
  if (std::exchange(elder_, false)) elders.leave();
}

}  // namespace stm::detail

void stm_access::join(tx& t, manner how, const stm::detail::patience* limits) {
  if (limits != nullptr) throw usage_error("atomically_until: called inside a transaction, which cannot wait");
  if (t.read_only_ && how != manner::snapshot) {
    throw usage_error(
        "atomically: called inside snapshot(), whose reads would not be validated: make that atomically() too");
  }
  if (how == manner::alone) t.become_irrevocable();
}

stm::detail::class_record& transaction_class::registered(const std::source_location& where) const {
  std::string name;
  if (name_ != nullptr) {
    name = name_;
  } else {
    name = where.file_name();
    name.erase(0, name.rfind('/') + 1);
    name += ':' + std::to_string(where.line());
  }
  auto& known = stm::detail::the_registry().record_named(name);
  record_.store(&known, std::memory_order_release);  // pairs with record()
  return known;
}

}  // namespace v1
}  // namespace shunt
