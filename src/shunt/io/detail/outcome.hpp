/// What came of an operation, in two registers.
#pragma once

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <shunt/io/failure.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// What is bad: nothing, one of errc, or an errno. A std::error_code says the same, but asks the library for its
/// category even where nothing is bad; so it is made where it leaves this room.
class [[nodiscard]] trouble {
 public:
  constexpr trouble() noexcept = default;
  constexpr trouble(errc why) noexcept : word_(-static_cast<int>(why)) {}
  [[nodiscard]] static constexpr trouble of_system(int code) noexcept {
    trouble made;
    made.word_ = code;
    return made;
  }
  /// As errno says.
  [[nodiscard]] static trouble now() noexcept { return of_system(errno); }

  [[nodiscard]] explicit constexpr operator bool() const noexcept { return word_ != 0; }
  friend constexpr bool operator==(const trouble&, const trouble&) noexcept = default;
  operator std::error_code() const noexcept {
    if (word_ < 0) return static_cast<errc>(-word_);
    return {word_, std::system_category()};
  }

 private:
  int word_ = 0;  // below 0: an errc
};

/// Bytes (or a descriptor), and what is bad.
struct outcome {
  std::size_t moved = 0;
  trouble bad{};
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
