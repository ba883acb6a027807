/// Hosts by name: the addresses behind "example.org:443", and a connection to one of them.
///
/// ```cpp
/// auto peer = shunt::io::connect("example.org:443", 5s);     // the first address that takes the connection
/// for (const auto& at : shunt::io::resolve("example.org:https")) use(at);
/// ```
///
/// The system's resolver (getaddrinfo(3): /etc/hosts, DNS, what nsswitch.conf says) blocks its thread. A helper thread
/// of the reactor calls it; the fiber waits, its worker does not.
///
/// Source of `localhost`: RFC 6761, 6.3. Of the order of addresses: RFC 6724, by the system.
#pragma once

#include <concepts>
#include <string_view>
#include <system_error>
#include <vector>

#include <shunt/io/address.hpp>
#include <shunt/io/deadline.hpp>
#include <shunt/io/net.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// A fiber. Looks a host up. An address in address's own form is returned as it is, without a look-up; `localhost`, and
/// names that end in `.localhost`, are 127.0.0.1 and ::1, without one too.
/// \param where  "host:port"; the port is a number, or a service of /etc/services ("http").
/// \return at least one address, each once, in the order in which the system wants them tried.
/// \throws io_error: timed_out, cancelled, name_category()'s (EAI_NONAME: there is no such host; EAI_AGAIN: no server
///         answered); usage_error for a text without a host or port; std::bad_alloc.
/// Cost: two switches of threads and what the resolver does: up to 30 s where no server answers. If the deadline ends
/// the wait, the resolver's call goes on behind it, and the run ends no earlier than that call.
[[nodiscard]] std::vector<address> resolve(std::string_view where, const deadline& until = {});
/// Sets `ec` instead of throwing io_error. \return empty with an error.
[[nodiscard]] std::vector<address> resolve(std::string_view where, std::error_code& ec, const deadline& until = {});

namespace detail {
[[nodiscard]] stream connect_by_name(std::string_view where, std::error_code& ec, const deadline& until);
[[nodiscard]] stream connect_by_name(std::string_view where, const deadline& until);
}  // namespace detail

/// A fiber: connects to the first address of resolve(where) that takes the connection. Each address but the last gets
/// an equal part of the time that is left, at most 10 s.
/// \param where  as resolve() takes it, or a Unix socket's "unix:/path".
/// \throws as resolve(), and as connect() to the address that was tried last.
template <std::convertible_to<std::string_view> Text>
[[nodiscard]] stream connect(const Text& where, const deadline& until = {}) {
  return detail::connect_by_name(where, until);
}
/// \return a closed stream with `ec`.
template <std::convertible_to<std::string_view> Text>
[[nodiscard]] stream connect(const Text& where, std::error_code& ec, const deadline& until = {}) {
  return detail::connect_by_name(where, ec, until);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
