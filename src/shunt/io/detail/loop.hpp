/// One worker's epoll.
///
/// Everything here is used by that worker's thread only: by its loop (poll) and by its fibers, which
/// stay on it. So nothing is locked.
#pragma once

#include <chrono>
#include <cstdint>

#include <shunt/sched/poller.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class helpers;

class loop final : public sched::poller {
 public:
  /// \param number  the reactor's, never 0, never used twice.
  /// \throws io::failure if the system has no descriptor left.
  loop(std::uint64_t number, helpers& pool);
  ~loop() override;
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  /// A fiber's worker's. \throws shunt::error if that has none.
  [[nodiscard]] static loop& current();

  [[nodiscard]] std::uint64_t reactor_number() const noexcept { return number_; }
  [[nodiscard]] helpers& pool() const noexcept { return pool_; }
  /// From now on poll() asks the epoll.
  void watches_something() noexcept { watching_ = true; }

  // --- sched::poller ---
  bool poll() override;
  bool arm() override { return true; }  // what brings work shows on the descriptor
  void disarm() override {}
  std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
  [[nodiscard]] int descriptor() const noexcept override { return epoll_; }

 private:
  static constexpr int events_a_look = 128;

  const std::uint64_t number_;
  helpers& pool_;
  int epoll_ = -1;
  bool watching_ = false;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
