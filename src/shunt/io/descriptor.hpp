/// A descriptor that fibers wait on: the base of this module's sockets, pipes and files, and the way to wait on a
/// descriptor of another library.
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include <shunt/io/deadline.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

namespace detail {
class descriptor_state;
}

/// Owns a descriptor of the system, and remembers which worker's epoll has it: that of the worker whose fiber waited on
/// it first. Moves, does not copy. A fiber that moves or destroys one must be the only one that uses it.
class descriptor {
 public:
  constexpr descriptor() noexcept = default;  ///< closed

  /// Takes `fd` over, and makes it non-blocking, for every process that shares it.
  /// \throws io_error, std::bad_alloc; `fd` is closed then.
  explicit descriptor(int fd);
  ~descriptor();
  /// `other` is closed afterwards.
  descriptor(descriptor&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Closes what this object had.
  descriptor& operator=(descriptor&& other) noexcept {
    descriptor(std::move(other)).swap(*this);
    return *this;
  }
  /// No other fiber may use either object, as for a move. No system call.
  void swap(descriptor& other) noexcept { std::swap(state_, other.state_); }

  /// The system's number, for setsockopt(2) and the like; -1 once closed.
  [[nodiscard]] int native() const noexcept;
  /// False once close() was called, by any thread, and for an object that never had a descriptor.
  [[nodiscard]] bool is_open() const noexcept { return native() >= 0; }

  /// Any thread, any number of times. Ends the connection (or whatever it is) at once; each fiber that waits on it is
  /// woken, and its call fails with errc::closed. The number stays taken until this object is destroyed or assigned to,
  /// so no call ever meets another file. A fiber that has learned of the close may destroy or assign to this object, if
  /// no other fiber uses it, even before close() has returned. All close() functions of this module keep to that; only
  /// calls on a file that are under way end as they would have.
  void close() noexcept;

  /// A fiber: returns when a read (a write) would not wait, be it because of an error or the end.
  /// \throws io_error: timed_out, cancelled, closed.
  void readable(const deadline& until = {}) const;
  /// The same for a write.
  void writable(const deadline& until = {}) const;
  /// Sets `ec` instead of throwing io_error.
  void readable(std::error_code& ec, const deadline& until = {}) const;
  /// Sets `ec` instead of throwing io_error.
  void writable(std::error_code& ec, const deadline& until = {}) const;

  /// For this module only.
  explicit descriptor(detail::descriptor_state* state) noexcept : state_(state) {}
  /// For this module only. Null: it never had a descriptor, or was moved from.
  [[nodiscard]] detail::descriptor_state* state() const noexcept { return state_; }

 private:
  detail::descriptor_state* state_ = nullptr;
};

/// A fiber: returns when a read (a write) on a descriptor of another owner would not wait. Changes nothing about it.
/// Does not notice that the owner closes `fd` meanwhile: wait on a `descriptor` where that may happen. Files of a disk
/// are always ready. Cost: five system calls if it must wait; for many waits on one descriptor use `descriptor`.
/// \throws io_error: timed_out, cancelled, the system's (EBADF).
void readable(int fd, const deadline& until = {});
/// The same for a write.
void writable(int fd, const deadline& until = {});
/// Sets `ec` instead of throwing io_error.
void readable(int fd, std::error_code& ec, const deadline& until = {});
/// Sets `ec` instead of throwing io_error.
void writable(int fd, std::error_code& ec, const deadline& until = {});

}  // namespace io
}  // namespace v1
}  // namespace shunt
