/// What the carriers of all networks have in common: the outbox, the gate, services, shared trains, the end of a job.
///
///   any thread       send() ----> outbox ---\                        /--> home of the train, once its freight left
///                                            +-- gate: the engine ---+
///   one at a time    poll() ----------------/                        \--> arrived, in the order of each sender
///
/// Parts
///   gate              which thread may call the network's library (gate.G1)
///   engine            the network's: receives, sends and their completion
///   liveness          heartbeats, the kernel's word, lost ranks (network.N2)
///   watchdog          the thread that beats and measures time where the program does not (network.N2)
///
/// Invariants
///   network.N1  Nothing here waits for another rank but the constructor, exchange(), start(), stop() and the
///               destructor. Those sleep between tests, but for the library's own calls that initialise, allocate and
///               finalise.
///   network.N2  From before the library is initialised to after it is finalised a thread looks after ranks that do not
///               answer: one of the program, by beat(), while a service runs; else the watchdog's. Where heartbeats can
///               be sent it sends and awaits them. In the library's first call, and in what it does at the end, it
///               measures time.
///
/// No edge of its own: the gate's and rail::inbox's cover what threads hand each other, last_moved_ and ending_ carry
/// no data, and liveness.hpp names one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/transport/detail/shared_trains.hpp>
#include <shunt/transport/detail/watching.hpp>
#include <shunt/transport/network/engine.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/network/liveness.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace network {

/// A carrier over a network. See transport::carrier for what each function does.
class network_carrier : public carrier {
 public:
  int rank() const noexcept override { return rank_; }
  /// Processes of the job.
  int ranks() const noexcept override { return ranks_; }
  int ranks_here() const noexcept override { return ranks_here_; }
  void start(const service& settings) override;
  void send(rail::train& loaded, int rank) override;
  bool poll(rail::train_list& arrived) override;
  shared_place place_of(int worker) const noexcept override { return trains_.place_of(worker); }
  bool has_network() const noexcept override { return has_network_; }
  std::string why_not_shared() const override { return trains_.why_not(); }
  std::chrono::nanoseconds patience() const noexcept override;
  std::optional<loss> beat() override { return liveness_.beat(); }
  void stop() override;
  void abort(int status) noexcept override;

 protected:
  /// \param moves   the network's engine, and
  /// \param lives   its failure detector: members of the carrier, which need not be built yet
  /// \param largest bytes of goods of the largest train that the network carries
  network_carrier(engine& moves, liveness& lives, std::size_t largest)
      : engine_(moves), liveness_(lives), largest_(largest) {}
  ~network_carrier() override = default;

  /// Collective. Once the library is initialised, and rank_ and ranks_ are known: learns of the other ranks' processes.
  /// Heartbeats begin with it: in a job of several ranks their port is open.
  void meet_processes();
  /// In the destructor, once all ranks have left: none uses the memory that they have shared.
  void give_memory_back() noexcept { trains_.close(); }
  /// In the destructor, unless the library was finalised in order: other ranks are elsewhere.
  void abandon();
  /// Whether an exception that began after the constructor is under way.
  [[nodiscard]] bool is_unwinding() const noexcept { return std::uncaught_exceptions() > exceptions_; }
  /// For waits of the destructor: bool(), whether to go on. After an exception only for a while: the caller shows its
  /// message, and the other ranks notice the end of this process.
  [[nodiscard]] static auto wait_at_end(bool unwinding) {
    using clock = std::chrono::steady_clock;
    return [unwinding, start = clock::now()] { return !unwinding || clock::now() - start <= detail::unwinding_limit; };
  }
  /// In the destructor, which throws nothing: says on standard error what has failed.
  void complain(const std::exception& failed) const noexcept;
  /// Whether a service runs. For the thread that starts and stops it.
  [[nodiscard]] bool is_started() const noexcept { return started_; }

  int rank_ = 0;                       ///< of this process
  int ranks_ = 1;                      ///< of the job
  alignas(quiet_distance) gate gate_;  ///< to the library

 private:
  /// Collective: waits for all ranks inside stop(), and calls liveness::beat_while_stopping() meanwhile.
  virtual void gather_to_stop() = 0;
  /// By the holder of the gate: has the library end all ranks. May return.
  virtual void end_all(const gate::pass& pass, int status) noexcept = 0;

  void share_memory(const service& settings);
  void complete_sends();

  engine& engine_;
  liveness& liveness_;
  const std::size_t largest_;
  const int exceptions_ = std::uncaught_exceptions();

  std::vector<bool> near_;  // by rank, whether it is on this one's machine
  int ranks_here_ = 1;
  detail::shared_trains trains_;
  bool has_network_ = false;
  std::size_t capacity_ = 0;  // of the service

  outbox out_;
  std::atomic<std::chrono::steady_clock::rep> last_moved_{0};
  std::atomic<bool> ending_{false};  // abort() has been called
  bool started_ = false;             // of the holder of the gate (gate.G1)
};

}  // namespace network
}  // namespace transport
}  // namespace v1
}  // namespace shunt
