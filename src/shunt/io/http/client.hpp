/// A client of HTTP/1.1.
///
/// Source: RFC 9112. Empty where Boost's headers are not installed (Debian: libboost-dev).
#pragma once

#include <shunt/io/detail/http_parser.hpp>
#include <shunt/io/detail/http_wire.hpp>
#include <shunt/io/http/message.hpp>

#if __has_include(<boost/beast/http/parser.hpp>)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/io/io_error.hpp>
#include <shunt/io/name.hpp>
#include <shunt/io/net.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace http {

/// What a client accepts.
struct client_options {
  std::size_t header = 64 * 1024;       ///< bytes of a reply's first line and header
  std::size_t body = 64 * 1024 * 1024;  ///< bytes of a reply's body
};

/// Asks one host, over one connection after the other: one is kept for the next request where the server allows it. One
/// fiber at a time. Over io::stream it is http::client; over another type of stream the program says how to connect:
///
/// ```cpp
/// http::basic_client<io::tls_stream> bank("bank.example:443", [&](const std::string& host, const io::deadline& until)
/// {
///   return io::tls_stream(io::connect(host, until), context, "bank.example", until);
/// });
/// ```
template <typename Stream>
class basic_client {
 public:
  /// Makes a connection to the host.
  using connector = std::function<Stream(const std::string& host, const deadline& until)>;

  /// Any thread; does not connect. \param host  "example.org:80", as requests name it.
  basic_client(std::string host, connector connect, client_options how = {})
      : host_(std::move(host)), connect_(std::move(connect)), how_(how) {}

  /// A fiber: sends a request, and waits for the whole reply. Redirections are replies as any other: not followed.
  ///
  /// Where a kept connection turns out to have been closed by the server, a request that may be repeated (GET, HEAD,
  /// PUT, DELETE, OPTIONS, TRACE: RFC 9110, 9.2.2) is sent once more over a new one; any other fails.
  /// \throws io_error: as connect(), read and write; end_of_stream where the reply is cut off; with a code of Beast
  ///         ("bad version", "body limit exceeded") for a reply that is no HTTP, or too long. usage_error for a request
  ///         with a method or target that is none. The connection is closed then.
  response send(const request& what, const deadline& until = {}) {
    const bool kept = connection_ != nullptr;
    try {
      if (auto reply = exchange(what, until)) return *std::move(reply);
    } catch (const io_error& bad) {
      connection_.reset();
      const bool closed = bad.code() == std::errc::broken_pipe || bad.code() == std::errc::connection_reset;
      if (!(kept && closed && may_repeat(what))) throw;
    } catch (...) {
      connection_.reset();
      throw;
    }
    connection_.reset();
    if (kept && may_repeat(what)) {
      if (auto reply = exchange_anew(what, until)) return *std::move(reply);
    }
    throw end_of_stream(name_of(what), errc::end_of_stream, 0, until.where());
  }
  /// send() of a GET.
  response get(std::string target, const deadline& until = {}) { return send({.target = std::move(target)}, until); }
  /// send() of a PUT.
  response put(std::string target, std::string body, std::string_view type, const deadline& until = {}) {
    return send({"PUT", std::move(target), {{"Content-Type", std::string(type)}}, std::move(body)}, until);
  }
  /// send() of a POST.
  response post(std::string target, std::string body, std::string_view type, const deadline& until = {}) {
    return send({"POST", std::move(target), {{"Content-Type", std::string(type)}}, std::move(body)}, until);
  }

  /// Ends the connection that is kept, if one is.
  void close() noexcept { connection_.reset(); }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }  ///< as it was given

 private:
  struct connection {
    explicit connection(Stream made) : peer(std::move(made)) {}
    Stream peer;
    buffered_writer out{peer};
    buffered_reader in{peer, out};
  };

  std::string name_of(const request& what) const { return "http: " + what.method + " " + what.target + " of " + host_; }
  static bool may_repeat(const request& what) noexcept {
    constexpr std::string_view harmless[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    return std::ranges::find(harmless, what.method) != std::end(harmless);
  }

  std::optional<response> exchange_anew(const request& what, const deadline& until) {
    try {
      return exchange(what, until);
    } catch (...) {
      connection_.reset();
      throw;
    }
  }

  /// \return nothing: the server closed the connection instead of replying.
  std::optional<response> exchange(const request& what, const deadline& until) {
    if (connection_ == nullptr) connection_ = std::make_unique<connection>(connect_(host_, until));
    const bool local = host_.starts_with("unix:");  // a path is no host: RFC 9110, 7.2
    detail::write_request(connection_->out, what, local ? "localhost" : host_, until);
    for (;;) {
      std::error_code ec;
      if (!detail::await_message(connection_->in, ec, until)) {
        if (ec) throw io_error(name_of(what), ec, 0, until.where());
        return std::nullopt;
      }
      detail::response_parser parser;
      parser.header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(how_.header, UINT32_MAX)));
      parser.body_limit(how_.body);
      parser.skip(what.method == "HEAD");
      read(parser, what, until);
      if (parser.get().result_int() / 100 == 1) continue;  // a word before the reply
      response reply = detail::response_of(parser);
      if (!parser.keep_alive()) connection_.reset();
      return reply;
    }
  }

  void read(detail::response_parser& parser, const request& what, const deadline& until) {
    // The header first: Beast 1.74, if it is eager from the beginning, goes on behind a length beyond the limit.
    auto came = detail::feed(connection_->in, parser, [&] { return parser.is_header_done(); }, until);
    if (came.good()) {
      parser.eager(true);
      came = detail::feed(connection_->in, parser, [&] { return parser.is_done(); }, until);
    }
    if (came.good()) return;
    if (came.io) throw io_error(name_of(what), came.io, 0, until.where());
    if (came.wrong == detail::beast::error::partial_message) {
      throw end_of_stream(name_of(what), errc::end_of_stream, 0, until.where());
    }
    throw io_error(name_of(what), std::error_code(boost::system::error_code(came.wrong)), 0, until.where());
  }

  std::string host_;
  connector connect_;
  client_options how_;
  std::unique_ptr<connection> connection_;
};

/// A client over TCP, or a Unix socket.
class client : public basic_client<stream> {
 public:
  /// Any thread; does not connect. \param host  as io::connect() takes it: "example.org:80", "unix:/path".
  explicit client(std::string host, client_options how = {})
      : basic_client<stream>(
            std::move(host), [](const std::string& to, const deadline& until) { return connect(to, until); }, how) {}
};

/// A fiber: the page at "http://host[:port]/path", over a connection of its own. \throws as client::send(); usage_error
/// for a text that is no such address, and for https, which basic_client does.
[[nodiscard]] inline response get(std::string_view address_of_page, const deadline& until = {},
                                  client_options how = {}) {
  const url at = parse_url(address_of_page);
  if (at.scheme != "http") {
    throw usage_error(error_number(332),
                      "http::get: " + at.scheme + " needs TLS; use http::basic_client<io::tls_stream>");
  }
  client asked(at.host, how);
  return asked.send({.target = at.target, .headers = {{"Connection", "close"}}}, until);
}

}  // namespace http
}  // namespace io
}  // namespace v1
}  // namespace shunt

#endif
