#include <shunt/transport/network/liveness.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>

#include <shunt/base/error.hpp>
#include <shunt/transport/detail/watching.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// beat() does nothing if called again within this time: threads that beat without pause would keep all others from the
/// gate.
constexpr nanoseconds shortest_beat = milliseconds(10);
/// How long one beat waits for the gate, and how long it sleeps between two tries.
constexpr milliseconds gate_wait{100};
constexpr nanoseconds gate_interval = std::chrono::microseconds(20);
/// A thread that waits inside stop() beats at most so often.
constexpr milliseconds stopping_beat{100};
/// How much later than the program's threads the watchdog says that a call of the library has not come back.
constexpr milliseconds time_for_program{1'000};

}  // namespace

liveness::liveness(gate& calls, heartbeat_port& words, const limits& time_limits)
    : gate_(calls),
      heartbeats_(words),
      own_deadline_(time_limits.deadline),
      deadline_(time_limits.deadline),
      watchdog_(time_limits, [this] { beat_by_watchdog(); }) {}

/// The kernel watches the other processes of this machine.
void liveness::open(int rank, const std::vector<int>& here) {
  const auto pass = gate_.enter();
  rank_ = rank;
  ranks_ = static_cast<int>(here.size());
  for (int r = 0; r < ranks_; ++r) {
    const int process = here[static_cast<std::size_t>(r)];
    if (r != rank_ && process != 0) processes_.add(r, process);
  }
  last_beat_ = clock::now();
  set_deadline(pass, own_deadline_);
}

void liveness::set_deadline(const gate::pass&, milliseconds deadline) {
  if (ranks_ == 1) return;  // there is none to watch
  deadline_ = deadline;
  watching_ = deadline.count() > 0;
  stuck_limit_.store(nanoseconds(deadline).count(), std::memory_order_release);  // edge `known`: processes_ is complete
}

void liveness::service_started(const gate::pass& pass, milliseconds deadline) {
  set_deadline(pass, deadline);
  program_beats_.store(true, std::memory_order_relaxed);  // relaxed: with the gate; find_stuck()'s caller guesses
}

void liveness::service_stopped(const gate::pass& pass) {
  set_deadline(pass, own_deadline_);
  program_beats_.store(false, std::memory_order_relaxed);  // relaxed: as above
}

/// One beat: adds watched time, asks the kernel, takes and sends heartbeats, and judges.
std::optional<loss> liveness::watch(const gate::pass& pass) {
  const auto now = clock::now();
  const auto gap = std::min<nanoseconds>(now - last_beat_, deadline_ / detail::looks_a_deadline);
  last_beat_ = now;
  auto& peers = heartbeats_.peers(pass);
  for (auto& p : peers) p.silent += gap;
  // The kernel first: a rank that was killed inside the library may have left its shared memory so that no
  // call of it returns.
  if (auto lost = processes_.find_ended()) return lost;
  heartbeats_.receive(pass);
  heartbeats_.send(pass);
  const peer* const silent = find_silent(peers, deadline_, [this](int r) { return processes_.is_stopped(r); });
  if (silent == nullptr) return std::nullopt;
  return loss{silent->rank, "silent for " + detail::seconds(silent->silent) + ": stopped or unreachable"};
}

std::optional<loss> liveness::beat() {
  // A thread that beats without pause is answered now and then, or other threads would never get the gate.
  // relaxed, both: only this word matters; several threads may pass it, and the gate orders them.
  const auto ticks = clock::now().time_since_epoch().count();
  if (ticks < next_beat_.load(std::memory_order_relaxed)) return std::nullopt;
  next_beat_.store(ticks + clock::duration(shortest_beat).count(), std::memory_order_relaxed);
  return with_gate({}, [this](const gate::pass& pass) { return watching_ ? watch(pass) : std::nullopt; });
}

/// What the watchdog's thread does where no service runs: a loss ends the job.
void liveness::beat_by_watchdog() noexcept try {
  const auto program_beats = [this] { return program_beats_.load(std::memory_order_relaxed); };  // relaxed: as above
  const auto longer = program_beats() ? time_for_program : milliseconds(0);
  const auto lost = with_gate(longer, [&](const gate::pass& pass) -> std::optional<loss> {
    if (!watching_ || program_beats()) return std::nullopt;
    if (heartbeats_.is_over(pass)) return std::nullopt;
    return watch(pass);
  });
  if (lost) {
    end_job(watchdog_.name(), rank_,
            "rank " + std::to_string(lost->rank) + " " + lost->why +
                (longer == longer.zero() ? " while the job began or ended" : ""));
  }
} catch (const std::exception& thrown) {
  end_job(watchdog_.name(), rank_, std::string("transport: ") + thrown.what());
}

/// Looks with the gate, if that opens in time: a thread that is stuck inside the library must not hold up the one
/// that detects it.
/// \param longer  than the deadline: what this thread leaves to others
template <class Look>
std::optional<loss> liveness::with_gate(nanoseconds longer, Look look) {
  const auto begin = clock::now();
  const auto pass = gate_.enter_urgently(gate_wait, gate_interval);
  if (!pass) return find_stuck(begin, longer);
  stuck_.clear();
  return look(*pass);
}

/// The gate has not opened since `begin`: a thread of this process has not come back from the library. Once that has
/// lasted for the deadline, names the rank that it waits for, as far as the kernel knows, or else this one.
std::optional<loss> liveness::find_stuck(clock::time_point begin, nanoseconds longer) {
  const nanoseconds limit(stuck_limit_.load(std::memory_order_acquire));  // edge `known`
  if (limit.count() <= 0) return std::nullopt;
  const auto stuck =
      stuck_.add(begin, clock::now(), std::max<nanoseconds>(limit / detail::looks_a_deadline, gate_wait));
  if (stuck < limit + longer) return std::nullopt;
  if (auto lost = processes_.find_ended()) return lost;
  if (auto lost = processes_.find_stopped()) return lost;
  return loss{rank_, "has not come back from a call of " + std::string(heartbeats_.library()) + " for " +
                         detail::seconds(stuck) + ": a rank that it waits for is stopped or unreachable"};
}

void liveness::beat_while_stopping() {
  std::optional<loss> lost;
  {
    const auto pass = gate_.enter();
    if (watching_ && clock::now() - last_beat_ > stopping_beat) lost = watch(pass);
  }
  if (lost) {
    throw error(error_number(808),
                "rank " + std::to_string(lost->rank) + " " + lost->why + " before the end of the job",
                {.rank = lost->rank});
  }
}

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
