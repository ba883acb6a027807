/// The system calls of a message: without what the C library does around them for pthread_cancel(), which no worker is
/// ever sent; two read-modify-writes and some fifty instructions a call.
#pragma once

#include <cstddef>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <shunt/base/sanitizers.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

// Sanitizers look at what the C library's functions are given.
#if defined(SYS_recvfrom) && defined(SYS_sendto) && !defined(SHUNT_ASAN) && !defined(SHUNT_TSAN)

/// recv(2)
inline ssize_t receive_bytes(int fd, void* into, std::size_t size) noexcept {
  return syscall(SYS_recvfrom, fd, into, size, 0, nullptr, nullptr);
}
/// send(2), without SIGPIPE.
inline ssize_t send_bytes(int fd, const void* from, std::size_t size) noexcept {
  return syscall(SYS_sendto, fd, from, size, MSG_NOSIGNAL, nullptr, 0);
}

#else

inline ssize_t receive_bytes(int fd, void* into, std::size_t size) noexcept { return ::recv(fd, into, size, 0); }
inline ssize_t send_bytes(int fd, const void* from, std::size_t size) noexcept {
  return ::send(fd, from, size, MSG_NOSIGNAL);
}

#endif

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
