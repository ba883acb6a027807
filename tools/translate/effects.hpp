/// What a piece of a program may change, and whether an expression depends on that.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <set>
#include <string>
#include <vector>

#include "shmem_calls.hpp"
#include "source.hpp"

namespace shunt::translate {

/// Whether an expression names a variable.
[[nodiscard]] bool mentions(const clang::Stmt* s, const clang::ValueDecl* name);

/// Why an expression's value cannot be computed beforehand; empty if it can: it has no side effects and calls only
/// functions that have none.
/// \param at  where the reason stands
[[nodiscard]] std::string impurity(const clang::Expr* e, clang::SourceLocation* at);

/// The variables that an expression reads, or whose elements it reads.
[[nodiscard]] std::set<const clang::VarDecl*> variables_of(const clang::Stmt* s);

/// The variables of a function whose address something else may have: all of which a mention does more than read,
/// assign, or change by a method.
[[nodiscard]] std::set<const clang::VarDecl*> escaping(const clang::Stmt* function);

/// Whether the last part of a loop's head only counts what its first part declares.
[[nodiscard]] bool counts_own(const clang::ForStmt* loop);

/// All that a statement may change. What it cannot see through (a call of an unknown function) changes everything that
/// is not a value of this function's own.
class effects {
 public:
  /// Which changes count.
  enum class scope {
    all,     ///< also that of a loop's counter by its head, and of a variable by its declaration
    bodies,  ///< only those by the statements of the bodies
  };
  /// \param fresh  pointers to memory that nothing else points to (memory.hpp); null: none are known
  effects(const source& s, const clang::Stmt* of, scope which, const std::set<const clang::VarDecl*>& escaped,
          const std::set<const clang::VarDecl*>* fresh = nullptr);

  /// Whether the statement may change this variable, or what belongs to it: elements, members.
  [[nodiscard]] bool changes(const clang::VarDecl* v) const;
  /// Whether an expression has the same value before and behind the statement.
  [[nodiscard]] bool leaves(const clang::Stmt* e) const;
  /// Whether only statements that name the variable can change it, or what it points to.
  [[nodiscard]] bool is_private(const clang::VarDecl* v) const;
  /// Whether the statement calls something that cannot be seen through, or writes what cannot be named.
  [[nodiscard]] bool may_do_anything() const noexcept { return unknown_; }
  /// The variable of `e` that may be changed; null if none.
  [[nodiscard]] const clang::VarDecl* changed_of(const clang::Stmt* e) const;

 private:
  /// Elements that are written through a reference, a pointer or a view.
  struct written {
    const clang::VarDecl* through;
    clang::QualType type;
  };
  void look_at(const clang::Stmt* part);
  void look_at_call(const clang::CallExpr* call);
  void look_at_declaration(const clang::VarDecl* v);
  void look_at_shmem(const shmem_call& call);
  void write(const clang::Expr* to);

  std::set<const clang::VarDecl*> changed_;  // by name
  std::vector<written> written_;
  bool unknown_ = false;  // calls something that it cannot see through, or writes what it cannot name
  scope which_;
  const std::set<const clang::VarDecl*>* escaped_;
  const std::set<const clang::VarDecl*>* fresh_;
  std::set<const clang::Stmt*> addresses_;  // `&x` that say where an element of another PE lies
  const clang::ASTContext* context_;
};

}  // namespace shunt::translate
