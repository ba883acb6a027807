#include "class_text.hpp"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

#include "class_actor.hpp"

namespace shunt::translate::class_form {

byte_range bytes_of(const source& s, clang::SourceRange piece) {
  const auto& sm = s.manager();
  const auto written =
      clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(piece), sm, s.context().getLangOpts());
  if (written.isInvalid() || !sm.isWrittenInMainFile(written.getBegin())) {
    throw refusal{piece.getBegin(), "this is written by a macro, whose text cannot be moved: write it out"};
  }
  return {sm.getFileOffset(written.getBegin()), sm.getFileOffset(written.getEnd())};
}

void each_token(std::string_view text, const std::function<void(const token&)>& each) {
  const std::string ended(text);  // the lexer wants a null byte behind it
  clang::LangOptions cpp;
  cpp.CPlusPlus = cpp.CPlusPlus11 = cpp.CPlusPlus14 = cpp.CPlusPlus17 = cpp.CPlusPlus20 = true;
  cpp.LineComment = cpp.RawStringLiterals = true;
  clang::Lexer lexer(clang::SourceLocation(), cpp, ended.data(), ended.data(), ended.data() + ended.size());
  lexer.SetCommentRetentionState(true);
  for (clang::Token t;;) {
    lexer.LexFromRawLexer(t);
    if (t.is(clang::tok::eof)) return;
    const auto end = static_cast<std::size_t>(lexer.getBufferLocation() - ended.data());
    each({end - t.getLength(), end, t.is(clang::tok::raw_identifier), t.is(clang::tok::comment),
          clang::tok::isStringLiteral(t.getKind()), t.isAtStartOfLine()});
  }
}

namespace {

std::set<std::string> identifiers_where(std::string_view text, bool members_too) {
  std::set<std::string> found;
  std::string_view before;
  each_token(text, [&](const token& t) {
    if (t.comment) return;
    const auto letters = text.substr(t.begin, t.end - t.begin);
    const bool member = before == "." || before == "->" || before == "::";
    if (member && letters == "template") return;  // `here.template send<1>`
    if (t.identifier && (members_too || !member)) found.emplace(letters);
    before = letters;
  });
  return found;
}

}  // namespace

std::set<std::string> identifiers(std::string_view text) { return identifiers_where(text, true); }
std::set<std::string> free_identifiers(std::string_view text) { return identifiers_where(text, false); }

bool has_comment(std::string_view text) {
  bool any = false;
  each_token(text, [&any](const token& t) { any = any || t.comment; });
  return any;
}

bool has_directive(std::string_view text) {
  bool any = false;
  each_token(text, [&](const token& t) { any = any || (t.line_first && text[t.begin] == '#'); });
  return any;
}

std::string with_plain_ends(std::string text) {
  for (auto at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at)) text.erase(at, 1);
  return text;
}

std::string with_ends(const std::string& text, std::string_view end) {
  std::string all;
  for (const char c : text) c == '\n' ? all.append(end) : all.append(1, c);
  return all;
}

std::string moved(const std::string& text, std::string_view old_indent, std::string_view indent) {
  std::set<std::size_t> fixed;  // begins of lines inside of strings
  each_token(text, [&](const token& t) {
    if (!t.text) return;
    for (auto at = text.find('\n', t.begin); at < t.end; at = text.find('\n', at + 1)) fixed.insert(at + 1);
  });
  std::string all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    auto line = std::string_view(text).substr(begin, end - begin);
    if (begin != 0 && !fixed.contains(begin)) {
      const auto blanks = std::min(line.find_first_not_of(" \t"), line.size());
      line.remove_prefix(std::min(blanks, old_indent.size()));
      if (!line.empty()) all += indent;
    }
    all += line;
    if (end != text.size()) all += '\n';
    begin = end + 1;
  }
  return all;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace shunt::translate::class_form
