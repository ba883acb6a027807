/// The address of a socket: numbers or a path, never a name that must be looked up (name.hpp does that).
///
///   "127.0.0.1:80"   IPv4          "0.0.0.0:0": any interface, a port that the system chooses
///   "[::1]:80"       IPv6          "[fe80::1%eth0]:80": and its interface
///   "localhost:80"   127.0.0.1:80, as RFC 6761 has it
///   "unix:/path"     a file        "unix:@name": an abstract name of Linux, without a file
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace shunt {
inline namespace v1 {
namespace io {

/// A value. Two are equal if their texts are.
class address {
 public:
  address() noexcept = default;  ///< none: family() is AF_UNSPEC

  /// \param where  of the call, for errors: programs leave it out.
  /// \throws usage_error that names what is wrong with the text.
  address(std::string_view text, std::source_location where = std::source_location::current());
  /// From text in the same form: a literal converts implicitly.
  address(const char* text, std::source_location where = std::source_location::current())
      : address(std::string_view(text), where) {}
  /// From text in the same form: a std::string converts implicitly.
  address(const std::string& text, std::source_location where = std::source_location::current())
      : address(std::string_view(text), where) {}
  /// From the form that the system uses.
  address(const sockaddr_storage& given, socklen_t length) noexcept;

  /// In the form above. "unix:" for an end of a Unix socket without a name, "" for none.
  [[nodiscard]] std::string text() const;
  /// \return AF_INET, AF_INET6 or AF_UNIX; AF_UNSPEC for none.
  [[nodiscard]] int family() const noexcept { return where_.ss_family; }
  /// \return 0..65535; 0 where the family has no ports.
  [[nodiscard]] int port() const noexcept;
  /// \return the file of a Unix socket; "" for any other address.
  [[nodiscard]] std::string path() const;

  /// The form that bind(2), connect(2) and sendto(2) take; valid while this object lives.
  [[nodiscard]] const sockaddr* native() const noexcept { return reinterpret_cast<const sockaddr*>(&where_); }
  [[nodiscard]] socklen_t native_length() const noexcept { return length_; }  ///< bytes of native(); 0 for none

  /// Compares the texts: host, interface and port, or path. Cost: makes two strings.
  friend bool operator==(const address& a, const address& b) { return a.text() == b.text(); }

 private:
  sockaddr_storage where_{};
  socklen_t length_ = 0;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
