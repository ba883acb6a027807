/// One worker's epoll, and its io_uring if there is to be one: that one's descriptor stands in the
/// epoll, so a worker sleeps on one descriptor.
///
/// A reactor makes one for each worker; a worker without makes its own when one of its fibers first waits.
///
/// Everything here is used by that worker's thread only: by its loop (poll) and by its fibers, which
/// stay on it. So nothing is locked.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <shunt/io/detail/helpers.hpp>
#include <shunt/sched/poller.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class ring;

/// What the loops of one runtime share.
struct common {
  explicit common(int most_helpers);

  const std::uint32_t number;  // never 0, never another's
  helpers pool;
};

class loop final : public sched::poller {
 public:
  /// \throws io::failure if the system has no descriptor left.
  loop(std::shared_ptr<common> shared, std::unique_ptr<ring> files);
  ~loop() override;
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  /// A fiber's worker's, made now if it had none. \throws shunt::error outside a runtime, io::failure, std::bad_alloc.
  [[nodiscard]] static loop& current();

  [[nodiscard]] std::uint32_t number() const noexcept { return shared_->number; }
  [[nodiscard]] helpers& pool() const noexcept { return shared_->pool; }
  /// What makes calls on files; nullptr: helpers do.
  [[nodiscard]] ring* files() const noexcept { return files_.get(); }
  /// From now on poll() asks the epoll.
  void watches_something() noexcept { watching_ = true; }

  // --- sched::poller ---
  bool poll() override;
  bool arm() override { return true; }  // what brings work shows on the descriptor
  void disarm() override {}
  std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
  [[nodiscard]] int descriptor() const noexcept override { return epoll_; }
  [[nodiscard]] std::uint32_t mark() const noexcept override { return number(); }

 private:
  [[gnu::cold, gnu::noinline]] static loop& made_here();

  // No more: what is touched for them should still be near when their fibers run.
  static constexpr int events_a_look = 32;

  const std::shared_ptr<common> shared_;
  const std::unique_ptr<ring> files_;
  int epoll_ = -1;
  bool watching_ = false;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
