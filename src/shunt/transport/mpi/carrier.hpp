/// The transport over MPI: compiled once with every MPI that the build finds.
///
///   any thread       send() ----> outbox ---\                        /--> home of the train, once its freight left
///                                            +-- gate: MPI calls ---+
///   one at a time    poll() ----------------/                        \--> arrived, in matching order
///
/// Parts
///   gate              which thread may call MPI (mpi.M1)
///   progress_engine   receives, sends and their completion (mpi.M2, mpi.M3)
///   liveness          heartbeats, the kernel's word, lost ranks (mpi.M5)
///   watchdog          the thread that beats and measures time where the program does not (mpi.M5)
///
/// Invariants, beside mpi.M1 of gate.hpp, mpi.M2 and mpi.M3 of progress_engine.hpp
///   mpi.M4  Nothing here waits for another rank but the constructor, exchange(), start(), stop() and the destructor.
///           Those sleep between tests, but for MPI_Init, MPI_Comm_dup and MPI_Finalize.
///   mpi.M5  From before MPI_Init to after MPI_Finalize a thread looks after ranks that do not answer: one of the
///           program, by beat(), while a service runs; else the watchdog's. Where heartbeats can be sent it sends and
///           awaits them. In MPI_Init, and in what MPI does at the end, it measures time.
///
/// No edge of its own: the gate's and rail::inbox's cover what threads hand each other, last_moved_ and ending_ carry
/// no data, and liveness.hpp names one.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/transport/detail/shared_trains.hpp>
#include <shunt/transport/mpi/gate.hpp>
#include <shunt/transport/mpi/liveness.hpp>
#include <shunt/transport/mpi/progress_engine.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// The transport over MPI. See carrier for what each function does.
class mpi_carrier final : public carrier {
 public:
  /// Collective. Initialises MPI. \throws shunt::error if it cannot.
  explicit mpi_carrier(const limits& time_limits);
  ~mpi_carrier() override;

  std::string_view name() const noexcept override { return "mpi"; }
  int rank() const noexcept override { return rank_; }
  /// Processes of the job.
  int ranks() const noexcept override { return ranks_; }
  int ranks_here() const noexcept override { return liveness_.ranks_here(); }
  std::vector<std::string> exchange(const std::string& mine) override;
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

 private:
  void initialise();
  bool finalise(bool unwinding);
  bool gather_to_leave(bool unwinding);
  void agree_on(const service& settings);
  void share_memory(const service& settings);
  void complete_sends();

  int rank_ = 0;
  int ranks_ = 1;
  bool initialised_here_ = false;  // MPI; else by the program
  const int exceptions_ = std::uncaught_exceptions();

  std::vector<std::string> machines_;  // by rank
  detail::shared_trains trains_;
  bool has_network_ = false;

  outbox out_;
  std::atomic<std::chrono::steady_clock::rep> last_moved_{0};
  std::atomic<bool> ending_{false};  // abort() has been called

  alignas(quiet_distance) gate gate_;
  // Of the holder of the gate (mpi.M1).
  MPI_Comm train_comm_ = MPI_COMM_NULL;  // of collective calls
  std::array<MPI_Comm, channels> channel_comms_{MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Comm heartbeat_comm_ = MPI_COMM_NULL;
  bool started_ = false;
  progress_engine engine_;

  liveness liveness_;  // last: its thread uses the gate
};

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
