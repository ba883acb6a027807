/// What the text of a loop becomes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "accesses.hpp"
#include "edits.hpp"
#include "loop_rules.hpp"
#include "source.hpp"

namespace shunt::translate {

/// How a PE and the names of Shunt are spelled where the loop stands.
struct spelling {
  std::string pe;      ///< "me"
  std::string prefix;  ///< "pgas::"
};

/// The type of an array's elements, as the program writes it.
[[nodiscard]] std::string element_name(const distributed_array& array);

/// A step of indentation: a tab where the statement's own line begins with one, else two blanks.
[[nodiscard]] std::string indent_unit(const source& s, const clang::Stmt* statement);
/// A name that the file does not have: `base`, or with a number behind it.
[[nodiscard]] std::string fresh_name(const source& s, const std::string& base);
/// Behind a statement, and its semicolon if it has one.
[[nodiscard]] std::size_t end_of(const source& s, const clang::Stmt* statement);
/// Moves all lines of a statement but its first to the right, unless one of them begins in a string.
void shift_lines(const source& s, const clang::Stmt* statement, edits& into, const std::string& by);

/// One statement, of which the rules (loop_rules.hpp) are met.
class loop_text {
 public:
  loop_text(const source& s, const clang::Stmt* loop, const accesses& all,
            const std::set<const clang::VarDecl*>& escaped, spelling names);

  /// \return why it cannot be translated; then nothing was written
  [[nodiscard]] verdict write(edits& into) const;

 private:
  [[nodiscard]] std::string copy_as_gather() const;
  void spell_changes(edits& into) const;

  const source& source_;
  const clang::Stmt* loop_;
  const accesses& all_;
  const std::set<const clang::VarDecl*>& escaped_;
  spelling names_;
};

}  // namespace shunt::translate
