/// Messages of HTTP as bytes that leave. What arrives: http_parser.hpp.
#pragma once

#include <chrono>
#include <exception>
#include <string_view>

#include <shunt/io/http/message.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace http {
namespace detail {

/// How a reply is sent.
struct reply_form {
  bool only_header = false;             // the request's method was HEAD
  bool keep_alive = true;               // the connection goes on
  bool chunks = true;                   // the peer knows HTTP/1.1, and with it contents of unknown length
  std::chrono::nanoseconds patience{};  // for a write that waits
};

/// Whether a message says that it is the last of its connection.
[[nodiscard]] bool asks_to_close(const fields& header) noexcept;

/// \throws usage_error for a status below 200 or above 599.
void require_reply_status(int status);

/// A fiber: writes a reply to the connection's buffer. \return what left response::content, whose end is then missing;
/// else null. \throws io_error: the peer's connection failed.
std::exception_ptr write_reply(buffered_writer& to, const response& what, const reply_form& how);

/// A fiber: writes a request, with its Host and the length of its body. \param host  as the Host field names it, if the
/// request has none. \throws usage_error for a method that is no token, or a target with blanks or control characters;
/// io_error.
void write_request(buffered_writer& to, const request& what, std::string_view host, const deadline& until);

}  // namespace detail
}  // namespace http
}  // namespace io
}  // namespace v1
}  // namespace shunt
