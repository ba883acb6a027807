#include <shunt/io/descriptor.hpp>

#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <shunt/io/detail/descriptor_state.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

using detail::side;

/// An attempt for perform(): asks the system whether a call on this side would wait.
auto poll_attempt(side which) {
  return [which](int fd) {
    pollfd one{fd, static_cast<short>(which == side::in ? POLLIN | POLLRDHUP : POLLOUT), 0};
    const int count = ::poll(&one, 1, 0);
    if (count == 0) errno = EAGAIN;
    if (count > 0 && (one.revents & POLLNVAL) != 0) errno = EBADF;
    return count > 0 && (one.revents & POLLNVAL) == 0 ? 0 : -1;
  };
}

const char* name_of(side which) { return which == side::in ? "readable" : "writable"; }

std::error_code wait_foreign(int fd, side which, const deadline& until) {
  sched::this_fiber::require_wait(until.call(name_of(which)));
  const auto attempt = poll_attempt(which);
  if (until.stop().stop_requested()) return errc::cancelled;
  if (attempt(fd) == 0) return {};
  if (errno != EAGAIN && errno != EINTR) return {errno, std::system_category()};
  // Waits on a number of its own: an epoll tells descriptors apart by number, and `fd` may have another fiber that
  // waits on it, and may name another file tomorrow.
  const int mine = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (mine < 0) return {errno, std::system_category()};
  struct owner {
    explicit owner(int fd) : state(detail::descriptor_state::acquire(fd)) {}
    ~owner() {
      state->unregister();  // closing `mine` would not: the file behind it lives on
      state->release();
    }
    detail::descriptor_state* const state;
  } const held(mine);
  return detail::perform(name_of(which), held.state, which, until, attempt).ec;
}

std::error_code wait_own(detail::descriptor_state* on, side which, const deadline& until) {
  return detail::perform(name_of(which), on, which, until, poll_attempt(which)).ec;
}

void check(std::error_code ec, side which, int fd, const deadline& until) {
  if (!ec) return;
  throw io_error(std::string(name_of(which)) + ": descriptor " + std::to_string(fd), ec, 0, until.where());
}

}  // namespace

descriptor::descriptor(int fd) : state_(detail::descriptor_state::acquire(fd)) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && ((flags & O_NONBLOCK) != 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0)) return;
  const int code = errno;
  state_->release();
  throw io_error("descriptor " + std::to_string(fd), {code, std::system_category()});
}

descriptor::~descriptor() {
  if (state_ != nullptr) state_->release();
}

int descriptor::native() const noexcept { return state_ == nullptr ? -1 : state_->fd(); }

void descriptor::close() noexcept {
  if (state_ != nullptr) state_->close();
}

void descriptor::readable(std::error_code& ec, const deadline& until) const { ec = wait_own(state_, side::in, until); }
void descriptor::writable(std::error_code& ec, const deadline& until) const { ec = wait_own(state_, side::out, until); }
void descriptor::readable(const deadline& until) const {
  const int fd = native();
  check(wait_own(state_, side::in, until), side::in, fd, until);
}
void descriptor::writable(const deadline& until) const {
  const int fd = native();
  check(wait_own(state_, side::out, until), side::out, fd, until);
}

void readable(int fd, std::error_code& ec, const deadline& until) { ec = wait_foreign(fd, side::in, until); }
void writable(int fd, std::error_code& ec, const deadline& until) { ec = wait_foreign(fd, side::out, until); }
void readable(int fd, const deadline& until) { check(wait_foreign(fd, side::in, until), side::in, fd, until); }
void writable(int fd, const deadline& until) { check(wait_foreign(fd, side::out, until), side::out, fd, until); }

}  // namespace io
}  // namespace v1
}  // namespace shunt
