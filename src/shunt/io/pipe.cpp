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

std::size_t source::read_some(room into, std::error_code& bad, const limit& how_long) {
  const auto done = detail::read_some(base_.state(), rest_, into, how_long);
  bad = done.bad;
  return done.moved;
}
std::size_t source::read_some(room into, const limit& how_long) {
  const auto done = detail::read_some(base_.state(), rest_, into, how_long);
  if (done.bad) detail::raise("read_some from " + name_, done);
  return done.moved;
}

std::size_t source::read_exactly(room into, std::error_code& bad, const limit& how_long) {
  const auto done = detail::read_exactly(base_.state(), rest_, into, how_long);
  bad = done.bad;
  return done.moved;
}
void source::read_exactly(room into, const limit& how_long) {
  const auto done = detail::read_exactly(base_.state(), rest_, into, how_long);
  if (done.bad) detail::raise("read_exactly from " + name_, done);
}

std::string source::read_until(std::string_view delimiter, std::size_t most, std::error_code& bad,
                               const limit& how_long) {
  const auto done = detail::read_until(base_.state(), rest_, delimiter, most, how_long);
  bad = done.bad;
  return done.bad ? std::string() : rest_.take(done.moved);
}
std::string source::read_until(std::string_view delimiter, std::size_t most, const limit& how_long) {
  const auto done = detail::read_until(base_.state(), rest_, delimiter, most, how_long);
  if (done.bad) detail::raise("read_until from " + name_, done);
  return rest_.take(done.moved);
}

sink::sink(int fd, std::string name)
    : base_(fd), how_(is_socket(fd) ? detail::sends_as::socket : detail::sends_as::file), name_(std::move(name)) {}

std::size_t sink::write(bytes what, std::error_code& bad, const limit& how_long) {
  const auto done = detail::write_all(base_.state(), how_, what, how_long);
  bad = done.bad;
  return done.moved;
}
void sink::write(bytes what, const limit& how_long) {
  const auto done = detail::write_all(base_.state(), how_, what, how_long);
  if (done.bad) detail::raise("write to " + name_, done);
}

pipe_ends pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw failure("pipe", {errno, std::system_category()});
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
