#include <shunt/io/detail/describe_wait.hpp>

#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {
namespace {

std::string text_of(const sockaddr_storage& where, socklen_t length) {
  char text[INET6_ADDRSTRLEN + 8] = "";
  if (where.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(where);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ':' + std::to_string(ntohs(v4.sin_port));
  }
  if (where.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(where);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return '[' + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  if (where.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(where);
    const auto at = offsetof(sockaddr_un, sun_path);
    if (length > at && local.sun_path[0] != '\0')
      return std::string(local.sun_path, strnlen(local.sun_path, length - at));
    return "a local socket";
  }
  return "a socket";
}

}  // namespace

/// A listener is named by its address, a connection by its peer, anything else by the target of its link in /proc.
std::string describe_wait(int fd, side which) {
  const std::string number = " descriptor " + std::to_string(fd);
  sockaddr_storage where{};
  socklen_t length = sizeof where;
  const auto finds = [&](auto call) {
    length = sizeof where;
    return call(fd, reinterpret_cast<sockaddr*>(&where), &length) == 0;
  };
  int accepts = 0;
  socklen_t size = sizeof accepts;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0) {
    if (accepts != 0)
      return ", to accept from" + number + (finds(::getsockname) ? " at " + text_of(where, length) : "");
    const bool has_peer = finds(::getpeername);
    if (!has_peer) return (which == side::in ? ", to read from" : ", to connect") + number;
    return (which == side::in ? ", to read from" : ", to write to") + number + ", peer " + text_of(where, length);
  }
  char target[64];
  const auto count = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  return (which == side::in ? ", to read from" : ", to write to") + number +
         (count > 0 ? ", " + std::string(target, static_cast<std::size_t>(count)) : "");
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
