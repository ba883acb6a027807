/// A descriptor that fibers wait on: what sockets, pipes and files of this room are made of, and how
/// a descriptor of another library becomes one.
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include <shunt/io/limit.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

namespace detail {
class watch;
}

/// Owns a descriptor of the system, and remembers which worker's epoll knows it: the one whose fiber
/// first waited. Moves, does not copy. What moves or destroys it must be the only one to use it.
class descriptor {
 public:
  constexpr descriptor() noexcept = default;  ///< closed

  /// Takes `fd` over, and makes it non-blocking: so it is for every process that shares it.
  /// \throws io::failure, std::bad_alloc; `fd` is closed then.
  explicit descriptor(int fd);
  ~descriptor();
  descriptor(descriptor&& other) noexcept : watch_(std::exchange(other.watch_, nullptr)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    descriptor(std::move(other)).swap(*this);
    return *this;
  }
  void swap(descriptor& other) noexcept { std::swap(watch_, other.watch_); }

  /// The system's number, for setsockopt and the like; -1 once closed.
  [[nodiscard]] int native() const noexcept;
  [[nodiscard]] bool is_open() const noexcept { return native() >= 0; }

  /// Any thread, any number of times. Ends the connection (or what else it is) at once; whoever waits on it is
  /// woken, and fails with errc::closed. Its number stays taken until this object is destroyed or given another
  /// descriptor, so no call ever meets somebody else's. Whoever has learned of the close may do that, if nobody else
  /// uses this object, though close() may not have returned. All close() of this room keep to that.
  void close() noexcept;

  /// A fiber: returns when a read (a write) would not wait, be it for an error or the end.
  /// \throws io::failure: timed_out, cancelled, closed.
  void readable(const limit& how_long = {}) const;
  void writable(const limit& how_long = {}) const;
  void readable(std::error_code& bad, const limit& how_long = {}) const;
  void writable(std::error_code& bad, const limit& how_long = {}) const;

  /// For this room's own: a descriptor as it is, and what is behind one.
  explicit descriptor(detail::watch* taken) noexcept : watch_(taken) {}
  [[nodiscard]] detail::watch* state() const noexcept { return watch_; }

 private:
  detail::watch* watch_ = nullptr;
};

/// A fiber: returns when a read (a write) on a descriptor that somebody else owns would not wait.
/// Changes nothing about it. That `fd` is closed meanwhile is not noticed: such a descriptor wants an
/// owner. Files of a disk are always ready. Cost: five system calls if it must wait; for
/// many waits on one descriptor, `descriptor` is better.
/// \throws io::failure: timed_out, cancelled, the system's (EBADF).
void readable(int fd, const limit& how_long = {});
void writable(int fd, const limit& how_long = {});
void readable(int fd, std::error_code& bad, const limit& how_long = {});
void writable(int fd, std::error_code& bad, const limit& how_long = {});

}  // namespace io
}  // namespace v1
}  // namespace shunt
