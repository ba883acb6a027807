#include "option.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <shunt/base/error.hpp>

namespace shunt::apps {

namespace detail {

std::string range_text(std::uint64_t least, std::uint64_t most) {
  return most == std::numeric_limits<std::uint64_t>::max() ? fmt::format("{}..", least)
                                                           : fmt::format("{}..{}", least, most);
}

}  // namespace detail

command_option* real_option(command_line& options, const std::string& name, double& to, const std::string& help,
                            double least, double most) {
  return options.add_option(
      name, help, fmt::format("{}..{}", least, most),
      [&to, name, least, most](const std::string& text) {
        double value = 0;
        const auto* const end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, value);
        // This way round, not-a-number is refused too.
        if (problem != std::errc() || rest != end || !(value >= least && value <= most)) {
          throw usage_error(error_number(1102),
                            fmt::format("{}: '{}' is not a number from {} to {}", name, text, least, most));
        }
        to = value;
      },
      [&to] { return fmt::format("{}", to); });
}

command_option* bytes_option(command_line& options, const std::string& name, std::size_t& to, const std::string& help,
                             std::uint64_t least, std::uint64_t most) {
  return options.add_option(
      name, help, "BYTES",
      [&to, name, least, most](const std::string& text) { to = parse_bytes(name, text, least, most); },
      [&to] { return std::to_string(to); });
}

command_option* choice_option(command_line& options, const std::string& name, std::string& to, const std::string& help,
                              std::vector<std::string> choices) {
  const std::string legal = fmt::format("{}", fmt::join(choices, "|"));
  return options.add_option(
      name, help, legal,
      [&to, name, choices = std::move(choices)](const std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
          throw usage_error(error_number(1102),
                            fmt::format("{}: '{}' is not one of {}", name, text, fmt::join(choices, ", ")));
        }
        to = text;
      },
      [&to] { return to; });
}

command_option* text_option(command_line& options, const std::string& name, std::string& to, const std::string& help) {
  return options.add_option(
      name, help, "TEXT",
      [&to, name](const std::string& text) {
        if (text.empty()) throw usage_error(error_number(1101), name + ": '' is empty, expected a value");
        if (text.starts_with("--")) {
          throw usage_error(error_number(1101), fmt::format("{}: expected a value, found the option {}", name, text));
        }
        to = text;
      },
      [&to] { return to; });
}

void refuse_with(const std::string& choice, std::initializer_list<const command_option*> others) {
  for (const auto* const other : others) {
    if (other->count() > 0) throw usage_error(error_number(1103), other->get_name() + " has no meaning with " + choice);
  }
}

void refuse_without(const std::string& needed, std::initializer_list<const command_option*> others) {
  for (const auto* const other : others) {
    if (other->count() > 0)
      throw usage_error(error_number(1103), other->get_name() + " has no meaning without " + needed);
  }
}

}  // namespace shunt::apps
