/// What a loop must be, so that it may become a superstep or a gather: each rule gives the reason why it is not met.
#pragma once

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accesses.hpp"

namespace shunt::translate {

/// Why something is refused, and where it stands.
struct refusal {
  clang::SourceLocation at;
  std::string reason;
};
using verdict = std::optional<refusal>;  ///< none: the rule is met

/// Messages arrive in any order. So all changes of one array in the loop must commute.
/// \param reorder  floating-point numbers may be added in another order
/// \param escaped  of the function: see effects.hpp
[[nodiscard]] verdict must_commute(const source& s, const clang::Stmt* loop, const accesses& all,
                                   const std::set<const clang::VarDecl*>& escaped, bool reorder);

/// Whether an index is another one in each round of a loop: it counts with the loop's counter, and the loop is a single
/// one. \param fresh  see effects
[[nodiscard]] bool index_differs(const source& s, const clang::Stmt* loop, const clang::Expr* index,
                                 const std::set<const clang::VarDecl*>& escaped,
                                 const std::set<const clang::VarDecl*>* fresh = nullptr);

/// Nothing leaves the loop but at its end, and nothing in it waits for other PEs or names an array in another way. In
/// a loop that reads elements `break` and `continue` would change how many.
[[nodiscard]] verdict must_stay_inside(const source& s, const clang::Stmt* loop, const accesses& all,
                                       distributed_arrays& arrays);

/// No array is both read and changed.
[[nodiscard]] verdict must_not_mix(const accesses& all);

/// Whether a statement waits for all PEs, or may: a collective of the library's, or a function that gets a PE, an
/// array or a selector.
[[nodiscard]] bool is_collective(const clang::Stmt* s);

/// Whether all PEs make each round of a loop together: its condition is what a collective returns, or a collective
/// stands in its body under no condition.
[[nodiscard]] bool runs_together(const clang::Stmt* loop);

}  // namespace shunt::translate
