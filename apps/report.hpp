/// What applications print: a line on a terminal while they work, facts at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "fact.hpp"

namespace shunt::apps {

/// Where the report goes: --json and --output.
class reporter {
 public:
  /// \param file  false: the application has an --output of its own
  void add_options(command_line& options, bool file = true);

  /// Before the work is begun. \throws usage_error for an --output that cannot be written.
  void check() const;

  /// Prints the report on standard output, and into --output's file.
  /// \throws shunt::error if that file does not take it.
  void print(const std::vector<fact>& facts) const;

 private:
  bool json_ = false;
  std::string output_;
};

/// \throws usage_error for an --output that cannot be written; an empty one is none
void expect_writable(const std::string& output);

/// A line on a terminal that is written over and over; nothing when standard error is no terminal.
class live_line {
 public:
  /// \param shown  whether there is anything to say at all
  explicit live_line(bool shown = true);
  ~live_line();
  live_line(const live_line&) = delete;
  live_line& operator=(const live_line&) = delete;

  [[nodiscard]] bool shown() const noexcept { return shown_; }
  /// Whether it is time for say(): after half a second, then ten times a second.
  [[nodiscard]] bool due();
  void say(std::string_view text);
  /// Puts a line above the live one, which stays there.
  void put_above(std::string_view text);

 private:
  bool shown_;
  bool printed_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// Text from outside, a file's name for one, as it is printed: control characters as \n, \t, \r or \x1b, so that it
/// stays on its line and moves no terminal's cursor.
[[nodiscard]] std::string one_line(std::string_view text);
/// "12.3 M", "1.50 G": three figures and a decimal unit.
[[nodiscard]] std::string with_unit(double value);
/// "1,612,010"
[[nodiscard]] std::string with_commas(std::uint64_t value);

}  // namespace shunt::apps
