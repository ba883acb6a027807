#include <shunt/sched/detail/crew.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/sched/detail/watchman.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

options resolved(options wanted) {
  if (wanted.workers < 0) {
    throw usage_error("workers: " + std::to_string(wanted.workers) + " is less than 0");
  }
  if (wanted.decides != nullptr) {
    if (wanted.workers > 1) {
      throw usage_error("workers: " + std::to_string(wanted.workers) + ", but a chooser decides for one only");
    }
    wanted.workers = 1;
    wanted.pin = false;
  }
  if (wanted.workers == 0) wanted.workers = default_workers();
  return wanted;
}

}  // namespace

crew::crew(runtime& its_face, const options& wanted)
    : face(its_face), settings(resolved(wanted)), asleep(settings.workers) {
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

crew::~crew() {
  for (const auto& w : workers) w->drop_unstarted();
}

bool crew::offer_task() noexcept {
  const int claimed = asleep.claim();
  if (claimed < 0) return false;
  workers[static_cast<std::size_t>(claimed)]->address().unpark();
  return true;
}

bool crew::all_ended() noexcept {
  // acq_rel: of two workers that tally, the later sees the ends that the earlier saw or made.
  tallies_.fetch_add(1, std::memory_order_acq_rel);
  std::uint64_t ended = 0;
  for (const auto& w : workers) ended += w->ended();
  // Only now, and relaxed is enough: every spawn that matters happens before an end just read.
  auto spawned = spawned_outside.load(std::memory_order_relaxed);
  for (const auto& w : workers) spawned += w->spawned();
  return ended == spawned;
}

std::size_t crew::alive() const noexcept {
  std::uint64_t ended = 0;
  for (const auto& w : workers) ended += w->ended();
  auto spawned = spawned_outside.load(std::memory_order_relaxed);  // relaxed: about
  for (const auto& w : workers) spawned += w->spawned();
  return spawned > ended ? static_cast<std::size_t>(spawned - ended) : 0;
}

void crew::start() {
  {
    std::stop_source fresh;
    const std::scoped_lock held(stop_lock);
    asked_to_stop = std::move(fresh);
  }
  stopping_.store(false, std::memory_order_relaxed);  // relaxed: no worker runs yet
  told_stuck_.store(false, std::memory_order_relaxed);  // likewise
  for (const auto& w : workers) w->address().fed.store(false, std::memory_order_relaxed);  // likewise
}

// Everything here is relaxed: it decides whether a report is made, and nothing else rests on it.
void crew::rest(worker& who, std::chrono::nanoseconds at_most) noexcept {
  auto& bed = who.address().bed;
  const auto limit = settings.stuck_after;
  const bool all = resting_.fetch_add(1, std::memory_order_relaxed) + 1 == settings.workers;
  const bool fed = std::any_of(workers.begin(), workers.end(), [](const auto& w) {
    return w->address().fed.load(std::memory_order_relaxed);
  });
  if (!all || fed || limit <= limit.zero() || at_most < limit || told_stuck_.load(std::memory_order_relaxed)) {
    bed.park(at_most);
  } else {
    const auto end = std::chrono::steady_clock::now() + limit;
    bed.park(limit);
    // Nobody has given this worker anything in all that time, nor has any other one awoken.
    const bool still = std::chrono::steady_clock::now() >= end && !who.address().mail.has_nodes() &&
                       resting_.load(std::memory_order_relaxed) == settings.workers;
    if (still && !stopping() && !told_stuck_.exchange(true, std::memory_order_relaxed)) {
      try {
        report("shunt: no fiber can run, and none will unless another thread wakes it. " + fibers_of(*this));
      } catch (...) {  // no memory for the text: then none is written
      }
    }
  }
  resting_.fetch_sub(1, std::memory_order_relaxed);
}

void crew::report(std::string_view text) const noexcept {
  if (settings.report) return settings.report(text);
  write_all(STDERR_FILENO, text);
}

void crew::stop() noexcept {
  stopping_.store(true, std::memory_order_release);  // pairs with stopping(); unpark() carries it
  for (const auto& w : workers) w->address().unpark();
}

void crew::end() noexcept {
  const std::scoped_lock held(stop_lock);
  asked_to_stop = std::stop_source(std::nostopstate);
  late = std::chrono::steady_clock::time_point::max();
}

void crew::fail(std::exception_ptr what) noexcept {
  {
    const std::scoped_lock held(failure_lock);
    if (!failure) failure = std::move(what);
  }
  request_stop();
}

void crew::request_stop() noexcept {
  std::stop_source whom(std::nostopstate);
  {
    const std::scoped_lock held(stop_lock);
    if (asked_to_stop.stop_requested()) return;
    whom = asked_to_stop;
    if (whom.stop_possible() && settings.stop_after > settings.stop_after.zero()) late = after(settings.stop_after);
  }
  news_for_the_watch();
  whom.request_stop();  // not under the lock: what it calls may ask for the token
}

std::stop_token crew::stop_token() {
  const std::scoped_lock held(stop_lock);
  return asked_to_stop.get_token();
}

std::chrono::steady_clock::time_point crew::stop_is_late() noexcept {
  const std::scoped_lock held(stop_lock);
  return late;
}

void crew::told_late() noexcept {
  const std::scoped_lock held(stop_lock);
  late = std::chrono::steady_clock::time_point::max();
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
