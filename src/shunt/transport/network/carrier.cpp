#include <shunt/transport/network/carrier.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <shunt/base/error.hpp>
#include <shunt/base/exit_status.hpp>
#include <shunt/base/machine.hpp>
#include <shunt/transport/detail/alike.hpp>
#include <shunt/transport/network/backoff.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// How long abort() waits for the gate, how long it sleeps between two tries, and how long the library may then take to
/// end the process.
constexpr milliseconds abort_gate_limit{200};
constexpr milliseconds abort_gate_interval{1};
constexpr milliseconds abort_limit{800};

}  // namespace

// --- the life of the job ---

void network_carrier::meet_processes() {
  const auto processes = exchange(std::to_string(getpid()) + ' ' + machine_identity());
  const auto machine_of = [](const std::string& process) {
    return std::string_view(process).substr(process.find(' '));
  };
  std::vector<int> here;
  for (const auto& p : processes) {
    near_.push_back(machine_of(p) == machine_of(processes[static_cast<std::size_t>(rank_)]));
    here.push_back(near_.back() ? std::atoi(p.c_str()) : 0);
  }
  ranks_here_ = static_cast<int>(std::count(near_.begin(), near_.end(), true));
  if (ranks_ > 1) liveness_.open(rank_, here);
}

/// An exception ended the job in the middle: other ranks do not finalise the library, which would wait for them, and it
/// may still write into the trains. The launcher sees a process that ended without doing so.
void network_carrier::abandon() {
  const auto pass = gate_.enter();
  liveness_.stop_watching(pass);
  engine_.abandon(pass);
}

void network_carrier::complain(const std::exception& failed) const noexcept {
  const auto& name = liveness_.timer().name();
  std::fprintf(stderr, "%s%s%s\n", name.c_str(), name.empty() ? "" : ": ", failed.what());
}

// --- the life of a service: start() to stop() ---

/// Checks that every rank asks for the same service, then makes the trains that receive.
void network_carrier::start(const service& settings) {
  SHUNT_ASSERT(!started_);
  SHUNT_ASSERT(settings.receive_trains > 0);
  if (settings.capacity > largest_ - sizeof(rail::train_head)) {
    throw error(error_number(802),
                "a train of " + std::to_string(settings.capacity) + " bytes is longer than a message of the network",
                {.rank = rank_});
  }
  detail::refuse_different(exchange(std::to_string(settings.capacity) + " bytes, " +
                                    std::to_string(settings.receive_trains) + " trains, " +
                                    std::to_string(settings.deadline.count()) + " ms"));
  share_memory(settings);

  const auto pass = gate_.enter();
  capacity_ = settings.capacity;
  if (has_network_) {
    engine_.start(pass, settings);
    // relaxed: a hint of how long ago, read by patience().
    last_moved_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  liveness_.service_started(pass, settings.deadline);
  started_ = true;
}

/// Ranks of a machine; the others are reached over the network. Where they cannot share memory, so are they.
void network_carrier::share_memory(const service& settings) {
  trains_.open(near_, rank_, settings, [this](const std::string& mine) { return exchange(mine); });
  has_network_ = ranks_ > 1 && !(ranks_here_ == ranks_ && trains_.is_open());
}

void network_carrier::send(rail::train& loaded, int rank) {
  SHUNT_ASSERT(rank >= 0 && rank < ranks_ && rank != rank_);
  SHUNT_ASSERT(loaded.head.channel < channels);
  SHUNT_ASSERT(loaded.head.bytes <= capacity_);
  loaded.head.rank = static_cast<std::uint16_t>(rank);
  loaded.head.empty = 0;
  static_cast<void>(out_.push(loaded));  // the outbox is never armed: no thread sleeps on it
  // A thread that holds the gate may have looked into the outbox already; then the next poll() takes the train.
  if (const auto pass = gate_.try_enter()) static_cast<void>(engine_.send_all(*pass, out_));
}

/// Moves the network on, if the gate is open: a closed gate says that another thread does so at this moment.
bool network_carrier::poll(rail::train_list& arrived) {
  if (!has_network_) return false;
  bool moved = false;
  do {
    if (gate_.is_urgent()) break;
    const auto pass = gate_.try_enter();
    if (!pass || !started_) break;
    if (engine_.progress(*pass, out_, arrived)) moved = true;
  } while (out_.any());  // put in by a sender that found the gate closed
  // relaxed: a hint for patience().
  if (moved) last_moved_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  return moved;
}

nanoseconds network_carrier::patience() const noexcept {
  if (!has_network_) return nanoseconds::max();
  // An eighth of the time that nothing has moved: sleeping makes no wait longer than by that.
  // relaxed: a hint.
  const clock::time_point moved{clock::duration(last_moved_.load(std::memory_order_relaxed))};
  return std::clamp<nanoseconds>((clock::now() - moved) / 8, shortest_sleep, longest_sleep);
}

/// The service ends once every rank's sends are complete and all ranks are here. Heartbeats go on.
void network_carrier::stop() {
  SHUNT_ASSERT(started_);
  if (ranks_ > 1) {
    if (has_network_) complete_sends();
    // Every message has been processed, so no train is under way; one that is not complete, or that arrives, says that
    // the caller was wrong. A short one may be missed.
    gather_to_stop();
  }
  const auto pass = gate_.enter();
  if (has_network_) engine_.stop(pass);
  liveness_.service_stopped(pass);
  started_ = false;
}

/// Moves the network on until this rank's sends are complete.
void network_carrier::complete_sends() {
  for (backoff pause;; pause()) {
    {
      const auto pass = gate_.enter();
      rail::train_list late;
      static_cast<void>(engine_.progress(pass, out_, late));
      if (!late.empty())
        throw error(error_number(804), "stop() while trains for this rank are under way", {.rank = rank_});
      if (engine_.all_sent(pass) && !out_.any()) return;
    }
    liveness_.beat_while_stopping();
  }
}

/// Ends the process in any case: by the library, by a thread of its own if that does not return, or at once if the gate
/// stays closed.
void network_carrier::abort(int wanted) noexcept {
  const int status = status_of_failure(wanted);
  // relaxed: only the order of the calls matters. Later callers wait for the first one to end the process.
  if (ending_.exchange(true, std::memory_order_relaxed)) {
    std::this_thread::sleep_for(abort_gate_limit + abort_limit);
    std::_Exit(status);
  }
  try {
    std::thread([status] {  // the library talks to the launcher, which may not answer
      std::this_thread::sleep_for(abort_gate_limit + abort_limit);
      std::_Exit(status);
    })
        .detach();
  } catch (...) {  // no thread to be had: the library's own promise must do
  }
  const auto pass = gate_.enter_urgently(abort_gate_limit, abort_gate_interval);
  // A thread that holds the gate for so long hangs inside the library. Ending without finalising it is what the
  // launcher takes as failure, and it ends the other ranks.
  if (!pass) std::_Exit(status);
  end_all(*pass, status);
  std::_Exit(status);
}

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
