#include <shunt/io/net.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <shunt/io/detail/watch.hpp>
#include <shunt/io/reactor.hpp>

namespace shunt {
inline namespace v1 {
namespace net {
namespace {

using io::detail::outcome;
using io::detail::perform;
using io::detail::side;

std::error_code system_error() noexcept { return {errno, std::system_category()}; }

using naming = int (*)(int, sockaddr*, socklen_t*);

/// getsockname or getpeername; the address of nobody if that fails.
address named(naming by, int fd) noexcept {
  sockaddr_storage where{};
  socklen_t length = sizeof where;
  if (by(fd, reinterpret_cast<sockaddr*>(&where), &length) != 0) return {};
  return {where, length};
}

/// What a TCP connection is given that was made here.
void prepare(const io::descriptor& fresh, const address& peer) noexcept {
  if (peer.family() == AF_UNIX) return;
  const int on = 1;
  // Not possible for a socket that has just been reset, which the next call will say.
  setsockopt(fresh.native(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fresh.state()->reads_empty_it();
}

io::descriptor open_socket(const address& like, int type, std::error_code& bad) {
  const int fd = ::socket(like.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    bad = system_error();
    return {};
  }
  return io::descriptor(fd);
}

/// What became of a connect() that had to wait.
int connected(int fd) noexcept {
  int code = 0;
  socklen_t length = sizeof code;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) return -1;
  if (code == 0) {
    sockaddr_storage where;
    length = sizeof where;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&where), &length) == 0) return 0;
    code = errno == ENOTCONN ? EAGAIN : errno;  // not yet: woken for no reason
  }
  errno = code;
  return -1;
}

/// connect(2), as an attempt: EAGAIN means "wait until it is writable".
int try_connect(int fd, const address& to, bool& begun) noexcept {
  if (begun) return connected(fd);
  if (::connect(fd, to.native(), to.native_length()) == 0) return 0;
  if (errno == EINPROGRESS || errno == EINTR) {  // interrupted: it goes on without us
    begun = true;
    errno = EAGAIN;
  } else if (errno == EAGAIN) {  // nothing has begun, and nothing would tell when it can
    errno = EADDRNOTAVAIL;
  }
  return -1;
}

/// Calls `attempt` until it says no EAGAIN, for what the system has no event for: after 1 ms, then
/// less often, up to every 64 ms.
template <typename Attempt>
std::error_code ask_again(const char* call, const io::descriptor& on, const limit& how_long, const Attempt& attempt) {
  using namespace std::chrono_literals;
  sched::this_fiber::require_wait(call);
  if (on.state() == nullptr) return io::errc::closed;
  for (std::chrono::milliseconds pause = 1ms;;) {
    if (on.state()->closed()) return io::errc::closed;
    if (how_long.stop().stop_requested()) return io::errc::cancelled;
    if (attempt(on.state()->number()) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return on.state()->failed(errno);
    const auto now = limit::clock::now();
    if (how_long.deadline() <= now) return io::errc::timed_out;
    io::sleep_until(std::min<limit::clock::time_point>(now + pause, how_long.deadline()), how_long.stop());
    pause = std::min<std::chrono::milliseconds>(2 * pause, 64ms);
  }
}

/// A Unix socket leaves its file behind: whoever bound it removes it, once.
/// \param local  a copy: whoever is told of the close may destroy the socket.
void close_and_remove(const io::descriptor& bound, const address local) noexcept {
  if (bound.state() == nullptr || !bound.state()->close() || local.family() != AF_UNIX) return;
  const auto* const path = reinterpret_cast<const char*>(local.native()) + sizeof(sa_family_t);
  if (local.native_length() > sizeof(sa_family_t) && *path != '\0') ::unlink(path);
}

bool gone_before_accepted(int code) noexcept {
  switch (code) {  // accept(2): errors of the new connection, already pending on it
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

void bind_to(const io::descriptor& socket, const address& at, std::error_code& bad) noexcept {
  if (::bind(socket.native(), at.native(), at.native_length()) != 0) bad = system_error();
}

}  // namespace

// --- stream ---

stream::stream(int fd) : base_(fd), peer_(named(getpeername, fd)) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP)
    base_.state()->reads_empty_it();
}

std::string stream::text(const char* call) const {
  const auto who = peer_.text();
  return std::string(call) + " " + (who.empty() ? "a closed stream" : who);
}

std::size_t stream::read_some(room into, std::error_code& bad, const limit& how_long) {
  const auto done = io::detail::receive_some(base_.state(), rest_, into, how_long);
  bad = done.bad;
  return done.moved;
}
std::size_t stream::read_some(room into, const limit& how_long) {
  const auto done = io::detail::receive_some(base_.state(), rest_, into, how_long);
  if (done.bad) io::detail::raise(text("read_some from"), done);
  return done.moved;
}

std::size_t stream::read_exactly(room into, std::error_code& bad, const limit& how_long) {
  const auto done = io::detail::read_exactly(base_.state(), rest_, into, how_long);
  bad = done.bad;
  return done.moved;
}
void stream::read_exactly(room into, const limit& how_long) {
  const auto done = io::detail::read_exactly(base_.state(), rest_, into, how_long);
  if (done.bad) io::detail::raise(text("read_exactly from"), done);
}

std::string stream::read_until(std::string_view delimiter, std::size_t most, std::error_code& bad,
                               const limit& how_long) {
  const auto done = io::detail::read_until(base_.state(), rest_, delimiter, most, how_long);
  bad = done.bad;
  return done.bad ? std::string() : rest_.take(done.moved);
}
std::string stream::read_until(std::string_view delimiter, std::size_t most, const limit& how_long) {
  const auto done = io::detail::read_until(base_.state(), rest_, delimiter, most, how_long);
  if (done.bad) io::detail::raise(text("read_until from"), done);
  return rest_.take(done.moved);
}

std::size_t stream::write(bytes what, std::error_code& bad, const limit& how_long) {
  const auto done = io::detail::send_all(base_.state(), what, how_long);
  bad = done.bad;
  return done.moved;
}
void stream::write(bytes what, const limit& how_long) {
  const auto done = io::detail::send_all(base_.state(), what, how_long);
  if (done.bad) io::detail::raise(text("write to"), done);
}

void stream::shutdown(half which) {
  if (!base_.is_open()) io::detail::raise(text("shutdown of"), {0, io::errc::closed});
  const int how = which == half::reading ? SHUT_RD : which == half::writing ? SHUT_WR : SHUT_RDWR;
  if (::shutdown(base_.state()->number(), how) != 0 && errno != ENOTCONN) {
    io::detail::raise(text("shutdown of"), {0, base_.state()->failed(errno)});
  }
}

address stream::local() const {
  if (!base_.is_open()) io::detail::raise(text("local address of"), {0, io::errc::closed});
  return named(getsockname, base_.state()->number());
}

stream connect(const address& to, std::error_code& bad, const limit& how_long) {
  bad.clear();
  sched::this_fiber::require_wait("connect");
  auto made = open_socket(to, SOCK_STREAM, bad);
  if (bad) return {};
  if (to.family() == AF_UNIX) {
    // Never goes on without us: EAGAIN is a full queue.
    bad = ask_again("connect", made, how_long, [&](int fd) { return ::connect(fd, to.native(), to.native_length()); });
  } else {
    bool begun = false;
    bad = perform("connect", made.state(), side::out, how_long, [&](int fd) { return try_connect(fd, to, begun); }).bad;
  }
  if (bad) return {};
  prepare(made, to);
  return {std::move(made), to};
}

stream connect(const address& to, const limit& how_long) {
  std::error_code bad;
  auto made = connect(to, bad, how_long);
  if (bad) throw io::failure("connect to " + to.text(), bad);
  return made;
}

std::pair<stream, stream> connected_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    throw io::failure("connected_pair", system_error());
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

listener listen(const address& at, std::error_code& bad, int backlog) {
  bad.clear();
  listener made;
  auto base = open_socket(at, SOCK_STREAM, bad);
  if (bad) return {};
  const int on = 1;
  if (at.family() != AF_UNIX) {
    setsockopt(base.native(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // cannot fail
  }
  bind_to(base, at, bad);
  if (bad) return {};
  made.base_ = std::move(base);
  made.local_ = named(getsockname, made.base_.native());  // from here on it removes its file
  if (::listen(made.base_.native(), backlog) != 0) {
    bad = system_error();
    return {};
  }
  return made;
}

listener listen(const address& at, int backlog) {
  std::error_code bad;
  auto made = listen(at, bad, backlog);
  if (bad) throw io::failure("listen at " + at.text(), bad);
  return made;
}

void listener::close() noexcept { close_and_remove(base_, local_); }

stream listener::accept(std::error_code& bad, const limit& how_long) {
  sockaddr_storage where{};
  socklen_t length = 0;
  const auto done = perform("accept", base_.state(), side::in, how_long, [&](int fd) {
    length = sizeof where;
    const int made = ::accept4(fd, reinterpret_cast<sockaddr*>(&where), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (made < 0 && gone_before_accepted(errno)) errno = EINTR;  // the next one, then
    return made;
  });
  bad = done.bad;
  if (bad) return {};
  const address peer(where, length);
  io::descriptor made(static_cast<int>(done.moved));
  prepare(made, local_);
  return {std::move(made), peer};
}

stream listener::accept(const limit& how_long) {
  std::error_code bad;
  auto made = accept(bad, how_long);
  if (bad) throw io::failure("accept at " + local_.text(), bad);
  return made;
}

// --- datagram ---

datagram::datagram(const address& local) {
  std::error_code bad;
  base_ = open_socket(local, SOCK_DGRAM, bad);
  if (!bad) bind_to(base_, local, bad);
  if (bad) throw io::failure("datagrams at " + local.text(), bad);
  local_ = named(getsockname, base_.native());
}

void datagram::close() noexcept { close_and_remove(base_, local_); }

void datagram::send_to(const address& to, bytes what, std::error_code& bad, const limit& how_long) {
  const auto send = [&](int fd) {
    return ::sendto(fd, what.data(), what.size(), MSG_NOSIGNAL, to.native(), to.native_length());
  };
  if (to.family() == AF_UNIX) {  // EAGAIN is the receiver's full queue, of which this end knows nothing
    bad = ask_again("send_to", base_, how_long, send);
  } else {
    bad = perform("send_to", base_.state(), side::out, how_long, send).bad;
  }
}
void datagram::send_to(const address& to, bytes what, const limit& how_long) {
  std::error_code bad;
  send_to(to, what, bad, how_long);
  if (bad) throw io::failure("send_to " + to.text(), bad);
}

datagram::received datagram::receive(room into, std::error_code& bad, const limit& how_long) {
  sockaddr_storage where{};
  iovec part{into.data(), into.size()};
  msghdr message{};
  const auto done = perform("receive", base_.state(), side::in, how_long, [&](int fd) {
    message = {};
    message.msg_name = &where;
    message.msg_namelen = sizeof where;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return ::recvmsg(fd, &message, 0);
  });
  bad = done.bad;
  if (bad) return {};
  return {done.moved, (message.msg_flags & MSG_TRUNC) != 0, {where, message.msg_namelen}};
}
datagram::received datagram::receive(room into, const limit& how_long) {
  std::error_code bad;
  auto got = receive(into, bad, how_long);
  if (bad) throw io::failure("receive at " + local_.text(), bad);
  return got;
}

}  // namespace net
}  // namespace v1
}  // namespace shunt
