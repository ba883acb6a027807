/// The transport over MPI: compiled once with every MPI that the build finds.
///
/// What it has of its own: MPI_Init and MPI_Finalize with what must happen between the ranks before and after, and
/// exchange() and the barriers, by collective calls that are tested. The rest is network_carrier's, over the parts
///
///   progress_engine   receives, sends and their completion (mpi.M2, mpi.M3)
///   heartbeats        words of one byte
#pragma once

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/transport/mpi/heartbeats.hpp>
#include <shunt/transport/mpi/progress_engine.hpp>
#include <shunt/transport/network/carrier.hpp>
#include <shunt/transport/network/liveness.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// The transport over MPI. See carrier for what each function does.
class mpi_carrier final : public network::network_carrier {
 public:
  /// Collective. Initialises MPI. \throws shunt::error if it cannot.
  explicit mpi_carrier(const limits& time_limits);
  ~mpi_carrier() override;

  std::string_view name() const noexcept override { return "mpi"; }
  std::vector<std::string> exchange(const std::string& mine) override;

 private:
  void initialise();
  bool finalise(bool unwinding);
  void gather_to_stop() override;
  void end_all(const network::gate::pass& pass, int status) noexcept override;

  bool initialised_here_ = false;  // MPI; else by the program

  // Of the holder of the gate (gate.G1).
  MPI_Comm train_comm_ = MPI_COMM_NULL;  // of collective calls
  std::array<MPI_Comm, channels> channel_comms_{MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Comm heartbeat_comm_ = MPI_COMM_NULL;
  progress_engine engine_;
  heartbeats heartbeats_;

  network::liveness liveness_;  // last: its thread uses the gate and the heartbeats
};

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
