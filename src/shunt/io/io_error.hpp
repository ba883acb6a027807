/// Errors of this module: the exception that its functions throw, and the codes.
///
/// Every function that can fail comes twice. Without a std::error_code& it throws `io_error`. With one it sets the code
/// (and clears it on success), and throws only for mistakes and shortages of the caller: usage_error, shunt::error for
/// a call outside a fiber, std::bad_alloc.
///
/// A code is the system's (std::system_category: errno), or one of `errc`. Both compare with std::errc:
/// `code == std::errc::timed_out`, `code == std::errc::connection_reset`.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <system_error>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The codes of this module; every other code is the system's.
enum class errc {
  timed_out = 1,  ///< the deadline's time passed first
  cancelled,      ///< the deadline's stop token was asked to stop
  closed,         ///< this end was closed, before the call or during it
  end_of_stream,  ///< the peer sends no more, and the call needed more
  too_long,       ///< no delimiter within as many bytes as the caller allowed
};

/// The category of errc: its name is "shunt.io".
[[nodiscard]] const std::error_category& category() noexcept;
/// The category of codes that the resolver returns (name.hpp): its name is "shunt.io.names", the values are EAI_NONAME
/// and the like of <netdb.h>, the messages gai_strerror(3)'s.
[[nodiscard]] const std::error_category& name_category() noexcept;
/// Lets an errc convert to a std::error_code, and compare with one: `ec == errc::timed_out`.
[[nodiscard]] std::error_code make_error_code(errc code) noexcept;

/// An operation failed. what(): "read from 127.0.0.1:80: Connection reset by peer (104)".
class io_error : public error {
 public:
  /// \param what   the operation, and on what: "read from 127.0.0.1:80".
  /// \param moved  bytes that the operation had moved before it failed; they are not taken back.
  io_error(const std::string& what, std::error_code code, std::size_t moved = 0);
  /// The same, of a call whose line is known: the text has it, too. \param where  deadline::where().
  io_error(const std::string& what, std::error_code code, std::size_t moved, const std::source_location& where);

  /// Why: the system's errno, or one of errc.
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  /// Bytes that the call moved before it failed; 0 where it moves none.
  [[nodiscard]] std::size_t moved() const noexcept { return moved_; }

 private:
  std::error_code code_;
  std::size_t moved_;
};

/// errc::end_of_stream, as a type of its own: moved() bytes came, and then the end.
class end_of_stream : public io_error {
 public:
  using io_error::io_error;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt

template <>
struct std::is_error_code_enum<shunt::io::errc> : std::true_type {};
