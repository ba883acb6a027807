#include <shunt/sched/detail/parker.hpp>

#include <cerrno>
#include <string>
#include <system_error>

#if defined(__linux__)
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <shunt/base/wait_time.hpp>
#endif

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

#if defined(__linux__)

void parker::need_wake_fd() {
  if (wake_fd_ >= 0 && wake_fd_process_ == getpid()) return;
  if (wake_fd_ >= 0) close(wake_fd_);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  wake_fd_process_ = getpid();
  if (wake_fd_ >= 0) return;
  const int code = errno;
  throw error(error_number(102), "attach: no eventfd to wake the worker with: " + std::generic_category().message(code),
              error::facts{-1, -1, code});
}

/// Says that it is away before it sleeps, so that every unpark() from then on writes to the wake_fd.
void parker::park_on(int descriptor, std::chrono::nanoseconds at_most) noexcept {
  auto& token = place();
  // acquire: edge `token` in. release: edge `wake_fd` out.
  if (token.exchange(away, std::memory_order_acq_rel) == 1) {
    token.exchange(0, std::memory_order_acquire);  // acquire: edge `token` in, from an unpark() since
    return;
  }
  pollfd watched[] = {{wake_fd_, POLLIN, 0}, {descriptor, POLLIN, 0}};
  const int found = ppoll(watched, 2, wait_time(at_most).get(), nullptr);
  token.exchange(0, std::memory_order_acquire);  // acquire: edge `token` in
  if (found > 0 && watched[0].revents != 0) {
    std::uint64_t writes = 0;
    // Fails only if it is empty; then there is nothing to do.
    if (read(wake_fd_, &writes, sizeof writes) < 0) return;
  }
}

void parker::write_wake_fd() noexcept {
  const std::uint64_t once = 1;
  // Fails only if it is full; then it is readable already.
  if (write(wake_fd_, &once, sizeof once) < 0) return;
}

#else

void parker::need_wake_fd() { throw error(error_number(103), "attach: this system has no eventfd"); }
void parker::park_on(int, std::chrono::nanoseconds) noexcept {}
void parker::write_wake_fd() noexcept {}

#endif

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
