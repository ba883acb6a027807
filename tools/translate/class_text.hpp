/// Letters of a file: ranges that macros may have part in, tokens, and indentation.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "source.hpp"

namespace shunt::translate::class_form {

/// Bytes of a file, [first, second).
using byte_range = std::pair<std::size_t, std::size_t>;

/// The bytes of a piece; a macro's whole use counts as its letters. \throws refusal if that cannot be said
[[nodiscard]] byte_range bytes_of(const source& s, clang::SourceRange piece);

/// A token of a text, as each_token() shows it.
struct token {
  std::size_t begin, end;
  bool identifier, comment, text;  ///< text: a string or character literal
  bool line_first;                 ///< the first one of its line
};
/// Calls each(token) for all tokens of a text, comments included.
void each_token(std::string_view text, const std::function<void(const token&)>& each);

/// The identifiers of a text.
[[nodiscard]] std::set<std::string> identifiers(std::string_view text);
/// Those that are no members: not behind `.`, `->` or `::`.
[[nodiscard]] std::set<std::string> free_identifiers(std::string_view text);
[[nodiscard]] bool has_comment(std::string_view text);
/// Whether a preprocessor directive stands in a text.
[[nodiscard]] bool has_directive(std::string_view text);

/// Each "\r\n" becomes "\n".
[[nodiscard]] std::string with_plain_ends(std::string text);
/// Each "\n" becomes `end`. \pre with_plain_ends()
[[nodiscard]] std::string with_ends(const std::string& text, std::string_view end);

/// Moves all lines but the first: `old_indent` goes, `indent` comes. Lines that begin inside of a string stay.
[[nodiscard]] std::string moved(const std::string& text, std::string_view old_indent, std::string_view indent);

/// `text` without the blanks and line ends around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace shunt::translate::class_form
