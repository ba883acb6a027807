#include <shunt/sched/detail/crew.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/memory_limit.hpp>
#include <shunt/base/parse.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/sched/detail/watchman.hpp>
#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

void check_stack(const char* what, std::size_t bytes) {
  if (bytes <= context::stack_pool::largest) return;
  throw usage_error(std::string(what) + ": a stack of " + std::to_string(bytes) +
                    " bytes: " + context::stack_pool::bounds());
}

namespace {

constexpr int status_if_stuck = 70;  // sysexits.h: EX_SOFTWARE

options resolved(options wanted) {
  check_stack("stack_bytes", wanted.stack_bytes);
  check_stack("root_stack_bytes", wanted.root_stack_bytes);
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
  constexpr std::string_view variable = "SHUNT_END_IF_STUCK";
  if (const auto text = environment::read(variable)) {
    wanted.end_if_stuck = parse_count(variable, *text, 0, 1) == 1 && wanted.end_if_stuck;
  }
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
  stopping_.store(false, std::memory_order_relaxed);    // relaxed: no worker runs yet
  told_stuck_.store(false, std::memory_order_relaxed);  // likewise
  refused_fibers = 0;
  refusal = nullptr;
  for (const auto& w : workers) w->address().fed.store(false, std::memory_order_relaxed);  // likewise
}

/// The worker that rests last looks after the time whether all of them still do; an earlier one leaves that to it.
void crew::rest(worker& who, std::chrono::nanoseconds at_most) noexcept {
  auto& bed = who.address().bed;
  const auto limit = settings.stuck_after;
  // seq_cst here and in all_rest(): a worker that was woken, or rests anew, is seen there. See the proof.
  const auto turn = rests_.fetch_add(1, std::memory_order_seq_cst) + 1;
  const bool last = resting_.fetch_add(1, std::memory_order_seq_cst) + 1 == settings.workers;
  if (!last || limit <= limit.zero() || at_most < limit) {
    bed.park(at_most);
  } else {
    constexpr std::chrono::nanoseconds longest =
        std::chrono::minutes(1);  // a look that rare costs an idle process nothing
    for (auto patience = limit;; patience = std::max(limit, std::min(2 * patience, longest))) {
      const auto end = std::chrono::steady_clock::now() + patience;
      bed.park(patience);
      // The time may have been over just when another thread left a token: then it is taken, and not left again.
      if (!who.address().mail.is_armed() || std::chrono::steady_clock::now() < end) break;
      if (rests_.load(std::memory_order_relaxed) != turn) {  // relaxed: a hint, all_rest() decides
        bed.park(at_most);
        break;
      }
      if (!all_rest(turn)) break;
      // One at a time: the census wakes the others, of which the last one to rest again comes here as well.
      if (telling_.exchange(true, std::memory_order_acquire)) continue;
      tell_stuck(who, turn);
      telling_.store(false, std::memory_order_release);  // pairs with the exchange: what has been told
      if (who.has_runnable() || !all_rest(turn)) break;
    }
  }
  resting_.fetch_sub(1, std::memory_order_seq_cst);
}

/// Whether all workers sleep in rest(), and none has been woken; the last one to begin did so in this turn.
///
/// If it says so, then at the second look at `rests_` no worker runs, nor was any about to: a worker that was woken has
/// something in its inbox until it has left rest(), since it empties the inbox after that. So one that had been woken
/// before the looks at the inboxes is seen there, or had left, and `resting_` is too small, or has come back, and
/// `rests_` has grown. Those that still rest wake none.
bool crew::all_rest(std::uint64_t turn) const noexcept {
  const auto same = [&] {
    return resting_.load(std::memory_order_seq_cst) == settings.workers &&
           rests_.load(std::memory_order_seq_cst) == turn;
  };
  return same() &&
         std::all_of(workers.begin(), workers.end(), [](const auto& w) { return w->address().mail.is_armed(); }) &&
         same() && !stopping();
}

/// All rest, and have done so for long.
void crew::tell_stuck(const worker& who, std::uint64_t turn) noexcept {
  const bool fed = std::any_of(workers.begin(), workers.end(), [](const auto& w) {
    return w->address().fed.load(std::memory_order_relaxed);  // relaxed: a hint
  });
  const bool for_ever = none_can_wake(*this);
  const bool ends = for_ever && settings.end_if_stuck;
  if ((fed || told_stuck_.load(std::memory_order_relaxed)) && !for_ever)
    return;  // relaxed: one worker decides at a time
  // Another thread may have woken a fiber, and ended, before none_can_wake() looked.
  if (!all_rest(turn)) return;
  if (!told_stuck_.exchange(true, std::memory_order_relaxed)) {
    try {
      report(
          (for_ever
               ? "shunt: no fiber can run, and nothing in this process can wake one: there is no other thread, timer, "
                 "poller or signal handler. "
               : "shunt: no fiber can run, and none will unless another thread wakes it. ") +
          refusals() + fibers_of(*this));
    } catch (...) {  // no memory for the text: then none is written
    }
  }
  // The report may have been given to code that wakes one: here, or elsewhere.
  if (!ends || who.has_runnable() || !all_rest(turn)) return;
  report("shunt: so the process ends, with status 70 (options::end_if_stuck, SHUNT_END_IF_STUCK=0: it waits)\n");
  // A fiber may keep the lock of stdout, and no fiber goes on. Others' destructors must not run: fibers refer to what
  // they would destroy, and this may be any thread.
  if (ftrylockfile(stdout) == 0) {
    static_cast<void>(std::fflush(stdout));
    funlockfile(stdout);
  }
  std::_Exit(status_if_stuck);
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

void crew::refused(const std::exception_ptr& why) noexcept {
  const std::scoped_lock held(failure_lock);
  if (++refused_fibers == 1) refusal = why;
}

std::exception_ptr crew::out_of_memory() const noexcept {
  try {
    return std::make_exception_ptr(error("fiber: no memory to start it; " + memory_limit_in_force(0)));
  } catch (...) {
    return no_memory_;  // not even memory to say more
  }
}

std::string crew::refusals() {
  const std::scoped_lock held(failure_lock);
  if (refused_fibers == 0) return {};
  std::string text = std::to_string(refused_fibers) +
                     (refused_fibers == 1 ? " fiber could not be started" : " fibers could not be started");
  try {
    std::rethrow_exception(refusal);
  } catch (const std::exception& why) {
    text += std::string(" (") + why.what() + "). ";
  } catch (...) {
    text += ". ";
  }
  return text;
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
