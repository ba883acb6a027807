/// What becomes of the loops of a file: looked at one by one, and settled together, since a marked array changes its
/// type everywhere or nowhere.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "accesses.hpp"
#include "edits.hpp"
#include "finding.hpp"
#include "loop_rules.hpp"
#include "source.hpp"

namespace shunt::translate {

/// A change of the text, and the arrays that it concerns.
struct plan {
  std::set<const distributed_array*> arrays;
  std::pair<std::size_t, std::size_t> bytes;  ///< of the statement
  edits changes;
};

/// All plans of a file.
class plans {
 public:
  plans(const source& s, bool reorder) : source_(s), reorder_(reorder) {}

  void add(plan p) { plans_.push_back(std::move(p)); }
  /// A statement with accesses stays as it is. A marked array that it names then stays plain.
  void refuse(const accesses& all, const refusal& why);
  /// A marked array's declaration.
  void declare(const distributed_array& array, const clang::VarDecl* v);
  /// A marked array stays plain.
  void refuse_array(const distributed_array& array, clang::SourceLocation at, const std::string& why);
  /// A place where a marked array is named.
  void name(const distributed_array& array, const clang::DeclRefExpr* e);
  /// The PE of a marked array's function: what its declaration needs. \param prefix  "pgas::"
  void lives_with(const distributed_array& array, const std::string& pe, const std::string& prefix);

  /// Whether floating-point numbers may be added in another order.
  [[nodiscard]] bool reorder() const noexcept { return reorder_; }
  /// All changes that nothing speaks against.
  void settle(edits& into);
  [[nodiscard]] const std::vector<finding>& findings() const noexcept { return findings_; }

 private:
  struct home {
    std::string pe, prefix;
  };
  void check_names();
  [[nodiscard]] std::string no_declaration(const clang::VarDecl* v) const;
  void change_declaration(const distributed_array& array, edits& into);

  const source& source_;
  bool reorder_;
  std::vector<plan> plans_;
  std::map<const distributed_array*, const clang::VarDecl*> declared_;
  std::map<const distributed_array*, std::vector<const clang::DeclRefExpr*>> named_;
  std::map<const distributed_array*, home> homes_;
  std::set<const distributed_array*> refused_;  // marked arrays that stay plain
  std::vector<finding> findings_;
};

/// The body of one function, or of one PE's program.
class region {
 public:
  /// \param is_template  its types are not known yet
  region(const source& s, distributed_arrays& arrays, plans& all, const clang::Stmt* body, bool is_template);

  /// A parameter, or a variable from where it is declared on.
  void know(const clang::VarDecl* v);
  /// Plans what becomes of a statement.
  void look_at(const clang::Stmt* s);

 private:
  void look_at_uses(const clang::Stmt* s);
  void look_at_expression(const clang::Stmt* s, const accesses& all);
  void translate(const clang::Stmt* s, const accesses& all);
  void read_directly(const clang::Stmt* s, const accesses& all);
  void note_jumps(const clang::Stmt* s);
  [[nodiscard]] verdict problem(const clang::Stmt* s, const accesses& all) const;

  const source& source_;
  distributed_arrays& arrays_;
  plans& plans_;
  const clang::Stmt* body_;
  std::set<const clang::VarDecl*> escaped_;
  bool is_template_;
  std::set<const distributed_array*> read_alone_;  // marked arrays, since the last superstep that changes them
  clang::SourceLocation left_;                     // the first jump before here that not every PE may make
  std::string pe_, prefix_;                        // "me", "pgas::"; "" where there is none yet
};

}  // namespace shunt::translate
