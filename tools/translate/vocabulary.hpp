/// How Shunt's names look in a syntax tree: which expressions are distributed arrays, actors, messages, supersteps.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/Type.h>

#include <optional>
#include <string_view>

namespace shunt::translate {

using clang::dyn_cast;
using clang::Expr;
using clang::isa;
using clang::Stmt;

/// The class of an expression or variable, references and const taken off; null for what is no class.
[[nodiscard]] const clang::CXXRecordDecl* class_of(clang::QualType type);

/// Whether a class, or what it derives from, is a name of the library's: "pgas::array". Inline namespaces do not count.
[[nodiscard]] bool is_a(const clang::CXXRecordDecl* type, std::string_view name);
/// The same for a type.
[[nodiscard]] inline bool is_a(clang::QualType type, std::string_view name) { return is_a(class_of(type), name); }

/// Whether two types are one, const and aliases aside.
[[nodiscard]] bool same_type(clang::QualType a, clang::QualType b);

/// "shunt::pgas::array::gather", without inline namespaces and template arguments.
[[nodiscard]] std::string full_name(const clang::NamedDecl* name);

/// An expression without parentheses, implicit conversions, and temporaries that the program does not spell.
[[nodiscard]] const clang::Expr* bare(const clang::Expr* expression);

/// The variable that an expression names, if it does only that; null otherwise.
[[nodiscard]] const clang::VarDecl* variable(const clang::Expr* expression);

/// What a local reference was made of, `auto& same = table;`: the expression, which may name anything. Null for what is
/// no such reference, for parameters, and for references to temporaries.
[[nodiscard]] const clang::Expr* referred_to(const clang::VarDecl* reference);
/// The variable that a variable stands for: a local reference for the one that it was made of.
[[nodiscard]] const clang::VarDecl* original(const clang::VarDecl* variable);

/// A lambda that is written at this place: `[captures](…) { … }` itself, not a variable that has one.
[[nodiscard]] const clang::LambdaExpr* lambda(const clang::Expr* expression);

/// A call of a member function of the library's: `object.name(arguments…)`.
struct member_call {
  const clang::CallExpr* call;
  const clang::Expr* object;         ///< what it is called of, a pointer's target included
  std::string_view name;             ///< "send"
  const clang::CXXRecordDecl* type;  ///< the object's class; null in a template where it depends
};
/// The call, if the statement is one of a member function.
[[nodiscard]] std::optional<member_call> call_of(const clang::Stmt* statement);

/// Whether a function of a PE or of an array only tells what it knows: it neither waits nor reads an element.
/// \param type  of the object
[[nodiscard]] bool is_local_function(const clang::CXXRecordDecl* type, std::string_view name);

/// `for`, `while`, `do`.
[[nodiscard]] bool is_loop(const Stmt* statement);
/// Whether the parts of an expression but its first one may not be evaluated: &&, || and ?:.
[[nodiscard]] bool may_skip(const Stmt* expression);

/// The body of `pgas::superstep(me, [&] { … })`; null if the statement is no such call.
[[nodiscard]] const clang::LambdaExpr* superstep_body(const clang::Stmt* statement);

}  // namespace shunt::translate
