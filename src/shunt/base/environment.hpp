/// The registry of SHUNT_ environment variables: what is not listed here does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace environment {

/// One variable, as `doctor` and the manual print it.
struct variable {
  std::string_view name;           ///< as getenv(3) wants it: "SHUNT_PES"
  std::string_view meaning;        ///< a phrase, as `doctor` prints it
  std::string_view default_value;  ///< in words where it is computed
  bool names_code = false;  ///< code is loaded from there: unset in programs that have more rights than their caller
};

/// Any thread. Every variable that the library reads, in the manual's order.
[[nodiscard]] std::span<const variable> known() noexcept;

/// Any thread, while none changes the environment.
/// \param name  a registered one (contract)
/// \return its value; nothing if it is unset or empty
[[nodiscard]] std::optional<std::string> read(std::string_view name);

/// Any thread, while none changes the environment. Looks for misspelt variables.
/// \throws usage_error for a variable that begins with SHUNT_ and is not registered; the message lists the registered
///         ones whose spelling is near, or all
void check();

}  // namespace environment
}  // namespace v1
}  // namespace shunt
