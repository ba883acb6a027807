/// Where a socket is: numbers or a path, never a name that must be looked up.
///
///   "127.0.0.1:80"   IPv4          "0.0.0.0:0": any interface, a port of the system's choice
///   "[::1]:80"       IPv6          "[fe80::1%eth0]:80": with the interface it holds for
///   "unix:/path"     a file        "unix:@name": Linux's abstract names, which no file has
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace shunt {
inline namespace v1 {
namespace net {

/// A value; equal if the texts are.
class address {
 public:
  address() noexcept = default;  ///< of nobody: family() is AF_UNSPEC

  /// \throws usage_error that names what is wrong with the text.
  address(std::string_view text);
  address(const char* text) : address(std::string_view(text)) {}
  address(const std::string& text) : address(std::string_view(text)) {}
  /// As the system gave it.
  address(const sockaddr_storage& given, socklen_t length) noexcept;

  /// As above. "unix:" for the end of a Unix socket that has no name, "" for nobody.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] int family() const noexcept { return where_.ss_family; }
  /// \return 0..65535; 0 where there are none.
  [[nodiscard]] int port() const noexcept;
  /// \return "" if this is no file.
  [[nodiscard]] std::string path() const;

  [[nodiscard]] const sockaddr* native() const noexcept { return reinterpret_cast<const sockaddr*>(&where_); }
  [[nodiscard]] socklen_t native_length() const noexcept { return length_; }

  friend bool operator==(const address& a, const address& b) { return a.text() == b.text(); }

 private:
  sockaddr_storage where_{};
  socklen_t length_ = 0;
};

}  // namespace net
}  // namespace v1
}  // namespace shunt
