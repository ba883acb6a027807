#include <shunt/base/clock.hpp>
#include <shunt/stm/detail/engine/participant.hpp>
#include <shunt/stm/detail/engine/registry.hpp>
#include <shunt/stm/detail/policy/class_record.hpp>
#include <shunt/stm/detail/policy/policies.hpp>
#include <shunt/stm/policies.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds tick_time = 1ms;
constexpr std::int64_t ns_of(time_point t) noexcept { return t.time_since_epoch() / 1ns; }

/// The time until which the present trial may last. There is one trial at a time, because the same fibers may run
/// transactions of several classes: then a trial of one class changes the rates of the others. relaxed: policy.
std::atomic<std::int64_t> trial_until{0};
constexpr std::int64_t trial_time = ns_of(time_point(8 * tick_time));  // at most

bool claim_trial(std::int64_t now) noexcept {
  auto others = trial_until.load(std::memory_order_relaxed);  // relaxed, both: policy
  return now >= others && trial_until.compare_exchange_strong(others, now + trial_time, std::memory_order_relaxed);
}

}  // namespace

/// Measures the commits since the last tick, and tells the hill climber, unless the measure says nothing. relaxed, all
/// but busy_: one thread at a time is inside, and what it decides is policy.
void class_record::tick(time_point now) noexcept {
  if (ns_of(now) < next_tick_.load(std::memory_order_relaxed)) return;
  if (busy_.exchange(true, std::memory_order_acquire)) return;  // edge `busy`: what the last tick stored here
  const auto commits = the_registry().commits_of(*this);
  const auto elapsed = now - last_;
  auto next = tick_time;
  const bool disturbed = !climber_.on_trial() && ns_of(now) < trial_until.load(std::memory_order_relaxed);
  if (disturbed || !the_policies.adapt.load(std::memory_order_relaxed)) {
    // another class's trial: this measure says nothing
  } else if (elapsed > 4 * tick_time || elapsed <= elapsed.zero()) {
    climber_.nothing_ran();
    allow(climber_.allowed());
  } else {
    const bool was_on_trial = climber_.on_trial();
    climber_.tick(static_cast<double>(commits - last_commits_) / std::chrono::duration<double>(elapsed).count(),
                  the_registry().alive(), [now] { return claim_trial(ns_of(now)); });
    if (was_on_trial && !climber_.on_trial()) trial_until.store(0, std::memory_order_relaxed);
    allow(climber_.allowed());
    if (climber_.measures()) next = 2 * tick_time;
  }
  last_ = now;
  last_commits_ = commits;
  next_tick_.store(ns_of(now + next), std::memory_order_relaxed);
  busy_.store(false, std::memory_order_release);  // edge `busy`
}

/// While busy_ is held. relaxed, all: policy.
void class_record::allow(int workers) noexcept {
  if (workers == allowed()) return;
  allowed_.store(workers, std::memory_order_relaxed);
  admission* const before = admitted_by.load(std::memory_order_relaxed);
  if (workers > 1) own_.set_places(workers);
  if (workers == 1) participant::try_exclusive_soon();  // a trial of one worker is a trial of exclusive mode
  admission* const after = workers == 0 ? nullptr : workers == 1 ? &single_worker : &own_;
  admitted_by.store(after, std::memory_order_relaxed);
  if (before != nullptr) before->wake_all();
}

void class_record::reset(const policies& p) noexcept {
  while (busy_.exchange(true, std::memory_order_acquire)) relax();  // edge `busy`
  climber_ = {};
  allow(p.adapt ? 0 : p.workers);
  busy_.store(false, std::memory_order_release);  // edge `busy`
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
