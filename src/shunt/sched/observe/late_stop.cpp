#include <shunt/sched/observe/late_stop.hpp>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/observe/detail/fiber_dump.hpp>
#include <shunt/sched/observe/detail/late_stops.hpp>
#include <shunt/sched/observe/detail/monitor.hpp>
#include <shunt/sched/observe/detail/stalls.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constexpr std::size_t most_late = 20;  // fibers that a report describes

}  // namespace

void late_stops::add(late_stop& wait) noexcept {
  const std::scoped_lock held(lock_);
  wait.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &wait;
  first_ = &wait;
}

void late_stops::remove(late_stop& wait) noexcept {
  const std::scoped_lock held(lock_);
  (wait.previous_ == nullptr ? first_ : wait.previous_->next_) = wait.next_;
  if (wait.next_ != nullptr) wait.next_->previous_ = wait.previous_;
}

std::chrono::steady_clock::time_point late_stops::next() noexcept {
  const std::scoped_lock held(lock_);
  auto earliest = std::chrono::steady_clock::time_point::max();
  for (const late_stop* each = first_; each != nullptr; each = each->next_) earliest = std::min(earliest, each->when_);
  return earliest;
}

std::vector<late_stops::overdue> late_stops::take(std::chrono::steady_clock::time_point now) {
  std::vector<overdue> all;
  const std::scoped_lock held(lock_);
  for (late_stop* each = first_; each != nullptr; each = each->next_) {
    if (each->when_ > now) continue;
    all.push_back({each->call_, {each->scope_, each->other_, each->waits_}});
    each->when_ = each->when_.max();
  }
  return all;
}

void tell_late_stops(shared& of) {
  const auto late = of.late.take(std::chrono::steady_clock::now());
  if (late.empty()) return;
  const auto all = all_fibers();
  std::deque<dump_text> texts;  // which stay where they are
  std::vector<dump_text*> into;
  for (const auto& each : late) into.push_back(&texts.emplace_back(all, most_late, &each.which));
  collect(of, all, into);
  for (std::size_t i = 0; i < late.size(); ++i) {
    of.report(std::string("shunt: ") + late[i].call.name() +
              ": asked to stop, and not ended. A wait that takes no stop token goes on: give it the token." +
              late[i].call.place() + '\n' + texts[i].take());
  }
}

}  // namespace detail

late_stop::late_stop(call_site call, const void* scope, fiber_id other) noexcept
    : call_(call), scope_(scope), other_(other) {
  auto* const here = detail::worker::current();
  if (here == nullptr || !this_fiber::inside()) return;
  const auto patience = here->all.settings.stop_after;
  if (patience <= patience.zero() || this_worker::controlled()) return;
  waits_ = this_fiber::id();
  when_ = after(patience);
  of_ = &here->all;
  of_->late.add(*this);
  // Otherwise the monitor looks at the list before that time by itself.
  if (patience < detail::time_between_looks(*of_)) detail::notify_monitor();
}

late_stop::~late_stop() {
  if (of_ != nullptr) of_->late.remove(*this);
}

}  // namespace sched
}  // namespace v1
}  // namespace shunt
