/// A signal that asks a job to stop: at its next chance it writes a checkpoint, and ends.
#pragma once

#include <csignal>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// While one lives, the signal is remembered, the first time; a second one has its default action: it ends the process.
/// What is asked stays asked until a job obeys: one that has no further chance leaves it to the next.
/// One at a time in a process.
class stop_signal {
 public:
  /// \param number  SIGTERM
  explicit stop_signal(int number) noexcept;
  ~stop_signal();
  stop_signal(const stop_signal&) = delete;
  stop_signal& operator=(const stop_signal&) = delete;

  /// Any thread. Whether the signal has come, to this object or to one before, and no job has obeyed it.
  [[nodiscard]] bool came() const noexcept;
  /// Any thread. A job ends as it was asked to.
  void obeyed() noexcept;

 private:
  const int number_;
  struct sigaction before_{};
};

/// "TERM", "SIGTERM" and the like. \return 0 for a name of no signal that may be chosen
[[nodiscard]] int signal_of(std::string_view name) noexcept;

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
