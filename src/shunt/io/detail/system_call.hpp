/// The three system calls that a message costs, without the C library.
///
/// Around each call the C library does what pthread_cancel() needs: two read-modify-writes and some fifty instructions.
/// No worker is ever cancelled. A return from a function of the library costs more than it seems, too: the kernel's own
/// calls have pushed the callers' addresses out of the processor's return predictor.
///
/// \return bytes (or events); below 0: the negative of an errno.
#pragma once

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <shunt/base/sanitizers.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// What the last system call of this thread that failed has left in errno.
[[nodiscard]] inline std::error_code system_error() noexcept { return {errno, std::system_category()}; }

// Not under sanitizers: they check the memory that a program passes to functions of the C library.
#if defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__) && !defined(SHUNT_ASAN) && !defined(SHUNT_TSAN)

[[gnu::always_inline]] inline ssize_t system_call(long number, int fd, const void* bytes, std::size_t size,
                                                  long flags) noexcept {
  ssize_t result = number;
  register long fourth asm("r10") = flags;
  register long fifth asm("r8") = 0;  // no address of a peer
  register long sixth asm("r9") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(fd)), "S"(bytes), "d"(size), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

/// recv(2)
[[gnu::always_inline]] inline ssize_t receive_bytes(int fd, void* into, std::size_t size) noexcept {
  return system_call(SYS_recvfrom, fd, into, size, 0);
}
/// send(2), without SIGPIPE.
[[gnu::always_inline]] inline ssize_t send_bytes(int fd, const void* from, std::size_t size) noexcept {
  return system_call(SYS_sendto, fd, from, size, MSG_NOSIGNAL);
}

/// epoll_wait(2), without waiting.
[[gnu::always_inline]] inline ssize_t fetch_events(int epoll, epoll_event* events, int most) noexcept {
  return system_call(SYS_epoll_wait, epoll, events, static_cast<std::size_t>(most), 0);
}

#else
// Never inlined: after a wait a fiber that migrates may be on another thread, and compilers keep the address of errno.
[[gnu::noinline]] inline ssize_t receive_bytes(int fd, void* into, std::size_t size) noexcept {
  const auto result = ::recv(fd, into, size, 0);
  return result >= 0 ? result : -errno;
}
[[gnu::noinline]] inline ssize_t send_bytes(int fd, const void* from, std::size_t size) noexcept {
  const auto result = ::send(fd, from, size, MSG_NOSIGNAL);
  return result >= 0 ? result : -errno;
}
inline ssize_t fetch_events(int epoll, epoll_event* events, int most) noexcept {
  const auto result = ::epoll_wait(epoll, events, most, 0);
  return result >= 0 ? result : -errno;
}

#endif

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
