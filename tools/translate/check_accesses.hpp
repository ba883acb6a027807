/// Which piece of which object an expression names, and which pieces a function changes.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>

#include <optional>
#include <vector>

#include "check_program.hpp"

namespace shunt::translate::checks {

/// A piece of an object: the members that lead to it. An index leads into a piece and belongs to it.
struct piece {
  const clang::VarDecl* root = nullptr;  ///< the variable; null for a piece of `this`
  bool of_part = false;                  ///< root is a symmetric object, the piece is one of its part
  std::vector<const clang::FieldDecl*> members;
};

/// The piece that an expression names; none if it names none, or calls of the program's functions lead to it.
/// References are followed to what they were made of.
[[nodiscard]] std::optional<piece> piece_of(const clang::Expr* e);
/// Whether one of the two contains the other. \pre they have the same root
[[nodiscard]] bool overlap(const piece& a, const piece& b);

/// The pieces that a function surely can change: of its parameters by reference, of `this`, and of parts that
/// local_parts name. Functions that it calls count if their bodies are the user's.
[[nodiscard]] std::vector<piece> changes_of(const program& p, const clang::FunctionDecl* function, int depth = 0);

}  // namespace shunt::translate::checks
