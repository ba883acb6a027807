/// What the operations of this room throw, and the codes they give where they are asked for those.
///
/// Everything that can fail comes twice. Without a std::error_code& it throws `failure`; with one
/// it sets it (and clears it on success), and throws only what the caller can help: usage_error,
/// shunt::error for a call outside a fiber, std::bad_alloc.
///
/// A code is the system's (std::system_category: errno), or one of `errc`. Compared with std::errc,
/// both tell: `code == std::errc::timed_out`, `code == std::errc::connection_reset`.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

enum class errc {
  timed_out = 1,  ///< the limit's deadline passed first
  cancelled,      ///< the limit's stop_token was told to stop
  closed,         ///< this end was closed, before the call or during it
  end_of_stream,  ///< the other end sends no more, and more was needed
  too_long,       ///< no delimiter within as many bytes as the caller allowed
};

[[nodiscard]] const std::error_category& category() noexcept;
[[nodiscard]] std::error_code make_error_code(errc code) noexcept;

/// An operation failed. what(): "read from 127.0.0.1:80: Connection reset by peer (104)".
class failure : public error {
 public:
  /// \param what   the operation, and on what: "read from 127.0.0.1:80".
  /// \param moved  bytes that were moved before, and are not taken back.
  failure(const std::string& what, std::error_code code, std::size_t moved = 0);

  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  [[nodiscard]] std::size_t moved() const noexcept { return moved_; }

 private:
  std::error_code code_;
  std::size_t moved_;
};

/// errc::end_of_stream, by name: moved() bytes came, and then the end.
class end_of_stream : public failure {
 public:
  using failure::failure;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt

template <>
struct std::is_error_code_enum<shunt::io::errc> : std::true_type {};
