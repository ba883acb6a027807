/// The transport over OpenSHMEM 1.4.
///
/// What it has of its own: shmem_init and shmem_finalize with what must happen between the ranks before and after, and
/// exchange() and the barriers, by puts and tests. The rest is network_carrier's, over the parts
///
///   progress_engine   rings of tickets, trains in symmetric memory (shmem.S1 to shmem.S4)
///   meeting_place     barriers, and texts
///   heartbeats        counts that ranks put into each other's memory
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <shunt/transport/network/carrier.hpp>
#include <shunt/transport/network/liveness.hpp>
#include <shunt/transport/shmem/board.hpp>
#include <shunt/transport/shmem/heartbeats.hpp>
#include <shunt/transport/shmem/meeting_place.hpp>
#include <shunt/transport/shmem/progress_engine.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

/// The transport over OpenSHMEM. See carrier for what each function does. One in a process: OpenSHMEM that was
/// finalised cannot be initialised again.
class shmem_carrier final : public network::network_carrier {
 public:
  /// Collective. Initialises OpenSHMEM, which the program must not do itself. \throws shunt::error if it cannot.
  explicit shmem_carrier(const limits& time_limits);
  ~shmem_carrier() override;

  std::string_view name() const noexcept override { return "shmem"; }
  std::vector<std::string> exchange(const std::string& mine) override;

 private:
  void initialise();
  bool finalise(bool unwinding);
  void gather_to_stop() override;
  void end_all(const network::gate::pass& pass, int status) noexcept override;

  progress_engine engine_;
  meeting_place meetings_{gate_};
  heartbeats heartbeats_;

  network::liveness liveness_;  // last: its thread uses the gate and the heartbeats
};

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
