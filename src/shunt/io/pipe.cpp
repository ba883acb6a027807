#include <shunt/io/pipe.hpp>

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

bool is_socket(int fd) noexcept {
  struct stat is{};
  return fstat(fd, &is) == 0 && S_ISSOCK(is.st_mode);
}

}  // namespace

source::source(int fd, std::string name) : base_(fd), name_(std::move(name)) {}

std::size_t source::read_some(buffer into, std::error_code& ec, const deadline& until) {
  const auto done = detail::read_some(base_.state(), read_buffer_, into, until);
  ec = done.ec;
  return done.moved;
}
std::size_t source::read_some(buffer into, const deadline& until) {
  const auto done = detail::read_some(base_.state(), read_buffer_, into, until);
  if (done.ec) detail::raise("read_some from " + name_, done, until.where());
  return done.moved;
}

std::size_t source::read_exactly(buffer into, std::error_code& ec, const deadline& until) {
  const auto done = detail::read_exactly(base_.state(), read_buffer_, into, until);
  ec = done.ec;
  return done.moved;
}
void source::read_exactly(buffer into, const deadline& until) {
  const auto done = detail::read_exactly(base_.state(), read_buffer_, into, until);
  if (done.ec) detail::raise("read_exactly from " + name_, done, until.where());
}

std::string source::read_until(std::string_view delimiter, std::size_t most, std::error_code& ec,
                               const deadline& until) {
  const auto done = detail::read_until(base_.state(), read_buffer_, delimiter, most, until);
  ec = done.ec;
  return done.ec ? std::string() : read_buffer_.take(done.moved);
}
std::string source::read_until(std::string_view delimiter, std::size_t most, const deadline& until) {
  const auto done = detail::read_until(base_.state(), read_buffer_, delimiter, most, until);
  if (done.ec) detail::raise("read_until from " + name_, done, until.where());
  return read_buffer_.take(done.moved);
}

sink::sink(int fd, std::string name)
    : base_(fd), how_(is_socket(fd) ? detail::write_call::send : detail::write_call::write), name_(std::move(name)) {}

std::size_t sink::write(const_buffer what, std::error_code& ec, const deadline& until) {
  const auto done = detail::write_all(base_.state(), how_, what, until);
  ec = done.ec;
  return done.moved;
}
void sink::write(const_buffer what, const deadline& until) {
  const auto done = detail::write_all(base_.state(), how_, what, until);
  if (done.ec) detail::raise("write to " + name_, done, until.where());
}

pipe_ends pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw io_error("pipe", {errno, std::system_category()});
  }
  pipe_ends made;
  try {
    made.out = source(std::exchange(ends[0], -1), "a pipe");
    made.in = sink(std::exchange(ends[1], -1), "a pipe");
  } catch (...) {
    if (ends[1] >= 0) ::close(ends[1]);
    throw;
  }
  return made;
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
