/// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace shunt {
inline namespace v1 {

/// One thread at a time. Cost: that of the descriptor.
class owned_descriptor {
 public:
  /// Owns nothing for a negative number, as open(2) returns it where it fails; errno stays as it is.
  explicit owned_descriptor(int fd = -1) noexcept : fd_(fd) {}
  ~owned_descriptor() { close(); }
  /// The other one owns nothing afterwards.
  owned_descriptor(owned_descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  /// The other one owns what this one had.
  owned_descriptor& operator=(owned_descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  /// -1, or less: none.
  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Now; afterwards it owns nothing.
  void close() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

}  // namespace v1
}  // namespace shunt
