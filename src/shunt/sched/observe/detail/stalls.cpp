#include <shunt/sched/observe/detail/stalls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include <shunt/sched/detail/worker.hpp>
#include <shunt/sched/observe/detail/dump_text.hpp>
#include <shunt/sched/observe/detail/fiber_dump.hpp>
#include <shunt/sched/observe/detail/kernel_wait.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

using namespace std::chrono_literals;

bool looks_for_stalls(const shared& of) noexcept {
  return of.settings.stall_after > 0ns || of.settings.blocked_after > 0ns;
}

std::chrono::nanoseconds time_between_looks(const shared& of) noexcept {
  auto time = std::chrono::nanoseconds::max();
  for (const auto limit : {of.settings.stall_after, of.settings.blocked_after}) {
    if (limit > 0ns) time = std::min(time, std::max<std::chrono::nanoseconds>(limit / 2, 1ms));
  }
  return time;
}

#if defined(__linux__)
namespace {

constexpr std::size_t most_beside = 20;  // fibers that are described beside the one that keeps their worker

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

/// What the thread of `w` waits for in the kernel, as the end of a sentence.
std::string describe(const kernel_wait& wait, const shared& s, const worker& w) {
  const auto held_by = [&](const worker& one) {
    return wait.mutex_owner != 0 && wait.mutex_owner == one.published.thread();
  };
  if (held_by(w)) {
    return "for a mutex that the same thread holds already. It never ends: a fiber of this worker keeps a std::mutex "
           "over a wait (hold none over a wait), or locks one twice";
  }
  if (wait.mutex_owner != 0) {
    const auto owner = std::find_if(s.workers.begin(), s.workers.end(), [&](const auto& one) { return held_by(*one); });
    const auto holder = owner == s.workers.end() ? "thread " + std::to_string(wait.mutex_owner)
                                                 : "a fiber of worker " + std::to_string((*owner)->index);
    return "for a mutex that " + holder + " holds";
  }
  if (wait.is_lock) return "for another thread (a condition variable, a semaphore, a std::future, a join)";
  if (wait.call >= 0) return "in system call " + std::to_string(wait.call);
  return "for what cannot be seen";
}

void tell_stalled(shared& s, worker& w, std::uint64_t beat, std::chrono::nanoseconds limit) {
  const auto all = all_fibers();
  dump_text text(all);
  dump_text* const into[] = {&text};
  worker* const workers[] = {&w};
  collect(workers, all, snapshot::scope::running_only, into);
  if (w.published.beat() != beat) return;  // it has gone on meanwhile
  const auto ms = number_text(std::chrono::duration<double, std::milli>(limit).count());
  s.report("shunt: a fiber has kept its worker for more than " + ms + " ms\n" + text.take());
}

/// The thread of `w` has slept in the kernel inside of one fiber for `so_long`.
void tell_blocked(shared& s, worker& w, std::uint64_t beat, std::chrono::nanoseconds so_long) {
  const auto wait = kernel_wait_of(w.published.thread());
  const auto text = "shunt: a fiber has kept worker " + std::to_string(w.index) + " for more than " +
                    number_text(std::chrono::duration<double>(so_long).count()) +
                    " s, and runs nothing: its thread waits in the kernel, " + describe(wait, s, w) +
                    ". Meanwhile none of this worker's fibers runs.\n";
  if (!wait.is_lock) {
    // A signal might end that call early, and the program has not asked for that.
    return s.report(text + "Its stack: SIGUSR1, sched::report_fibers(), or a debugger, thread " +
                    std::to_string(w.published.thread()) + '\n');
  }
  const auto all = all_fibers();
  dump_text dump(all, most_beside);
  dump_text* const into[] = {&dump};
  worker* const workers[] = {&w};
  collect(workers, all, snapshot::scope::all, into);
  // It has gone on; or it keeps no other fiber.
  if (w.published.beat() != beat || (dump.listed() == 1 && wait.mutex_owner == 0)) return;
  s.report(text + dump.take());
}

}  // namespace

void stall_finder::look(std::span<shared* const> runtimes) {
  for (shared* const s : runtimes) {
    if (!looks_for_stalls(*s)) continue;
    for (const auto& w : s->workers) look_at(*s, *w);
  }
}

/// A limit counts as passed only after two looks: one look alone may come long after the one before it, if the whole
/// process was stopped between them.
void stall_finder::look_at(shared& s, worker& w) {
  const auto stall = s.settings.stall_after;
  const auto block = s.settings.blocked_after;
  auto& last = last_[&w];
  const auto beat = w.published.beat();
  const auto now = std::chrono::steady_clock::now();
  if (beat % 2 == 0 || beat != last.beat) {
    last = {};
    last.beat = beat;
    last.first = last.asleep = now;
    if (beat % 2 != 0 && block > 0ns) last.used = cpu_time_of(w.published.thread());
    return;
  }
  if (stall > 0ns && ++last.looks >= 2 && now - last.first >= stall && !std::exchange(last.told_stall, true)) {
    tell_stalled(s, w, beat, stall);
  }
  if (block <= 0ns || last.told_block) return;
  const auto used = cpu_time_of(w.published.thread());
  if (used < 0ns || used != last.used || !sleeps_in_kernel(w.published.thread())) {
    last.used = used;
    last.asleep = now;
    last.sleeps = 0;
  } else if (++last.sleeps >= 2 && now - last.asleep >= block) {
    last.told_block = true;
    tell_blocked(s, w, beat, block);
  }
}

#endif

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
