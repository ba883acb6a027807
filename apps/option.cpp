#include "option.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <shunt/base/error.hpp>

namespace shunt::apps {

namespace detail {

CLI::Option* add_option(CLI::App& options, const std::string& name, const std::string& help, const std::string& legal,
                        std::function<void(const std::string&)> take, std::function<std::string()> shown) {
  auto* const made = options.add_option(name, CLI::callback_t([take = std::move(take)](const CLI::results_t& words) {
                                          take(words.at(0));  // CLI11 has refused none and several
                                          return true;
                                        }),
                                        help, false, std::move(shown));
  made->type_name(legal);
  return made;
}

std::string range_text(std::uint64_t least, std::uint64_t most) {
  return most == std::numeric_limits<std::uint64_t>::max() ? fmt::format("{}..", least)
                                                           : fmt::format("{}..{}", least, most);
}

}  // namespace detail

CLI::Option* real_option(CLI::App& options, const std::string& name, double& to, const std::string& help, double least,
                         double most) {
  return detail::add_option(
      options, name, help, fmt::format("{}..{}", least, most),
      [&to, name, least, most](const std::string& text) {
        double value = 0;
        const auto* const end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data(), end, value);
        // This way round, not-a-number is refused too.
        if (problem != std::errc() || rest != end || !(value >= least && value <= most)) {
          throw usage_error(fmt::format("{}: '{}' is not a number from {} to {}", name, text, least, most));
        }
        to = value;
      },
      [&to] { return fmt::format("{}", to); });
}

CLI::Option* bytes_option(CLI::App& options, const std::string& name, std::size_t& to, const std::string& help,
                          std::uint64_t least, std::uint64_t most) {
  return detail::add_option(
      options, name, help, "BYTES",
      [&to, name, least, most](const std::string& text) { to = parse_bytes(name, text, least, most); },
      [&to] { return std::to_string(to); });
}

CLI::Option* choice_option(CLI::App& options, const std::string& name, std::string& to, const std::string& help,
                           std::vector<std::string> choices) {
  const std::string legal = fmt::format("{}", fmt::join(choices, "|"));
  return detail::add_option(
      options, name, help, legal,
      [&to, name, choices = std::move(choices)](const std::string& text) {
        if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
          throw usage_error(fmt::format("{}: '{}' is not one of {}", name, text, fmt::join(choices, ", ")));
        }
        to = text;
      },
      [&to] { return to; });
}

CLI::Option* text_option(CLI::App& options, const std::string& name, std::string& to, const std::string& help) {
  return detail::add_option(
      options, name, help, "TEXT",
      [&to, name](const std::string& text) {
        if (text.empty()) throw usage_error(name + ": '' is empty, expected a value");
        if (text.starts_with("--")) {
          throw usage_error(fmt::format("{}: expected a value, found the option {}", name, text));
        }
        to = text;
      },
      [&to] { return to; });
}

void refuse_with(const std::string& choice, std::initializer_list<const CLI::Option*> others) {
  for (const auto* const other : others) {
    if (other->count() > 0) throw usage_error(other->get_name() + " has no meaning with " + choice);
  }
}

void refuse_without(const std::string& needed, std::initializer_list<const CLI::Option*> others) {
  for (const auto* const other : others) {
    if (other->count() > 0) throw usage_error(other->get_name() + " has no meaning without " + needed);
  }
}

}  // namespace shunt::apps
