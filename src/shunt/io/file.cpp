#include <shunt/io/file.hpp>

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shunt/io/detail/helpers.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/detail/transfer.hpp>
#include <shunt/io/detail/watch.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

using detail::outcome;

/// Calls `attempt(fd, moved)`, on a helper, until `wanted` bytes have moved or it says 0 or -1.
template <typename Attempt>
outcome on_file(const char* call, detail::watch* on, std::size_t wanted, const limit& how_long,
                const Attempt& attempt) {
  sched::this_fiber::require_wait(call);
  const detail::use now(on);
  if (!now) return {0, errc::closed};
  outcome done;
  const auto bad = detail::loop::current().pool().perform([&]() noexcept {
    for (;;) {
      const auto result = attempt(on->fd_in_use(), done.moved);
      if (result < 0 && errno == EINTR) continue;
      if (result < 0) done.bad = {errno, std::system_category()};
      if (result <= 0) return;
      done.moved += static_cast<std::size_t>(result);
      if (done.moved >= wanted) return;
    }
  }, how_long);
  if (bad) return {0, bad};
  return done;
}

int flags(file::mode how) noexcept {
  switch (how) {
    case file::mode::read: return O_RDONLY;
    case file::mode::update: return O_RDWR;
    case file::mode::create: return O_RDWR | O_CREAT;
    case file::mode::replace: return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

outcome read_file(detail::watch* on, std::uint64_t at, room into, const limit& how_long) {
  return on_file("read_at", on, into.size(), how_long, [at, into](int fd, std::size_t moved) {
    const auto left = into.from(moved);
    return ::pread(fd, left.data(), left.size(), static_cast<off_t>(at + moved));
  });
}

outcome write_file(detail::watch* on, std::uint64_t at, bytes what, const limit& how_long) {
  return on_file("write_at", on, what.size(), how_long, [at, what](int fd, std::size_t moved) {
    const auto left = what.from(moved);
    return ::pwrite(fd, left.data(), left.size(), static_cast<off_t>(at + moved));
  });
}

}  // namespace

file::file(const std::string& path, mode how, const limit& how_long) : path_(path) {
  sched::this_fiber::require_wait("open");
  int fd = -1;
  int code = 0;
  const auto bad = detail::loop::current().pool().perform([&]() noexcept {
    do {
      fd = ::open(path.c_str(), flags(how) | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    code = fd < 0 ? errno : 0;
  }, how_long);
  if (bad) throw failure("open " + path, bad);
  if (fd < 0) throw failure("open " + path, {code, std::system_category()});
  base_ = descriptor(fd);
}

std::size_t file::read_at(std::uint64_t at, room into, std::error_code& bad,
                          const limit& how_long) {
  const auto done = read_file(base_.state(), at, into, how_long);
  bad = done.bad;
  return done.moved;
}
std::size_t file::read_at(std::uint64_t at, room into, const limit& how_long) {
  const auto done = read_file(base_.state(), at, into, how_long);
  if (done.bad) detail::raise("read_at from " + path_, done);
  return done.moved;
}

std::size_t file::write_at(std::uint64_t at, bytes what, std::error_code& bad,
                           const limit& how_long) {
  const auto done = write_file(base_.state(), at, what, how_long);
  bad = done.bad;
  return done.moved;
}
void file::write_at(std::uint64_t at, bytes what, const limit& how_long) {
  const auto done = write_file(base_.state(), at, what, how_long);
  if (done.bad) detail::raise("write_at to " + path_, done);
}

std::uint64_t file::size() const {
  const detail::use now(base_.state());
  if (!now) throw failure("size of " + path_, errc::closed);
  struct stat is {};
  if (fstat(base_.state()->fd_in_use(), &is) != 0) {
    throw failure("size of " + path_, {errno, std::system_category()});
  }
  return static_cast<std::uint64_t>(is.st_size);
}

void file::sync(const limit& how_long) {
  const auto done = on_file("sync", base_.state(), 0, how_long,
                            [](int fd, std::size_t) { return ssize_t{::fsync(fd)}; });
  if (done.bad) detail::raise("sync of " + path_, done);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
