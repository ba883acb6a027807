/// How fast the network between the hosts of a job is, and how long its trains should be.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <shunt/pgas/options.hpp>
#include <shunt/transport/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// What was measured between two hosts.
struct network_speed {
  std::chrono::nanoseconds one_way{0};  ///< half of a round trip of a short train, the median
  double in_usual_trains = 0;           ///< bytes a second in trains of usual_train bytes, the median
  double in_long_trains = 0;            ///< and in those of long_train bytes

  /// The longest train of a job over this network: long_train where that moves a seventh more at least, else
  /// usual_train.
  [[nodiscard]] std::size_t longest_train() const noexcept;
  /// One line: what was measured, which trains follow, and why.
  [[nodiscard]] std::string text() const;
};

/// Collective, outside start()..stop(): the lowest rank, and the lowest one of another host, send each other some
/// trains, and tell all ranks. Takes some 10 ms; over a slow network, where the length of trains hardly matters, the
/// time of a few trains. If the network fails meanwhile, it says so on standard error and ends the job.
/// \param deadline  silence after which a rank counts as lost
/// \param name      of the application, in front of a message; empty: none
/// \return the same on all ranks; nothing: all ranks are on one host
[[nodiscard]] std::optional<network_speed> measure_network(transport::carrier& over, std::chrono::milliseconds deadline,
                                                           const std::string& name = {});

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
