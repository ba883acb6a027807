/// The result of an operation, small enough for two registers.
#pragma once

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <shunt/io/io_error.hpp>
#include <shunt/sched/timed_wait.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// No error, one of errc, or an errno, in one word. A std::error_code says the same, but it asks the C++ library for
/// its category even where there is no error. So the public functions convert an `error` at their end.
class [[nodiscard]] error {
 public:
  constexpr error() noexcept = default;  ///< none
  constexpr error(errc code) noexcept : word_(-static_cast<int>(code)) {}
  [[nodiscard]] static constexpr error of_system(int code) noexcept {
    error made;
    made.word_ = code;
    return made;
  }
  /// The value of errno.
  [[nodiscard]] static error of_errno() noexcept { return of_system(errno); }
  /// Of a wait that ended so.
  [[nodiscard]] static constexpr error of_wait(sched::wait_end how) noexcept {
    switch (how) {
      case sched::wait_end::timed_out: return errc::timed_out;
      case sched::wait_end::stopped: return errc::cancelled;
      case sched::wait_end::done: break;
    }
    return {};
  }

  [[nodiscard]] explicit constexpr operator bool() const noexcept { return word_ != 0; }
  friend constexpr bool operator==(const error&, const error&) noexcept = default;
  operator std::error_code() const noexcept {
    if (word_ < 0) return static_cast<errc>(-word_);
    return {word_, std::system_category()};
  }

 private:
  int word_ = 0;  // below 0: an errc
};

/// How many bytes an operation moved (or the descriptor that it made), and its error.
struct outcome {
  std::size_t moved = 0;
  error ec{};
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
