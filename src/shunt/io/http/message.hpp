/// Requests and replies of HTTP/1.1, as a program reads and makes them. Values; any thread.
///
/// Source: RFC 9110 (HTTP semantics), RFC 9112 (HTTP/1.1), RFC 3986 (URIs).
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/io/buffer.hpp>
#include <shunt/io/buffered.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace http {

struct response;

namespace detail {
struct reply_form;
std::exception_ptr write_reply(buffered_writer& to, const response& what, const reply_form& how);
}  // namespace detail

/// A line of a message's header.
struct field {
  std::string name;   ///< a token; letters' case does not matter
  std::string value;  ///< one line
};

/// The header of a message: its fields in order. A name may occur several times.
class fields {
 public:
  fields() = default;  ///< none
  /// \throws as add().
  fields(std::initializer_list<field> all);

  /// The value of the first field of that name; null: there is none. Valid until this object changes.
  [[nodiscard]] const std::string* find(std::string_view name) const noexcept;
  /// The value of the first field of that name; `otherwise` if there is none.
  [[nodiscard]] std::string_view get(std::string_view name, std::string_view otherwise = {}) const noexcept;

  /// Appends a field. \throws usage_error for a name that is no token, or a value with a line break or another control
  /// character in it: a peer would take what follows for a field or a body of its own.
  void add(std::string_view name, std::string_view value);
  /// The only field of that name from now on. \throws as add().
  void set(std::string_view name, std::string_view value);
  /// Removes all fields of that name. \return how many there were.
  std::size_t erase(std::string_view name) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }  ///< fields
  /// The first field; iterators are valid until this object changes.
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  /// Behind the last one.
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

 private:
  std::vector<field> all_;
};

/// What a client asks.
struct request {
  std::string method = "GET";  ///< a token, in capitals as a rule
  std::string target = "/";    ///< "/page?key=value", as the client wrote it
  fields headers{};            ///< without those that say how the body is sent
  std::string body{};          ///< the whole of it

  /// The target up to its '?', as the client wrote it: see decoded(). A view of `target`.
  [[nodiscard]] std::string_view path() const noexcept;
  /// The value of `name` in the target behind its '?' (`a=1&b=two%20words`), decoded; '+' is a blank there. Nothing if
  /// there is no such name.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

/// Where a reply's content is written piece by piece: see response::content.
class body_writer {
 public:
  body_writer(const body_writer&) = delete;
  body_writer& operator=(const body_writer&) = delete;

  /// The handler's fiber: sends what does not fit in the connection's buffer. \throws io_error: as a stream's write();
  /// timed_out where the peer took too long (server_options::reply).
  void write(const_buffer what, std::source_location where = std::source_location::current());
  /// The handler's fiber: sends what was written up to here, for a client that wants it as it comes. \throws as
  /// write().
  void flush(std::source_location where = std::source_location::current());

 private:
  friend std::exception_ptr detail::write_reply(buffered_writer&, const response&, const detail::reply_form&);
  body_writer(buffered_writer& out, bool chunked, std::chrono::nanoseconds patience) noexcept
      : out_(out), chunked_(chunked), patience_(patience) {}

  void put(const_buffer what, const std::source_location& where);

  buffered_writer& out_;
  bool failed_ = false;  // a call has failed: the connection, not what the handler did
  const bool chunked_;   // else all bytes up to the connection's end are the content
  const std::chrono::nanoseconds patience_;
};

/// What a server replies.
struct response {
  /// 200, without a body.
  response() = default;
  /// \param type  of a body that is not empty.
  explicit response(int code, std::string text = {}, std::string_view type = "text/plain; charset=utf-8");
  /// 200 and that body.
  response(std::string text, std::string_view type = "text/plain; charset=utf-8")
      : response(200, std::move(text), type) {}
  /// 200 and that body, as plain text.
  response(const char* text) : response(200, text) {}

  int status = 200;    ///< of a server's handler: 200..599
  fields headers{};    ///< without those that say how the body is sent
  std::string body{};  ///< the whole of it
  /// A server's handler, in place of `body`: called once, after the header was written; what it writes is the content,
  /// as long as it may be. An exception that leaves it ends the connection, so that the client sees that a part is
  /// missing. Not called where the reply has no content (HEAD, status 204 and 304).
  std::function<void(body_writer&)> content{};
};

/// A text with each `%` and two hexadecimal digits as the byte that they mean: `two%20words`. Source: RFC 3986, 2.1.
[[nodiscard]] std::string decoded(std::string_view text);

/// What RFC 9110 calls a status: "Not Found" for 404; "" for a number that it does not name.
[[nodiscard]] std::string_view reason(int status) noexcept;

/// The parts of "http://host:port/path?query".
struct url {
  std::string scheme;  ///< "http" or "https", in small letters
  std::string host;    ///< "example.org:80": with its port, as shunt::io::connect() takes it
  std::string target;  ///< "/path?query"; "/" if there was none
};

/// \param text  with or without a port; what follows '#' is dropped. \throws usage_error that says what is wrong.
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace http
}  // namespace io
}  // namespace v1
}  // namespace shunt
