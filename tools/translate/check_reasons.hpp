/// Why a function of the program does something, through the functions that it calls.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>

#include <functional>
#include <map>
#include <string>

#include "check_program.hpp"

namespace shunt::translate::checks {

/// "add()", "a lambda", "the constructor of guard".
[[nodiscard]] std::string called_as(const clang::FunctionDecl* function);
/// The function or constructor that a statement calls; null for others, and where it is not known which.
[[nodiscard]] const clang::FunctionDecl* callee_of(const clang::Stmt* statement);

/// Looks into the functions of the user's, and into lambdas that they give to the standard library; not into handlers,
/// not into destructors. Of functions that call each other in a circle some are not seen.
class reasons {
 public:
  /// \param direct  what a statement itself does: "calls sum()"; "" for nothing
  reasons(const program& p, std::function<std::string(const clang::Stmt*)> direct)
      : program_(p), direct_(std::move(direct)) {}

  /// ", in which line 5 calls sum()", or ", which calls add(), in which line 5 calls sum()"; "" if it does no such
  /// thing.
  const std::string& of(const clang::FunctionDecl* function);

 private:
  std::string directly(const clang::FunctionDecl* function, const clang::Stmt* code) const;
  std::string through_calls(const clang::FunctionDecl* function, const clang::Stmt* code);

  const program& program_;
  std::function<std::string(const clang::Stmt*)> direct_;
  /// What a function does, as far as it was looked into.
  struct answer {
    std::string why;
    int depth = 0;  ///< calls above it: from fewer, more is seen below it
  };
  std::map<const clang::Stmt*, answer> known_;  // by body
  int depth_ = 0;
};

}  // namespace shunt::translate::checks
