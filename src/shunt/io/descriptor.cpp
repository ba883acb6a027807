#include <shunt/io/descriptor.hpp>

#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <shunt/io/detail/watch.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

using detail::side;

/// Asks the system whether a call on this side would wait.
auto looks(side which) {
  return [which](int fd) {
    pollfd one{fd, static_cast<short>(which == side::in ? POLLIN | POLLRDHUP : POLLOUT), 0};
    const int count = ::poll(&one, 1, 0);
    if (count == 0) errno = EAGAIN;
    if (count > 0 && (one.revents & POLLNVAL) != 0) errno = EBADF;
    return count > 0 && (one.revents & POLLNVAL) == 0 ? 0 : -1;
  };
}

const char* name_of(side which) { return which == side::in ? "readable" : "writable"; }

std::error_code wait_foreign(int fd, side which, const limit& how_long) {
  sched::this_fiber::require_wait(name_of(which));
  const auto look = looks(which);
  if (how_long.stop().stop_requested()) return errc::cancelled;
  if (look(fd) == 0) return {};
  if (errno != EAGAIN && errno != EINTR) return {errno, std::system_category()};
  // A number of our own: an epoll tells descriptors apart by number, and `fd` may be waited for
  // by another fiber as well, or be somebody else's by tomorrow.
  const int mine = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (mine < 0) return {errno, std::system_category()};
  struct owner {
    explicit owner(int of) : it(detail::watch::take(of)) {}
    ~owner() {
      it->forget();  // closing `mine` would not: the file behind it lives on
      it->drop();
    }
    detail::watch* const it;
  } const held(mine);
  return detail::perform(name_of(which), held.it, which, how_long, look).bad;
}

std::error_code wait_own(detail::watch* on, side which, const limit& how_long) {
  return detail::perform(name_of(which), on, which, how_long, looks(which)).bad;
}

void check(std::error_code bad, side which, int fd) {
  if (bad) throw failure(std::string(name_of(which)) + ": descriptor " + std::to_string(fd), bad);
}

}  // namespace

descriptor::descriptor(int fd) : watch_(detail::watch::take(fd)) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && ((flags & O_NONBLOCK) != 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)) return;
  const int code = errno;
  watch_->drop();
  throw failure("descriptor " + std::to_string(fd), {code, std::system_category()});
}

descriptor::~descriptor() {
  if (watch_ != nullptr) watch_->drop();
}

int descriptor::native() const noexcept { return watch_ == nullptr ? -1 : watch_->fd(); }

void descriptor::close() noexcept {
  if (watch_ != nullptr) watch_->close();
}

void descriptor::readable(std::error_code& bad, const limit& how_long) const {
  bad = wait_own(watch_, side::in, how_long);
}
void descriptor::writable(std::error_code& bad, const limit& how_long) const {
  bad = wait_own(watch_, side::out, how_long);
}
void descriptor::readable(const limit& how_long) const {
  const int fd = native();
  check(wait_own(watch_, side::in, how_long), side::in, fd);
}
void descriptor::writable(const limit& how_long) const {
  const int fd = native();
  check(wait_own(watch_, side::out, how_long), side::out, fd);
}

void readable(int fd, std::error_code& bad, const limit& how_long) { bad = wait_foreign(fd, side::in, how_long); }
void writable(int fd, std::error_code& bad, const limit& how_long) { bad = wait_foreign(fd, side::out, how_long); }
void readable(int fd, const limit& how_long) { check(wait_foreign(fd, side::in, how_long), side::in, fd); }
void writable(int fd, const limit& how_long) { check(wait_foreign(fd, side::out, how_long), side::out, fd); }

}  // namespace io
}  // namespace v1
}  // namespace shunt
