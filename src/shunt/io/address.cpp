#include <shunt/io/address.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

constexpr auto path_at = offsetof(sockaddr_un, sun_path);

/// What the program wrote, and where.
struct written_address {
  std::string_view text;
  call_site call;
};

[[noreturn]] void refuse(const written_address& of, const std::string& why) {
  throw usage_error(error_number(310),
                    "address `" + std::string(of.text) + "`: " + why +
                        "; it is written 127.0.0.1:80, [::1]:80 or unix:/path" + of.call.place(),
                    of.call.where());
}

std::uint16_t parse_port(const written_address& of, std::string_view digits) {
  unsigned port = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [stop, ec] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || ec != std::errc{} || stop != end || port > 65535) {
    refuse(of, "the port `" + std::string(digits) + "` is no number of 0..65535");
  }
  return static_cast<std::uint16_t>(port);
}

template <typename Sockaddr>
socklen_t keep(sockaddr_storage& where, const Sockaddr& is) noexcept {
  static_assert(sizeof is <= sizeof where);
  std::memcpy(&where, &is, sizeof is);
  return sizeof is;
}

template <typename Sockaddr>
Sockaddr as(const sockaddr_storage& where) noexcept {
  Sockaddr is;
  std::memcpy(&is, &where, sizeof is);
  return is;
}

socklen_t parse_unix(const written_address& of, std::string_view path, sockaddr_storage& where) {
  sockaddr_un is{};
  is.sun_family = AF_UNIX;
  if (path.empty()) refuse(of, "it has no path");
  if (path.find('\0') != path.npos) refuse(of, "a path has no zero byte");
  if (path.size() >= sizeof is.sun_path) {
    refuse(of, "a path of " + std::to_string(path.size()) + " bytes, of " + std::to_string(sizeof is.sun_path - 1) +
                   " that the system takes");
  }
  std::copy(path.begin(), path.end(), is.sun_path);
  const bool abstract = path[0] == '@';
  if (abstract) is.sun_path[0] = '\0';
  keep(where, is);
  return static_cast<socklen_t>(path_at + path.size() + (abstract ? 0 : 1));
}

socklen_t parse_six(const written_address& of, sockaddr_storage& where) {
  const auto text = of.text;
  const auto close = text.find(']');
  if (close == text.npos) refuse(of, "the bracket is not closed");
  if (close + 1 == text.size() || text[close + 1] != ':') refuse(of, "it has no port");
  auto host = text.substr(1, close - 1);
  sockaddr_in6 is{};
  is.sin6_family = AF_INET6;
  is.sin6_port = htons(parse_port(of, text.substr(close + 2)));
  if (const auto percent = host.find('%'); percent != host.npos) {
    const std::string interface(host.substr(percent + 1));
    is.sin6_scope_id = if_nametoindex(interface.c_str());
    if (is.sin6_scope_id == 0) refuse(of, "there is no interface `" + interface + "`");
    host = host.substr(0, percent);
  }
  if (inet_pton(AF_INET6, std::string(host).c_str(), &is.sin6_addr) != 1) {
    refuse(of, "`" + std::string(host) + "` is no IPv6 address");
  }
  return keep(where, is);
}

socklen_t parse_four(const written_address& of, sockaddr_storage& where) {
  const auto text = of.text;
  const auto colon = text.rfind(':');
  if (colon == text.npos) refuse(of, "it has no port");
  const auto host = text.substr(0, colon);
  if (host.find(':') != host.npos) refuse(of, "IPv6 stands in brackets");
  sockaddr_in is{};
  is.sin_family = AF_INET;
  is.sin_port = htons(parse_port(of, text.substr(colon + 1)));
  if (host == "localhost") {
    is.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (inet_pton(AF_INET, std::string(host).c_str(), &is.sin_addr) != 1) {
    refuse(of, "`" + std::string(host) + "` is no IPv4 address; io::resolve() and io::connect() look names up");
  }
  return keep(where, is);
}

}  // namespace

address::address(std::string_view text, std::source_location where) {
  constexpr std::string_view unix_prefix = "unix:";
  const written_address of{text, {"address", where}};
  if (text.empty()) refuse(of, "it is empty");
  if (text.starts_with(unix_prefix)) {
    length_ = parse_unix(of, text.substr(unix_prefix.size()), where_);
  } else if (text[0] == '[') {
    length_ = parse_six(of, where_);
  } else {
    length_ = parse_four(of, where_);
  }
}

address::address(const sockaddr_storage& given, socklen_t length) noexcept
    : where_(given), length_(std::min<socklen_t>(length, sizeof given)) {
  if (length_ < sizeof where_.ss_family) where_.ss_family = AF_UNSPEC;
}

std::string address::path() const {
  if (family() != AF_UNIX || length_ <= path_at) return {};
  const auto is = as<sockaddr_un>(where_);
  if (is.sun_path[0] == '\0') return {};
  return {is.sun_path, strnlen(is.sun_path, std::min(length_ - path_at, sizeof is.sun_path))};
}

int address::port() const noexcept {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(where_).sin_port);
  if (family() == AF_INET6) return ntohs(as<sockaddr_in6>(where_).sin6_port);
  return 0;
}

std::string address::text() const {
  char host[INET6_ADDRSTRLEN] = {};
  if (family() == AF_INET) {
    const auto is = as<sockaddr_in>(where_);
    inet_ntop(AF_INET, &is.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(port());
  }
  if (family() == AF_INET6) {
    const auto is = as<sockaddr_in6>(where_);
    inet_ntop(AF_INET6, &is.sin6_addr, host, sizeof host);
    std::string all = "[" + std::string(host);
    char interface[IF_NAMESIZE] = {};
    if (is.sin6_scope_id != 0 && if_indextoname(is.sin6_scope_id, interface) != nullptr) {
      all += "%" + std::string(interface);
    }
    return all + "]:" + std::to_string(port());
  }
  if (family() == AF_UNIX) {
    const auto is = as<sockaddr_un>(where_);
    if (length_ > path_at + 1 && is.sun_path[0] == '\0') {
      return "unix:@" + std::string(is.sun_path + 1, length_ - path_at - 1);
    }
    return "unix:" + path();
  }
  return {};
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
