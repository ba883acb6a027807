#include <shunt/io/net.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <shunt/io/detail/descriptor_state.hpp>
#include <shunt/io/detail/system_call.hpp>
#include <shunt/io/reactor.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

using detail::outcome;
using detail::perform;
using detail::side;
using detail::system_error;

using name_call = int (*)(int, sockaddr*, socklen_t*);

/// \param call  getsockname or getpeername. \return address() if that fails.
address address_of(name_call call, int fd) noexcept {
  sockaddr_storage where{};
  socklen_t length = sizeof where;
  if (call(fd, reinterpret_cast<sockaddr*>(&where), &length) != 0) return {};
  return {where, length};
}

/// Sets the options of a TCP connection that this module has made.
void prepare(const descriptor& fresh, const address& peer) noexcept {
  if (peer.family() == AF_UNIX) return;
  const int on = 1;
  // Fails for a socket that has just been reset; then the next call says so.
  setsockopt(fresh.native(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fresh.state()->set_tcp();
}

descriptor open_socket(const address& like, int type, std::error_code& ec) {
  const int fd = ::socket(like.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    ec = system_error();
    return {};
  }
  return descriptor(fd);
}

/// The result of a connect(2) that had to wait, as an attempt.
int connected(int fd) noexcept {
  int code = 0;
  socklen_t length = sizeof code;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) return -1;
  if (code == 0) {
    sockaddr_storage where;
    length = sizeof where;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&where), &length) == 0) return 0;
    code = errno == ENOTCONN ? EAGAIN : errno;  // not yet: the fiber was woken for no reason
  }
  errno = code;
  return -1;
}

/// connect(2), as an attempt: EAGAIN means "wait until it is writable".
int try_connect(int fd, const address& to, bool& begun) noexcept {
  if (begun) return connected(fd);
  if (::connect(fd, to.native(), to.native_length()) == 0) return 0;
  if (errno == EINPROGRESS || errno == EINTR) {  // after a signal, too, the system goes on to connect
    begun = true;
    errno = EAGAIN;
  } else if (errno == EAGAIN) {  // no port is free: nothing has begun, and no event will tell that one is
    errno = EADDRNOTAVAIL;
  }
  return -1;
}

/// Calls `attempt` until it says no EAGAIN, where the system has no event for success: after 1 ms, then less often, up
/// to every 64 ms.
template <typename Attempt>
std::error_code retry_with_backoff(const char* call, const descriptor& on, const deadline& until,
                                   const Attempt& attempt) {
  using namespace std::chrono_literals;
  sched::this_fiber::require_wait(until.call(call));
  if (on.state() == nullptr) return errc::closed;
  for (std::chrono::milliseconds pause = 1ms;;) {
    if (on.state()->closed()) return errc::closed;
    if (until.stop().stop_requested()) return errc::cancelled;
    if (attempt(on.state()->number()) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return on.state()->failed(errno);
    const auto now = deadline::clock::now();
    if (until.time() <= now) return errc::timed_out;
    sleep_until(std::min<deadline::clock::time_point>(now + pause, until.time()), until.stop());
    pause = std::min<std::chrono::milliseconds>(2 * pause, 64ms);
  }
}

/// A Unix socket leaves its file behind: the one that bound it removes it, once.
/// \param local  a copy: a fiber that learns of the close may destroy the socket at once.
void close_and_remove(const descriptor& bound, const address local) noexcept {
  if (bound.state() == nullptr || !bound.state()->close() || local.family() != AF_UNIX) return;
  const auto* const path = reinterpret_cast<const char*>(local.native()) + sizeof(sa_family_t);
  if (local.native_length() > sizeof(sa_family_t) && *path != '\0') ::unlink(path);
}

bool gone_before_accepted(int code) noexcept {
  switch (code) {  // accept(2): errors that are pending on the new connection
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH: return true;
    default: return false;
  }
}

void bind_to(const descriptor& socket, const address& at, std::error_code& ec) noexcept {
  if (::bind(socket.native(), at.native(), at.native_length()) != 0) ec = system_error();
}

}  // namespace

// --- stream ---

stream::stream(int fd) : base_(fd), peer_(address_of(getpeername, fd)) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP)
    base_.state()->set_tcp();
}

std::string stream::text(const char* call) const {
  const auto peer = peer_.text();
  return std::string(call) + " " + (peer.empty() ? "a closed stream" : peer);
}

std::size_t stream::read_some(buffer into, std::error_code& ec, const deadline& until) {
  const auto done = detail::receive_some(base_.state(), read_buffer_, into, until);
  ec = done.ec;
  return done.moved;
}
std::size_t stream::read_some(buffer into, const deadline& until) {
  const auto done = detail::receive_some(base_.state(), read_buffer_, into, until);
  if (done.ec) detail::raise(text("read_some from"), done, until.where());
  return done.moved;
}

std::size_t stream::read_exactly(buffer into, std::error_code& ec, const deadline& until) {
  const auto done = detail::read_exactly(base_.state(), read_buffer_, into, until);
  ec = done.ec;
  return done.moved;
}
void stream::read_exactly(buffer into, const deadline& until) {
  const auto done = detail::read_exactly(base_.state(), read_buffer_, into, until);
  if (done.ec) detail::raise(text("read_exactly from"), done, until.where());
}

std::string stream::read_until(std::string_view delimiter, std::size_t most, std::error_code& ec,
                               const deadline& until) {
  const auto done = detail::read_until(base_.state(), read_buffer_, delimiter, most, until);
  ec = done.ec;
  return done.ec ? std::string() : read_buffer_.take(done.moved);
}
std::string stream::read_until(std::string_view delimiter, std::size_t most, const deadline& until) {
  const auto done = detail::read_until(base_.state(), read_buffer_, delimiter, most, until);
  if (done.ec) detail::raise(text("read_until from"), done, until.where());
  return read_buffer_.take(done.moved);
}

std::size_t stream::write(const_buffer what, std::error_code& ec, const deadline& until) {
  const auto done = detail::send_all(base_.state(), what, until);
  ec = done.ec;
  return done.moved;
}
void stream::write(const_buffer what, const deadline& until) {
  const auto done = detail::send_all(base_.state(), what, until);
  if (done.ec) detail::raise(text("write to"), done, until.where());
}

void stream::shutdown(shutdown_side which, std::source_location where) {
  if (!base_.is_open()) detail::raise(text("shutdown of"), {0, errc::closed}, where);
  const int how = which == shutdown_side::reading ? SHUT_RD : which == shutdown_side::writing ? SHUT_WR : SHUT_RDWR;
  if (::shutdown(base_.state()->number(), how) != 0 && errno != ENOTCONN) {
    detail::raise(text("shutdown of"), {0, base_.state()->failed(errno)}, where);
  }
}

address stream::local(std::source_location where) const {
  if (!base_.is_open()) detail::raise(text("local address of"), {0, errc::closed}, where);
  return address_of(getsockname, base_.state()->number());
}

stream connect(const address& to, std::error_code& ec, const deadline& until) {
  ec.clear();
  sched::this_fiber::require_wait(until.call("connect"));
  auto made = open_socket(to, SOCK_STREAM, ec);
  if (ec) return {};
  if (to.family() == AF_UNIX) {
    // Never EINPROGRESS: EAGAIN says that the queue is full.
    ec = retry_with_backoff("connect", made, until,
                            [&](int fd) { return ::connect(fd, to.native(), to.native_length()); });
  } else {
    bool begun = false;
    ec = perform("connect", made.state(), side::out, until, [&](int fd) { return try_connect(fd, to, begun); }).ec;
  }
  if (ec) return {};
  prepare(made, to);
  return {std::move(made), to};
}

stream connect(const address& to, const deadline& until) {
  std::error_code ec;
  auto made = connect(to, ec, until);
  if (ec) throw io_error("connect to " + to.text(), ec, 0, until.where());
  return made;
}

std::pair<stream, stream> connected_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    throw io_error("connected_pair", system_error());
  }
  try {
    stream one(std::exchange(ends[0], -1));
    return {std::move(one), stream(std::exchange(ends[1], -1))};
  } catch (...) {
    if (ends[1] >= 0) ::close(ends[1]);
    throw;
  }
}

// --- listener ---

listener listen(const address& at, std::error_code& ec, int backlog) {
  ec.clear();
  listener made;
  auto base = open_socket(at, SOCK_STREAM, ec);
  if (ec) return {};
  const int on = 1;
  if (at.family() != AF_UNIX) {
    setsockopt(base.native(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // cannot fail
  }
  bind_to(base, at, ec);
  if (ec) return {};
  made.base_ = std::move(base);
  made.local_ = address_of(getsockname, made.base_.native());  // from here on `made` removes the file
  if (::listen(made.base_.native(), backlog) != 0) {
    ec = system_error();
    return {};
  }
  return made;
}

listener listen(const address& at, int backlog, std::source_location where) {
  std::error_code ec;
  auto made = listen(at, ec, backlog);
  if (ec) throw io_error("listen at " + at.text(), ec, 0, where);
  return made;
}

void listener::close() noexcept { close_and_remove(base_, local_); }

stream listener::accept(std::error_code& ec, const deadline& until) {
  sockaddr_storage where{};
  socklen_t length = 0;
  const auto done = perform("accept", base_.state(), side::in, until, [&](int fd) {
    length = sizeof where;
    const int made = ::accept4(fd, reinterpret_cast<sockaddr*>(&where), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (made < 0 && gone_before_accepted(errno)) errno = EINTR;  // tries the next one
    return made;
  });
  ec = done.ec;
  if (ec) return {};
  const address peer(where, length);
  descriptor made(static_cast<int>(done.moved));
  prepare(made, local_);
  return {std::move(made), peer};
}

stream listener::accept(const deadline& until) {
  std::error_code ec;
  auto made = accept(ec, until);
  if (ec) throw io_error("accept at " + local_.text(), ec, 0, until.where());
  return made;
}

// --- datagram ---

datagram::datagram(const address& local, std::source_location where) {
  std::error_code ec;
  base_ = open_socket(local, SOCK_DGRAM, ec);
  if (!ec) bind_to(base_, local, ec);
  if (ec) throw io_error("datagrams at " + local.text(), ec, 0, where);
  local_ = address_of(getsockname, base_.native());
}

void datagram::close() noexcept { close_and_remove(base_, local_); }

void datagram::send_to(const address& to, const_buffer what, std::error_code& ec, const deadline& until) {
  const auto send = [&](int fd) {
    return ::sendto(fd, what.data(), what.size(), MSG_NOSIGNAL, to.native(), to.native_length());
  };
  if (to.family() == AF_UNIX) {  // EAGAIN says that the receiver's queue is full, which gives no event here
    ec = retry_with_backoff("send_to", base_, until, send);
  } else {
    ec = perform("send_to", base_.state(), side::out, until, send).ec;
  }
}
void datagram::send_to(const address& to, const_buffer what, const deadline& until) {
  std::error_code ec;
  send_to(to, what, ec, until);
  if (ec) throw io_error("send_to " + to.text(), ec, 0, until.where());
}

datagram::received datagram::receive(buffer into, std::error_code& ec, const deadline& until) {
  sockaddr_storage where{};
  iovec part{into.data(), into.size()};
  msghdr message{};
  const auto done = perform("receive", base_.state(), side::in, until, [&](int fd) {
    message = {};
    message.msg_name = &where;
    message.msg_namelen = sizeof where;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return ::recvmsg(fd, &message, 0);
  });
  ec = done.ec;
  if (ec) return {};
  return {done.moved, (message.msg_flags & MSG_TRUNC) != 0, {where, message.msg_namelen}};
}
datagram::received datagram::receive(buffer into, const deadline& until) {
  std::error_code ec;
  auto got = receive(into, ec, until);
  if (ec) throw io_error("receive at " + local_.text(), ec, 0, until.where());
  return got;
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
