/// The failure detector: notices a rank that was stopped, cut off or killed, from open() to the carrier's destructor.
///
/// A rank counts as lost for one of three reasons:
///
///   ended    the kernel says that its process has ended (ranks of this machine, at the next beat)
///   silent   no heartbeat for `deadline` of watched time; of several such ranks, find_silent() says which
///   stuck    a thread of this process has not come back from the network's library for `deadline`: a rank that has
///            ended or is stopped may hold what the library waits for there. Where the program beats, its threads say
///            so, if one of them can; the watchdog speaks a second later, when all of them are stuck
///
/// Watched time is time during which this process was awake and listening. A beat adds the time since the last beat,
/// but at most a fifth of the deadline: one long gap, in which this process was itself stopped or got no CPU, counts as
/// one beat. So silence takes both time and five beats.
///
/// While a service runs the program beats, through carrier::beat(). Before and after, the watchdog's thread beats, and
/// a loss ends the job.
///
/// Edge: a release store, and the acquire load that it feeds
///   known  set_deadline() -> find_stuck()    processes_ is complete; through stuck_limit_, which is 0 until then
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <vector>

#include <shunt/transport/detail/process_watch.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/network/heartbeat_port.hpp>
#include <shunt/transport/network/stuck_time.hpp>
#include <shunt/transport/network/watchdog.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// Finds out which ranks are lost, and ends the job when one is.
class liveness {
 public:
  /// Starts the watchdog. Before the network's library is initialised.
  /// \param calls  outlives this object
  /// \param words  likewise; it need not be built yet, and is open when open() is called
  liveness(gate& calls, heartbeat_port& words, const limits& time_limits);

  /// Limits waits in calls that no heartbeat leaves. For the thread that opens or closes the transport.
  [[nodiscard]] watchdog& timer() noexcept { return watchdog_; }

  /// Collective, once: from here on every rank sends heartbeats. Not called in a job of one rank.
  /// \param here  by rank, the number of its process; 0: it is on another machine than this one
  void open(int rank, const std::vector<int>& here);

  /// A service starts: from here on the program beats.
  /// \param deadline  of silence; 0: no rank is watched
  void service_started(const gate::pass& pass, std::chrono::milliseconds deadline);
  /// A service has stopped: from here on the watchdog beats.
  void service_stopped(const gate::pass& pass);

  /// Any thread that does not hold the gate: sends heartbeats, and looks for lost ranks. Waits for the gate at most
  /// 100 ms. \return a rank that counts as lost; nothing as well if the last call was less than 10 ms ago.
  [[nodiscard]] std::optional<loss> beat();
  /// The thread inside stop(), which does not hold the gate. \throws shunt::error naming a rank that counts as lost.
  void beat_while_stopping();

  /// No rank is watched any more. Heartbeats that are under way stay so.
  void stop_watching(const gate::pass&) noexcept { watching_ = false; }

 private:
  void set_deadline(const gate::pass& pass, std::chrono::milliseconds deadline);
  std::optional<loss> watch(const gate::pass& pass);
  template <class Look>
  std::optional<loss> with_gate(std::chrono::nanoseconds longer, Look look);
  std::optional<loss> find_stuck(std::chrono::steady_clock::time_point begin, std::chrono::nanoseconds longer);
  void beat_by_watchdog() noexcept;

  gate& gate_;
  heartbeat_port& heartbeats_;
  const std::chrono::milliseconds own_deadline_;  // where no service runs
  int rank_ = 0;
  int ranks_ = 1;

  // Of any thread.
  std::atomic<std::chrono::steady_clock::rep> next_beat_{0};
  stuck_time stuck_;
  std::atomic<std::chrono::nanoseconds::rep> stuck_limit_{0};  // the deadline; edge `known`
  std::atomic<bool> program_beats_{false};                     // a service runs; changed by the holder of the gate

  // Of the holder of the gate (gate.G1).
  bool watching_ = false;
  std::chrono::milliseconds deadline_;
  std::chrono::steady_clock::time_point last_beat_;

  detail::process_watch processes_;  // not changed after open(): asked without the gate (edge `known`)
  watchdog watchdog_;                // last: its thread uses all of the above
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
