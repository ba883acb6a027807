/// Messages of HTTP/1.1 that arrive, parsed by Boost.Beast out of a buffered_reader. Empty where Boost's headers are
/// not installed.
#pragma once

#if __has_include(<boost/beast/http/parser.hpp>)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"  // Asio's fences, which ThreadSanitizer does not see; none is run here
#endif
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <shunt/io/buffered.hpp>
#include <shunt/io/deadline.hpp>
#include <shunt/io/http/message.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace http {
namespace detail {

namespace beast = boost::beast::http;
using request_parser = beast::request_parser<beast::string_body>;
using response_parser = beast::response_parser<beast::string_body>;

/// How reading a part of a message ended.
struct parsed {
  std::error_code io{};  // the stream failed
  beast::error wrong{};  // what Beast says of the message; 0: nothing
  [[nodiscard]] bool good() const noexcept { return !io && wrong == beast::error{}; }
};

/// What Beast says, without its code that asks for more bytes.
inline beast::error verdict(const boost::system::error_code& of) noexcept {
  if (!of || of == beast::error::need_more) return {};
  return static_cast<beast::error>(of.value());
}

/// A fiber: waits for the first byte of a message. Empty lines before it are passed over (RFC 9112, 2.2).
/// \return false: the stream ended, or failed with `ec`.
inline bool await_message(buffered_reader& in, std::error_code& ec, const deadline& until) {
  for (ec.clear();;) {
    const auto there = in.buffered().empty() ? in.peek(1, ec, until) : in.buffered();
    if (ec || there.empty()) return false;
    if (there.front() != '\r' && there.front() != '\n') return true;
    in.consume(1);
  }
}

/// A fiber: reads of a message that has begun, until `enough()`, which is true at the latest when it is whole.
template <typename Parser, typename Enough>
parsed feed(buffered_reader& in, Parser& parser, const Enough& enough, const deadline& until) {
  parsed how;
  std::size_t least = 1;
  while (!enough()) {
    boost::system::error_code said;
    auto there = in.buffered();
    if (there.size() < least) {
      there = in.peek(least, how.io, until);
      const bool ended = how.io == errc::end_of_stream || (there.empty() && !how.io);
      if (!ended && how.io) return how;
      if (ended) {
        how.io.clear();
        parser.put_eof(said);
        how.wrong = verdict(said);
        if (how.good() && !parser.is_done()) how.wrong = beast::error::partial_message;
        return how;
      }
    }
    const auto used = parser.put(boost::asio::const_buffer(there.data(), there.size()), said);
    in.consume(used);
    how.wrong = verdict(said);
    if (!how.good()) return how;
    least = there.size() - used + 1;  // it wants more than is left
    // Beast asserts that it looks at a last chunk again only when at least this much of it is there.
    if (parser.is_header_done() && parser.chunked()) least = std::max(least, std::string_view("0\r\n\r\n").size());
  }
  return how;
}

/// The header's fields of what was parsed.
template <typename Message>
fields fields_of(const Message& message) {
  fields made;
  for (const auto& one : message) {
    made.add(std::string_view(one.name_string().data(), one.name_string().size()),
             std::string_view(one.value().data(), one.value().size()));
  }
  return made;
}

/// The request, out of a parser that has it whole.
inline request request_of(request_parser& from) {
  auto& message = from.get();
  request made;
  made.method.assign(message.method_string().data(), message.method_string().size());
  made.target.assign(message.target().data(), message.target().size());
  made.headers = fields_of(message);
  made.body = std::move(message.body());
  return made;
}

/// The reply, likewise.
inline response response_of(response_parser& from) {
  auto& message = from.get();
  response made;
  made.status = static_cast<int>(message.result_int());
  made.headers = fields_of(message);
  made.body = std::move(message.body());
  return made;
}

/// The status with which a server refuses a message. Source: RFC 9110, 15.5.
inline int status_of(beast::error wrong) noexcept {
  switch (wrong) {
    case beast::error::header_limit: return 431;
    case beast::error::buffer_overflow:
    case beast::error::body_limit: return 413;
    case beast::error::bad_version: return 505;
    default: return 400;
  }
}

}  // namespace detail
}  // namespace http
}  // namespace io
}  // namespace v1
}  // namespace shunt

#endif
