/// Supervisors, in the manner of Erlang/OTP: an actor that fails is restarted.
///
/// ```cpp
/// auto pool = all.supervise({.how = shunt::strategy::one_for_one, .restarts = 3, .within = 5s});
/// auto w = all.spawn<worker>({.name = "w1", .under = pool}, "a constructor's argument");
/// ```
///
/// An actor fails when an exception leaves a handler; an asker gets that exception as well. Without a supervisor it
/// ends. Under one its object is destroyed and made again, with the arguments that it was spawned with, in the same
/// place: refs to it stay good, and its mailbox keeps what waits there. The message that failed is not handled again.
///
/// With more than `restarts` failures in a time of `within` the supervisor gives up: it fails itself. Then the
/// supervisor above it decides; if it decides to restart, all of its actors are restarted. Without one they all end.
///
/// Terms and meaning follow Erlang/OTP's supervisor behaviour (Ericsson, OTP Design Principles, "Supervisor
/// Behaviour"): strategies, intensity and period, escalation. Unlike there a supervisor is a policy, not a process:
/// the dispatcher of the actor that fails asks it, and it decides at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace shunt {
inline namespace v1 {
namespace actor {

namespace detail {
struct supervisor_state;
}  // namespace detail

class manager;

/// Which actors of a supervisor are restarted when one fails.
enum class strategy : std::uint8_t {
  one_for_one,  ///< the actor that failed is restarted
  all_for_one,  ///< all are restarted, when one failed
};

/// A handle; copies mean the same supervisor. It lives as long as a handle, or an actor under it.
class supervisor {
 public:
  supervisor() noexcept = default;  ///< null: none
  /// Whether it means a supervisor.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Whether both mean the same supervisor, or none.
  friend bool operator==(const supervisor&, const supervisor&) = default;

 private:
  friend class manager;
  explicit supervisor(std::shared_ptr<detail::supervisor_state> s) noexcept : state_(std::move(s)) {}
  std::shared_ptr<detail::supervisor_state> state_;
};

/// What a supervisor is made with.
struct supervisor_options {
  strategy how = strategy::one_for_one;            ///< which actors are restarted when one fails
  int restarts = 3;                                ///< failures that it bears in that time; OTP's intensity. At least 0
  std::chrono::nanoseconds within{5'000'000'000};  ///< OTP's period
  supervisor under{};                              ///< decides when it gives up; null: its actors end
  std::string name{};                              ///< for messages
};

}  // namespace actor

using actor::strategy;
using actor::supervisor;
using actor::supervisor_options;

}  // namespace v1
}  // namespace shunt
