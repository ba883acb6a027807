#include <shunt/io/io_error.hpp>

#include <netdb.h>

#include <shunt/base/call_site.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

class io_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "shunt.io"; }

  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::timed_out: return "timed out";
      case errc::cancelled: return "cancelled";
      case errc::closed: return "closed here";
      case errc::end_of_stream: return "end of stream";
      case errc::too_long: return "no delimiter within the limit";
    }
    return "unknown";
  }

  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::timed_out: return std::errc::timed_out;
      case errc::cancelled: return std::errc::operation_canceled;
      case errc::closed: return std::errc::bad_file_descriptor;
      case errc::too_long: return std::errc::message_size;
      case errc::end_of_stream: break;
    }
    return {value, *this};
  }
};

class resolver_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "shunt.io.names"; }
  [[nodiscard]] std::string message(int value) const override { return gai_strerror(value); }
};

std::string text(const std::string& what, std::error_code code, std::size_t moved) {
  std::string all = what + ": " + code.message();
  if (code.category() == std::system_category()) all += " (" + std::to_string(code.value()) + ")";
  if (moved != 0 || code == errc::end_of_stream) {
    all += " after " + std::to_string(moved) + (moved == 1 ? " byte" : " bytes");
  }
  return all;
}

/// The system's codes share one number, and so do the resolver's, and those of other libraries (OpenSSL's).
error_number number_of(std::error_code code) {
  if (code.category() == std::system_category()) return error_number(301);
  if (code.category() == name_category()) return error_number(307);
  if (code.category() != category()) return error_number(308);
  switch (static_cast<errc>(code.value())) {
    case errc::timed_out: return error_number(302);
    case errc::cancelled: return error_number(303);
    case errc::closed: return error_number(304);
    case errc::end_of_stream: return error_number(305);
    case errc::too_long: return error_number(306);
  }
  return {};
}

long native(std::error_code code) { return code.category() == std::system_category() ? code.value() : 0; }

}  // namespace

const std::error_category& category() noexcept {
  static const io_category the_one;
  return the_one;
}

const std::error_category& name_category() noexcept {
  static const resolver_category the_one;
  return the_one;
}

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), category()}; }

io_error::io_error(const std::string& what, std::error_code code, std::size_t moved)
    : error(number_of(code), text(what, code, moved), facts{-1, -1, native(code)}), code_(code), moved_(moved) {}

io_error::io_error(const std::string& what, std::error_code code, std::size_t moved, const std::source_location& where)
    : error(number_of(code), text(what, code, moved) + call_site("", where).place(), facts{-1, -1, native(code)},
            call_site("", where).where()),
      code_(code),
      moved_(moved) {}

}  // namespace io
}  // namespace v1
}  // namespace shunt
