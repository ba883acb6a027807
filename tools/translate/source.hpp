/// A file of the user's as Clang reads it: its syntax tree, and the text that belongs to a piece of the tree.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "finding.hpp"
#include "options.hpp"

namespace shunt::translate {

/// One file and its tree.
class source {
 public:
  /// Reads and parses a file.
  /// \throws std::runtime_error with the compiler's first errors, if it does not compile
  source(const std::string& file, const compile_options& options);

  [[nodiscard]] clang::ASTContext& context() const { return unit_->getASTContext(); }
  [[nodiscard]] clang::SourceManager& manager() const { return unit_->getSourceManager(); }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  /// As it was when it was read.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Whether a piece is written in this file, in its own letters: not in a header, not by a macro.
  [[nodiscard]] bool is_here(clang::SourceRange piece) const;
  /// The bytes of a piece, [first, second). \pre is_here()
  [[nodiscard]] std::pair<std::size_t, std::size_t> bytes(clang::SourceRange piece) const;
  /// The letters of a piece. \pre is_here()
  [[nodiscard]] std::string letters(clang::SourceRange piece) const;
  /// The blanks at the begin of the line in which a byte lies.
  [[nodiscard]] std::string indent_at(std::size_t at) const;
  /// The offset of the begin of the line in which a byte lies.
  [[nodiscard]] std::size_t line_begin(std::size_t at) const;
  /// "\n", or "\r\n" where the file has it.
  [[nodiscard]] const char* line_end() const noexcept;

  /// A finding at a place of the source; in a macro, where that is used.
  [[nodiscard]] finding say(clang::SourceLocation at, std::string text) const;

 private:
  std::string file_, text_;
  std::unique_ptr<clang::ASTUnit> unit_;
};

}  // namespace shunt::translate
