/// Which call of the program an error is about.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {

/// The function that the program called, and the line that called it. Functions of the library hand it down to the
/// place that throws. Public functions make it, by a defaulted argument of their own:
///
/// ```cpp
/// void wait(std::source_location where = std::source_location::current()) { wait_for_all({"wait", where}); }
/// ```
///
/// Two words, so it travels in registers; where the public function is inlined, nothing of it is made before the branch
/// that needs it.
///
/// A line of the C++ library counts as not known: there a default argument was evaluated, in std::lock_guard's
/// constructor say, and it tells the user nothing.
class call_site {
 public:
  /// Implicit: a call of which the line is not known. \param name  static text: "future::get".
  constexpr call_site(const char* name) noexcept : name_(name) {}
  /// A call, and its line.
  constexpr call_site(const char* name, const std::source_location& where) noexcept : name_(name), where_(where) {}

  /// The function.
  [[nodiscard]] constexpr const char* name() const noexcept { return name_; }
  /// " (file:line)", for the end of a message; "" if the line is not known.
  [[nodiscard, gnu::cold]] std::string place() const;
  /// The line, for error::where(); `here` if it is not known.
  [[nodiscard]] constexpr std::source_location where(
      std::source_location here = std::source_location::current()) const noexcept {
    return knows_line() ? where_ : here;
  }

 private:
  [[nodiscard]] constexpr bool knows_line() const noexcept {
    const std::string_view file = where_.file_name();
    constexpr auto none = std::string_view::npos;
    // The folders of libstdc++, and of libc++.
    return where_.line() != 0 && file.find("/include/c++/") == none && file.find("/c++/v1/") == none;
  }

  const char* name_;
  std::source_location where_{};
};

static_assert(sizeof(call_site) == 2 * sizeof(void*));

}  // namespace v1
}  // namespace shunt
