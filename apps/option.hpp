/// The options of the applications: the one place that says which values an option takes.
///
/// Each function adds an option that takes the whole text of one value, or refuses it with one line that names the
/// option, the text, and what is legal. An application adds no option that takes a value in another way: CLI11's own
/// conversions take "-1" for 2^64 - 1, "nan" for a number within any range, and nothing at all for a file name.
///
///   apps::count_option(options, "--updates", updates, "updates of each PE", 1, 1ul << 40)->capture_default_str();
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <shunt/base/parse.hpp>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace shunt::apps {

namespace detail {
[[nodiscard]] std::string range_text(std::uint64_t least, std::uint64_t most);
}  // namespace detail

/// A whole number from `least` to `most`: digits and nothing else.
template <std::integral Number>
command_option* count_option(command_line& options, const std::string& name, Number& to, const std::string& help,
                             std::uint64_t least,
                             std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) {
  return options.add_option(
      name, help, detail::range_text(least, most),
      [&to, name, least, most](const std::string& text) {
        to = static_cast<Number>(parse_count(name, text, least, most));
      },
      [&to] { return std::to_string(to); });
}

/// A finite number from `least` to `most`.
command_option* real_option(command_line& options, const std::string& name, double& to, const std::string& help,
                            double least, double most);

/// Bytes, with an optional suffix k, M or G.
command_option* bytes_option(command_line& options, const std::string& name, std::size_t& to, const std::string& help,
                             std::uint64_t least, std::uint64_t most);

/// One of some words.
command_option* choice_option(command_line& options, const std::string& name, std::string& to, const std::string& help,
                              std::vector<std::string> choices);

/// Text of any other kind, a file's name for one: not empty, and not a word that was meant for the next option.
command_option* text_option(command_line& options, const std::string& name, std::string& to, const std::string& help);

/// Refuses the options of `others` that the user has given.
/// \param choice  what makes them meaningless, as the user writes it: "--graph".
/// \throws usage_error "--scale has no meaning with --graph".
void refuse_with(const std::string& choice, std::initializer_list<const command_option*> others);

/// The same for options that need another one: "--header has no meaning without --graph".
void refuse_without(const std::string& needed, std::initializer_list<const command_option*> others);

}  // namespace shunt::apps
