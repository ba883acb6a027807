#include <shunt/base/clock.hpp>
#include <shunt/base/error.hpp>
#include <shunt/stm/detail/class_record.hpp>
#include <shunt/stm/detail/participant.hpp>
#include <shunt/stm/detail/registry.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds tick_time = 1ms;
constexpr std::int64_t ns_of(time_point t) noexcept { return t.time_since_epoch() / 1ns; }

/// Of classes whose transactions take turns in the same fibers each one's trial changes the others' rates: so there is
/// one at a time. Until when the present one may last; relaxed: policy.
std::atomic<std::int64_t> trial_until{0};
constexpr std::int64_t trial_time = ns_of(time_point(8 * tick_time));  // at most

bool claim_trial(std::int64_t now) noexcept {
  auto others = trial_until.load(std::memory_order_relaxed);
  return now >= others && trial_until.compare_exchange_strong(others, now + trial_time, std::memory_order_relaxed);
}

}  // namespace

// Everything is relaxed but busy_: one thread at a time is inside, and what it decides is policy.
void class_record::tick(time_point now) noexcept {
  if (ns_of(now) < next_tick_.load(std::memory_order_relaxed)) return;
  if (busy_.exchange(true, std::memory_order_acquire)) return;  // acquire: what the last one stored here
  const auto commits = the_registry().commits_of(*this);
  const auto elapsed = now - last_;
  auto next = tick_time;
  const bool disturbed = !climber_.on_trial() && ns_of(now) < trial_until.load(std::memory_order_relaxed);
  if (disturbed || !the_policies.adapt.load(std::memory_order_relaxed)) {
    // another one's trial: what is measured now tells nothing
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
  busy_.store(false, std::memory_order_release);  // pairs with the exchange
}

void class_record::allow(int workers) noexcept {
  if (workers == allowed()) return;
  allowed_.store(workers, std::memory_order_relaxed);
  track* const before = on.load(std::memory_order_relaxed);
  if (workers > 1) own_.set_places(workers);
  if (workers == 1) participant::try_solo_soon();  // a trial of one worker is a trial of solo mode
  on.store(workers == 0 ? nullptr : workers == 1 ? &narrow_track : &own_, std::memory_order_relaxed);
  if (before != nullptr) before->look_again();
}

void class_record::reset(const policies& p) noexcept {
  while (busy_.exchange(true, std::memory_order_acquire)) relax();  // acquire: as in tick()
  climber_ = {};
  allow(p.adapt ? 0 : p.workers);
  busy_.store(false, std::memory_order_release);
}

}  // namespace stm::detail

void stm::set_policies(const policies& wanted) {
  if (wanted.workers < 0) {
    throw usage_error("set_policies: workers: " + std::to_string(wanted.workers) + " is less than 0");
  }
  auto& now = detail::the_policies;
  now.adapt.store(wanted.adapt, std::memory_order_relaxed);  // relaxed: policy
  now.workers.store(wanted.workers, std::memory_order_relaxed);
  now.solo.store(wanted.solo, std::memory_order_relaxed);
  now.queue_losers.store(wanted.queue_losers, std::memory_order_relaxed);
  now.elders.store(wanted.elders, std::memory_order_relaxed);
  detail::the_registry().for_each_class([&](detail::class_record& c) { c.reset(wanted); });
}

stm::policies stm::current_policies() noexcept {
  const auto& now = detail::the_policies;
  return {now.adapt.load(std::memory_order_relaxed), now.workers.load(std::memory_order_relaxed),
          now.solo.load(std::memory_order_relaxed), now.queue_losers.load(std::memory_order_relaxed),
          now.elders.load(std::memory_order_relaxed)};  // relaxed: as above
}

}  // namespace v1
}  // namespace shunt
