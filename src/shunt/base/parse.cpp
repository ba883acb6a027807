#include <shunt/base/parse.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace {

std::optional<std::uint64_t> digits(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || rest != end) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(std::string_view option, std::string_view text, std::string_view wanted, std::uint64_t lowest,
                         std::uint64_t highest) {
  std::string what(option);
  what.append(": '").append(text).append("' is not ").append(wanted);
  if (highest == std::numeric_limits<std::uint64_t>::max()) {
    what.append(", at least ").append(std::to_string(lowest));
  } else {
    what.append(" from ").append(std::to_string(lowest));
    what.append(" to ").append(std::to_string(highest));
  }
  throw usage_error(error_number(2), what);
}

}  // namespace

std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t lowest, std::uint64_t highest) {
  const auto value = digits(text);
  if (!value || *value < lowest || *value > highest) {
    refuse(option, text, "a whole number", lowest, highest);
  }
  return *value;
}

std::uint64_t parse_bytes(std::string_view option, std::string_view text, std::uint64_t lowest, std::uint64_t highest) {
  constexpr std::string_view wanted = "a number of bytes (suffixes k, M, G)";
  unsigned shift = 0;
  auto number = text;
  if (!number.empty()) {
    switch (number.back()) {
      case 'k':
      case 'K': shift = 10; break;
      case 'm':
      case 'M': shift = 20; break;
      case 'g':
      case 'G': shift = 30; break;
      default: break;
    }
    if (shift != 0) number.remove_suffix(1);
  }
  const auto value = digits(number);
  if (!value || *value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    refuse(option, text, wanted, lowest, highest);
  }
  const auto bytes = *value << shift;
  if (bytes < lowest || bytes > highest) refuse(option, text, wanted, lowest, highest);
  return bytes;
}

std::chrono::milliseconds parse_time(std::string_view option, std::string_view text) {
  using std::chrono::milliseconds;
  struct unit {
    std::string_view name;
    milliseconds length;
  };
  constexpr milliseconds longest = std::chrono::hours(24'000);
  constexpr unit units[] = {{"", std::chrono::seconds(1)},  {"ms", milliseconds(1)},
                            {"s", std::chrono::seconds(1)}, {"min", std::chrono::minutes(1)},
                            {"h", std::chrono::hours(1)},   {"d", std::chrono::hours(24)}};
  const auto behind = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = digits(text.substr(0, behind));
  for (const auto& u : units) {
    if (text.substr(behind) != u.name || !value || *value > static_cast<std::uint64_t>(longest / u.length)) continue;
    return static_cast<milliseconds::rep>(*value) * u.length;
  }
  throw usage_error(error_number(2), std::string(option) + ": '" + std::string(text) +
                                         "' is not a time: a whole number with a unit (ms, s, min, h, d), from 0 to "
                                         "1000d");
}

}  // namespace v1
}  // namespace shunt
