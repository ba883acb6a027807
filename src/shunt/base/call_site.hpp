/// Which call of the program an error is about.
#pragma once

#include <source_location>
#include <string>

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
    return where_.line() == 0 ? here : where_;
  }

 private:
  const char* name_;
  std::source_location where_{};
};

}  // namespace v1
}  // namespace shunt
