/// Types of what lambdas capture, take and return, and their names outside of functions.
#pragma once

#include <string>

#include "class_actor.hpp"
#include "class_find.hpp"
#include "source.hpp"

namespace shunt::translate::class_form {

/// What is known of types. A null type: it depends on a template's parameters.
class types {
 public:
  types(const source& s, const instances& made) : s_(&s), made_(&made) {}

  /// Without references and const.
  [[nodiscard]] clang::QualType captured(const clang::LambdaExpr* l, unsigned capture) const;
  [[nodiscard]] clang::QualType argument(const clang::CallExpr* call, unsigned number) const;
  [[nodiscard]] clang::QualType result(const clang::LambdaExpr* l) const;

  /// A type's name at namespace scope, before `outer`. \param what  it is of, for the refusal
  /// \throws refusal
  [[nodiscard]] std::string name(clang::QualType type, const clang::NamedDecl* outer, clang::SourceLocation at,
                                 const std::string& what) const;

 private:
  const source* s_;
  const instances* made_;
};

/// Whether two types are one.
[[nodiscard]] bool same(const source& s, clang::QualType a, clang::QualType b);

}  // namespace shunt::translate::class_form
