/// One worker's event loop: its epoll, and its io_uring if the kernel gives one. The descriptor of the io_uring is
/// registered in the epoll, so a worker sleeps on one descriptor.
///
/// A reactor makes a loop for each worker; without a reactor a worker makes its own when one of its fibers first waits.
///
/// Only the worker's thread uses its loop: the scheduler through poll(), and the fibers, which stay on the worker. So
/// there are no locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <shunt/io/detail/helper_pool.hpp>
#include <shunt/sched/poller.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class ring;

/// The part that the loops of one runtime share.
struct loop_group {
  explicit loop_group(int max_helpers);

  const std::uint32_t number;  // never 0, and no other group has the same
  helper_pool helpers;
};

class loop final : public sched::poller {
 public:
  /// \throws io_error if the system has no descriptor left.
  loop(std::shared_ptr<loop_group> group, std::unique_ptr<ring> files);
  ~loop() override;
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  /// A fiber: the loop of its worker, made now if there was none.
  /// \throws usage_error outside a runtime, io_error, std::bad_alloc.
  [[nodiscard]] static loop& current();

  [[nodiscard]] std::uint32_t number() const noexcept { return group_->number; }
  [[nodiscard]] helper_pool& helpers() const noexcept { return group_->helpers; }
  /// The io_uring that makes calls on files; nullptr: helper threads make them.
  [[nodiscard]] ring* files() const noexcept { return files_.get(); }
  /// A descriptor was registered: from now on poll() asks the epoll.
  void epoll_is_used() noexcept { epoll_used_ = true; }

  // --- sched::poller ---
  bool poll() override;
  bool arm() override { return true; }  // every event makes the descriptor readable
  void disarm() override {}
  std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
  [[nodiscard]] int descriptor() const noexcept override { return epoll_; }
  [[nodiscard]] std::uint32_t mark() const noexcept override { return number(); }

 private:
  [[gnu::cold, gnu::noinline]] static loop& make_here();

  // Few enough that the lines which poll() asks for are still in a near cache when the fibers run.
  static constexpr int events_per_poll = 32;

  const std::shared_ptr<loop_group> group_;
  const std::unique_ptr<ring> files_;
  int epoll_ = -1;
  bool epoll_used_ = false;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
