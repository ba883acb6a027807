#include <shunt/sched/detail/shared.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/memory_limit.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/sched/detail/arrivals.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/observe/detail/monitor.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

void check_stack(call_site what, std::size_t bytes) {
  if (bytes <= context::stack_pool::largest) return;
  throw usage_error(error_number(104),
                    std::string(what.name()) + ": a stack of " + std::to_string(bytes) +
                        " bytes: " + context::stack_pool::bounds() + what.place(),
                    what.where());
}

namespace {

/// The options as the runtime uses them: checked, with the number of workers, and with what the environment says.
/// \param call  that was given them
options resolved(options wanted, call_site call) {
  check_stack({"stack_bytes", call.where({})}, wanted.stack_bytes);
  check_stack({"root_stack_bytes", call.where({})}, wanted.root_stack_bytes);
  if (wanted.workers < 0) {
    throw usage_error(error_number(105),
                      "workers: " + std::to_string(wanted.workers) + " is less than 0" + call.place(), call.where());
  }
  if (wanted.strategy != nullptr) {
    if (wanted.workers > 1) {
      throw usage_error(
          error_number(106),
          "workers: " + std::to_string(wanted.workers) + ", but a strategy decides for one only" + call.place(),
          call.where());
    }
    wanted.workers = 1;
    wanted.pin = false;
  }
  if (wanted.workers == 0) wanted.workers = default_workers();
  constexpr std::string_view variable = "SHUNT_END_IF_STUCK";
  if (const auto text = environment::read(variable)) {
    wanted.end_if_stuck = parse_count(variable, *text, 0, 1) == 1 && wanted.end_if_stuck;
  }
  return wanted;
}

}  // namespace

shared::shared(runtime& its_face, const options& wanted, call_site call)
    : face(its_face), settings(resolved(wanted, call)), asleep(settings.workers) {
  const auto count = static_cast<std::size_t>(settings.workers);
  oversubscribed = settings.workers > default_workers();
  auto usable = usable_cpus();
  if (settings.pin && count <= usable.size() && 2 * count > usable.size()) {
    usable.resize(count);
    cpus = std::move(usable);
  }
  workers.reserve(count);
  for (int i = 0; i < settings.workers; ++i) workers.push_back(std::make_unique<worker>(*this, i));
}

shared::~shared() {
  // Fibers that were spawned and never run, and wakes of fibers that have ended.
  for (const auto& w : workers) {
    for (auto left = w->remote.inbox.close(); !left.empty();) {
      if (left.is_wake()) {
        wake_posted(*w, *left.pop());
      } else {
        w->starter.drop(left.pop());
      }
    }
  }
}

bool shared::offer_task() noexcept {
  const int claimed = asleep.claim();
  if (claimed < 0) return false;
  workers[static_cast<std::size_t>(claimed)]->remote.unpark();
  return true;
}

bool shared::all_ended() noexcept {
  // acq_rel, edge `tally`: of two workers that tally, the later one sees the ends that the earlier one saw or made.
  tallies_.fetch_add(1, std::memory_order_acq_rel);
  std::uint64_t ended = 0;
  for (const auto& w : workers) ended += w->published.ended();
  // After the ends. relaxed: every spawn that matters happens before an end that was just read.
  auto spawned = spawned_outside.load(std::memory_order_relaxed);
  for (const auto& w : workers) spawned += w->published.spawned();
  return ended == spawned;
}

std::size_t shared::alive() const noexcept {
  std::uint64_t ended = 0;
  for (const auto& w : workers) ended += w->published.ended();
  auto spawned = spawned_outside.load(std::memory_order_relaxed);  // relaxed: about
  for (const auto& w : workers) spawned += w->published.spawned();
  return spawned > ended ? static_cast<std::size_t>(spawned - ended) : 0;
}

/// Forgets all that the last run left.
void shared::start() {
  {
    std::stop_source fresh;
    const std::scoped_lock held(stop_lock_);
    asked_to_stop_ = std::move(fresh);
  }
  stopping_.store(false, std::memory_order_relaxed);  // relaxed: no worker runs yet
  fibers_not_started = 0;
  start_failure = nullptr;
  stuck.begin_run();
  for (const auto& w : workers)
    w->remote.woken_from_outside.store(false, std::memory_order_relaxed);  // relaxed: likewise
}

void shared::report(std::string_view text) const noexcept {
  if (settings.report) return settings.report(text);
  write_all(STDERR_FILENO, text);
}

void shared::stop() noexcept {
  // release: edge `all over` out. A worker that sleeps, or is about to, sees the store through unpark(): edge `sent`.
  stopping_.store(true, std::memory_order_release);
  for (const auto& w : workers) w->remote.unpark();
}

void shared::end() noexcept {
  const std::scoped_lock held(stop_lock_);
  asked_to_stop_ = std::stop_source(std::nostopstate);
  late_ = std::chrono::steady_clock::time_point::max();
}

void shared::fail(std::exception_ptr what) noexcept {
  {
    const std::scoped_lock held(failure_lock);
    if (!failure) failure = std::move(what);
  }
  request_stop();
}

void shared::start_failed(const std::exception_ptr& why) noexcept {
  const std::scoped_lock held(failure_lock);
  if (++fibers_not_started == 1) start_failure = why;
}

std::exception_ptr shared::out_of_memory() const noexcept {
  try {
    return std::make_exception_ptr(
        error(error_number(120), "fiber: no memory to start it; " + memory_limit_in_force(0)));
  } catch (...) {
    return no_memory_;  // not even memory to say more
  }
}

/// How many, and why the first one failed.
std::string shared::start_failures() {
  const std::scoped_lock held(failure_lock);
  if (fibers_not_started == 0) return {};
  std::string text = std::to_string(fibers_not_started) +
                     (fibers_not_started == 1 ? " fiber could not be started" : " fibers could not be started");
  try {
    std::rethrow_exception(start_failure);
  } catch (const std::exception& why) {
    text += std::string(" (") + why.what() + "). ";
  } catch (...) {
    text += ". ";
  }
  return text;
}

void shared::request_stop() noexcept {
  std::stop_source source(std::nostopstate);
  {
    const std::scoped_lock held(stop_lock_);
    if (asked_to_stop_.stop_requested()) return;
    source = asked_to_stop_;
    if (source.stop_possible() && settings.stop_after > settings.stop_after.zero()) late_ = after(settings.stop_after);
  }
  notify_monitor();
  source.request_stop();  // not under the lock: what it calls may ask for the token
}

std::stop_token shared::stop_token() {
  const std::scoped_lock held(stop_lock_);
  return asked_to_stop_.get_token();
}

std::chrono::steady_clock::time_point shared::stop_is_late() noexcept {
  const std::scoped_lock held(stop_lock_);
  return late_;
}

void shared::late_stop_was_told() noexcept {
  const std::scoped_lock held(stop_lock_);
  late_ = std::chrono::steady_clock::time_point::max();
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
