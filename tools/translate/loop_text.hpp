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

/// One statement, of which the rules (loop_rules.hpp) are met.
class loop_text {
 public:
  loop_text(const source& s, const clang::Stmt* loop, const accesses& all,
            const std::set<const clang::VarDecl*>& escaped, spelling names);

  /// \return why it cannot be translated; then nothing was written
  [[nodiscard]] verdict write(edits& into) const;

 private:
  [[nodiscard]] std::string copy_as_gather() const;
  [[nodiscard]] std::string unit() const;
  [[nodiscard]] std::string fresh(const std::string& base) const;
  [[nodiscard]] std::size_t end() const;
  void indent(edits& into, const std::string& by) const;
  void spell_changes(edits& into) const;

  const source& source_;
  const clang::Stmt* loop_;
  const accesses& all_;
  const std::set<const clang::VarDecl*>& escaped_;
  spelling names_;
};

}  // namespace shunt::translate
