#include "report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <shunt/base/error.hpp>

#include "option.hpp"

namespace shunt::apps {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const json_value& value) {
  return std::visit(
      [](const auto& v) {
        using type = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<type, json_value::array>) {
          auto made = ordered_json::array();
          for (const auto& each : v) made.push_back(json_of(each));
          return made;
        } else if constexpr (std::is_same_v<type, json_value::object>) {
          auto made = ordered_json::object();
          for (const auto& [key, each] : v) made[key] = json_of(each);
          return made;
        } else {
          return ordered_json(v);
        }
      },
      value.is());
}

}  // namespace

void reporter::add_options(command_line& options, bool file) {
  options.add_flag("--json", json_, "report as one JSON object");
  if (file) text_option(options, "--output", output_, "write the report into this file too");
}

void expect_writable(const std::string& output) {
  if (!output.empty() && !std::ofstream(output, std::ios::app)) {
    throw usage_error(error_number(1104), "--output " + one_line(output) + ": " + std::strerror(errno));
  }
}

void reporter::check() const { expect_writable(output_); }

void reporter::print(const std::vector<fact>& facts) const {
  ordered_json object;
  std::size_t widest = 0;
  for (const auto& f : facts) {
    object[f.key] = json_of(f.value);
    widest = std::max(widest, f.key.size());
  }
  std::string text;
  for (const auto& f : facts) {
    std::string label = f.key;
    for (auto& c : label) c = c == '_' ? ' ' : c;
    text += fmt::format("{:<{}}  {}\n", label, widest, f.text);
  }
  // A file's name need not be UTF-8, as JSON must be: what is not is replaced by U+FFFD.
  using error_handler = ordered_json::error_handler_t;
  const std::string out = json_ ? object.dump(-1, ' ', false, error_handler::replace) + "\n" : text;
  std::fputs(out.c_str(), stdout);
  if (!output_.empty()) {
    std::ofstream file(output_);
    file << out;
    if (!file.flush()) throw error(error_number(1104), "--output " + one_line(output_) + ": " + std::strerror(errno));
  }
}

live_line::live_line(bool shown)
    : shown_(shown && isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(500)) {}

live_line::~live_line() {
  if (printed_) std::fprintf(stderr, "\r\033[K");
}

bool live_line::due() {
  if (!shown_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + std::chrono::milliseconds(100);
  return true;
}

void live_line::say(std::string_view text) {
  if (!shown_) return;
  printed_ = true;
  std::fprintf(stderr, "\r%.*s\033[K", static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

void live_line::put_above(std::string_view text) {
  if (!shown_) return;
  std::fprintf(stderr, "\r%.*s\033[K\n", static_cast<int>(text.size()), text.data());
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : fmt::format("\\x{:02x}", byte);
    }
  }
  return out;
}

std::string with_unit(double value) {
  const char* unit = "";
  for (const char* next : {" k", " M", " G", " T"}) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

std::string with_commas(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace shunt::apps
