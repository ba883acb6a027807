/// What the parsers of graphs share: words and numbers of a line, where a parser stands, and how it complains.
///
/// Every block of text that a parser gets ends with a line feed (X1 of text_source), so no function here looks for the
/// end of the block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <shunt/base/quoted.hpp>
#include <shunt/graph/detail/text_source.hpp>
#include <shunt/graph/read.hpp>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
constexpr bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }
constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool same_word(std::string_view a, std::string_view lower_case) noexcept {
  return std::equal(a.begin(), a.end(), lower_case.begin(), lower_case.end(),
                    [](char x, char y) { return lower(x) == y; });
}

/// Reads past digits, of which there is at least one. Stops by itself: every block ends with '\n'.
/// A value that does not fit becomes the greatest there is, which no caller accepts.
inline const char* number(const char* at, std::uint64_t& value) noexcept {
  const char* const start = at;
  std::uint64_t sum = 0;
  do {
    sum = sum * 10 + static_cast<std::uint64_t>(*at - '0');
    ++at;
  } while (is_digit(*at));
  constexpr std::ptrdiff_t always_fit = 19;  // 10^19 - 1 < 2^64
  if (at - start > always_fit) [[unlikely]] {
    const char* digit = std::find_if(start, at, [](char c) { return c != '0'; });
    for (sum = 0; digit != at; ++digit) {
      if (__builtin_mul_overflow(sum, std::uint64_t{10}, &sum) ||
          __builtin_add_overflow(sum, static_cast<std::uint64_t>(*digit - '0'), &sum)) {
        sum = ~std::uint64_t{0};
        break;
      }
    }
  }
  value = sum;
  return at;
}

inline const char* skip_blanks(const char* at) noexcept {
  while (is_blank(*at)) ++at;
  return at;
}

/// Where a parser stands, and how it complains. Parsers get blocks of whole lines, see text_source.
class line_parser {
 public:
  line_parser(const std::string& path, const read_options& options) : options_(options), path_(path) {}

  /// After finish().
  [[nodiscard]] const text_facts& facts() const noexcept { return facts_; }

  /// The number of the last line that was begun, from 1.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

  /// One NUL stands for a whole binary file, in comments and ignored columns too: it is what a disk
  /// or a sparse copy leaves where text was lost.
  [[noreturn]] void fail_nul(const char* begin, const char* nul) {
    ++line_;
    fail(begin == nul ? "a NUL byte" : "a NUL byte after " + quoted({begin, nul}),
         "text (is this a binary or UTF-16 file?)");
  }

 protected:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    detail::fail(path_, line_, found, expected);
  }

  /// Complains about the word that starts at `at`.
  [[noreturn]] void fail_at(const char* at, const std::string& expected) const {
    const char* end = at;
    while (!is_blank(*end) && *end != '\n' && *end != '\r') ++end;
    fail(end == at ? "the end of the line" : quoted({at, end}), expected);
  }

  /// Past the end of the line that `at` is in, whatever stands there.
  [[nodiscard]] const char* next_line(const char* at, const char* end) const {
    const char* const stop = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    const auto size = static_cast<std::size_t>(stop - at);
    if (size != 0) {
      if (const void* cr = std::memchr(at, '\r', size); cr != nullptr) {
        // Lines that end with CR alone would make one line of the whole file, and lose the rest.
        if (!std::all_of(static_cast<const char*>(cr), stop, [](char c) { return c == '\r'; })) {
          fail("a CR within a line", "lines that end with LF or CR LF");
        }
      }
    }
    return stop + 1;
  }

  std::uint64_t line_ = 0;
  const read_options& options_;
  text_facts facts_;

 private:
  const std::string& path_;
};

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
