// Fields, and messages as text. What arrives is parsed elsewhere (detail/http_parser.hpp).
#include <shunt/io/http/message.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include <shunt/base/error.hpp>
#include <shunt/base/quoted.hpp>
#include <shunt/io/detail/http_wire.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace http {

namespace {

char small_letter(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, small_letter, small_letter);
}

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// RFC 9110, 5.6.2.
bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (small_letter(c) >= 'a' && small_letter(c) <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// \return 0..15; -1: no digit.
int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = small_letter(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string decoded(std::string_view text, char plus) {
  std::string made;
  made.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (text[i] == '%' && low >= 0) {
      made += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      made += text[i] == '+' ? plus : text[i];
    }
  }
  return made;
}

/// Whether a library writes that field itself, from what it knows of the body.
bool says_how_sent(std::string_view name) noexcept {
  return same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding") || same_name(name, "Connection");
}

void append_fields(std::string& to, const fields& all) {
  for (const auto& [name, value] : all) {
    if (says_how_sent(name)) continue;
    to.append(name).append(": ").append(value).append("\r\n");
  }
}

/// "Date: Sun, 06 Nov 1994 08:49:37 GMT": RFC 9110, 6.6.1. Not by strftime(), whose names are the locale's.
void append_date(std::string& to) {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm at{};
  gmtime_r(&now, &at);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "Date: %s, %02d %s %d %02d:%02d:%02d GMT\r\n",
                days[static_cast<std::size_t>(at.tm_wday)], at.tm_mday, months[static_cast<std::size_t>(at.tm_mon)],
                at.tm_year + 1900, at.tm_hour, at.tm_min, at.tm_sec);
  to += text.data();
}

}  // namespace

fields::fields(std::initializer_list<field> all) {
  for (const auto& one : all) add(one.name, one.value);
}

const std::string* fields::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(all_, [&](const field& f) { return same_name(f.name, name); });
  return found == all_.end() ? nullptr : &found->value;
}

std::string_view fields::get(std::string_view name, std::string_view otherwise) const noexcept {
  const auto* const found = find(name);
  return found != nullptr ? std::string_view(*found) : otherwise;
}

void fields::add(std::string_view name, std::string_view value) {
  if (!is_token(name)) {
    throw usage_error(error_number(325), "http::fields: " + quoted(name) +
                                             " is no name of a field; it takes letters, digits and !#$%&'*+-.^_`|~");
  }
  if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; })) {
    throw usage_error(error_number(326), "http::fields: the value " + quoted(value) + " of " + std::string(name) +
                                             " has a line break or another control character in it; a value is one "
                                             "line");
  }
  all_.push_back({std::string(name), std::string(value)});
}

void fields::set(std::string_view name, std::string_view value) {
  fields made;
  made.add(name, value);  // throws before anything is removed
  erase(name);
  all_.push_back(std::move(made.all_.front()));
}

std::size_t fields::erase(std::string_view name) noexcept {
  return std::erase_if(all_, [&](const field& f) { return same_name(f.name, name); });
}

std::string_view request::path() const noexcept { return std::string_view(target).substr(0, target.find('?')); }

std::optional<std::string> request::parameter(std::string_view name) const {
  const auto question = target.find('?');
  if (question == std::string::npos) return std::nullopt;
  for (std::string_view left = std::string_view(target).substr(question + 1); !left.empty();) {
    const auto pair = left.substr(0, left.find('&'));
    left.remove_prefix(std::min(left.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    if (decoded(pair.substr(0, equals), ' ') != name) continue;
    return equals == std::string_view::npos ? std::string() : decoded(pair.substr(equals + 1), ' ');
  }
  return std::nullopt;
}

response::response(int code, std::string text, std::string_view type) : status(code), body(std::move(text)) {
  if (!body.empty()) headers.add("Content-Type", type);
}

std::string decoded(std::string_view text) { return decoded(text, '+'); }

std::string_view reason(int status) noexcept {
  static constexpr std::array<std::pair<int, std::string_view>, 41> known{{
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {203, "Non-Authoritative Information"},
      {204, "No Content"},
      {205, "Reset Content"},
      {206, "Partial Content"},
      {300, "Multiple Choices"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  }};
  const auto* const found = std::ranges::find(known, status, [](const auto& one) { return one.first; });
  return found == known.end() ? std::string_view() : found->second;
}

url parse_url(std::string_view text) {
  const auto refuse = [&](const char* why) {
    return usage_error(error_number(327), "http: " + quoted(text) + " is no address of a page: " + why +
                                              "; write http://host[:port]/path");
  };
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) throw refuse("it has no scheme");
  url made;
  std::ranges::transform(text.substr(0, colon), std::back_inserter(made.scheme), small_letter);
  if (made.scheme != "http" && made.scheme != "https") throw refuse("its scheme is neither http nor https");
  auto rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const auto end = std::min(rest.find_first_of("/?"), rest.size());
  made.host = rest.substr(0, end);
  if (made.host.find('@') != std::string::npos) throw refuse("names and passwords do not belong there");
  const auto bracket = made.host.rfind(']');  // [::1]
  const auto port = made.host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (made.host.empty() || port == 0) throw refuse("it has no host");
  if (port == std::string::npos) {
    made.host += made.scheme == "http" ? ":80" : ":443";
  } else if (port + 1 == made.host.size()) {
    throw refuse("its port is missing");
  }
  made.target = rest.substr(end);
  if (made.target.empty() || made.target.front() == '?') made.target.insert(0, 1, '/');
  return made;
}

void body_writer::put(const_buffer what, const std::source_location& where) {
  failed_ = true;
  out_.write(what, {patience_, {}, where});
  failed_ = false;
}

void body_writer::write(const_buffer what, std::source_location where) {
  if (what.size() == 0) return;  // a chunk of no bytes is the last one
  if (chunked_) {
    std::array<char, 20> size{};
    const auto [end, ec] = std::to_chars(size.data(), size.data() + size.size() - 2, what.size(), 16);
    static_cast<void>(ec);  // 18 digits are enough for any size
    end[0] = '\r';
    end[1] = '\n';
    put(std::string_view(size.data(), static_cast<std::size_t>(end + 2 - size.data())), where);
  }
  put(what, where);
  if (chunked_) put("\r\n", where);
}

void body_writer::flush(std::source_location where) {
  failed_ = true;
  out_.flush({patience_, {}, where});
  failed_ = false;
}

namespace detail {

bool asks_to_close(const fields& header) noexcept { return same_name(header.get("Connection"), "close"); }

void require_reply_status(int status) {
  if (status >= 200 && status <= 599) return;
  throw usage_error(error_number(328), "http::response: status " + std::to_string(status) + "; a reply has 200 to 599");
}

std::exception_ptr write_reply(buffered_writer& to, const response& what, const reply_form& how) {
  const bool nothing = what.status == 204 || what.status == 304;
  const bool chunked = what.content && how.chunks;
  std::string header = "HTTP/1.1 " + std::to_string(what.status) + " ";
  header.append(reason(what.status)).append("\r\n");
  if (what.headers.find("Date") == nullptr) append_date(header);
  append_fields(header, what.headers);
  if (!nothing) {
    if (chunked) {
      header += "Transfer-Encoding: chunked\r\n";
    } else if (!what.content) {
      header += "Content-Length: " + std::to_string(what.body.size()) + "\r\n";
    }
  }
  header += how.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  to.write(header, how.patience);
  if (nothing || how.only_header) return nullptr;
  if (!what.content) {
    to.write(what.body, how.patience);
    return nullptr;
  }
  body_writer content(to, chunked, how.patience);
  try {
    what.content(content);
  } catch (...) {
    if (content.failed_) throw;
    return std::current_exception();
  }
  if (chunked) to.write("0\r\n\r\n", how.patience);
  return nullptr;
}

void write_request(buffered_writer& to, const request& what, std::string_view host, const deadline& until) {
  if (!is_token(what.method)) {
    throw usage_error(error_number(329),
                      "http::request: the method " + quoted(what.method) + " is no token; GET and POST are");
  }
  if (what.target.empty() || std::ranges::any_of(what.target, [](char c) { return is_control(c) || c == ' '; })) {
    throw usage_error(error_number(330), "http::request: the target " + quoted(what.target) +
                                             " is empty, or has a blank or control character in it; a blank is %20");
  }
  std::string header = what.method + " " + what.target + " HTTP/1.1\r\n";
  if (what.headers.find("Host") == nullptr) header.append("Host: ").append(host).append("\r\n");
  append_fields(header, what.headers);
  const bool usual = what.method == "POST" || what.method == "PUT" || what.method == "PATCH";  // also without a body
  if (usual || !what.body.empty()) header += "Content-Length: " + std::to_string(what.body.size()) + "\r\n";
  header += asks_to_close(what.headers) ? "Connection: close\r\n\r\n" : "\r\n";
  to.write(header, until);
  to.write(what.body, until);
}

}  // namespace detail

}  // namespace http
}  // namespace io
}  // namespace v1
}  // namespace shunt
