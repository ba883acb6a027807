#include "check_reasons.hpp"

#include <clang/AST/ExprCXX.h>

#include <utility>

#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

constexpr int most_calls = 8;  // from a function to what it does

/// Calls f for each statement of a function, those by which a constructor makes its members included.
void each_statement(const clang::FunctionDecl* function, const clang::Stmt* code,
                    llvm::function_ref<void(const clang::Stmt*)> f) {
  const clang::FunctionDecl* defined = nullptr;
  function->hasBody(defined);
  if (const auto* constructor = llvm::dyn_cast_or_null<clang::CXXConstructorDecl>(defined)) {
    for (const auto* made : constructor->inits()) each_own(made->getInit(), f);
  }
  each_own(code, f);
}

/// A call of a lambda that the function has been given. What that does is found where it is written.
bool is_of_given_lambda(const clang::Stmt* s, const clang::FunctionDecl* callee) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(callee);
  const auto* call = llvm::dyn_cast<clang::CallExpr>(s);
  if (!call || !method || !method->getParent()->isLambda()) return false;
  const auto* object = object_of(call);
  if (lambda(object)) return false;
  const auto* v = original(variable(object));
  return !v || llvm::isa<clang::ParmVarDecl>(v);
}

/// Whether a function of the standard library calls the lambdas that it is given, before it returns.
bool calls_lambdas(const clang::FunctionDecl* f) {
  const auto name = full_name(f);
  return name.starts_with("std::") && name != "std::async" && !llvm::isa<clang::CXXConstructorDecl>(f);
}

}  // namespace

std::string called_as(const clang::FunctionDecl* f) {
  if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(f))
    return "the constructor of " + constructor->getParent()->getNameAsString();
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(f);
  return method && method->getParent()->isLambda() ? "a lambda" : f->getNameAsString() + "()";
}

const clang::FunctionDecl* callee_of(const clang::Stmt* s) {
  if (const auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(s)) return call->getDirectCallee();
  const auto* made = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(s);
  return made ? made->getConstructor() : nullptr;
}

const std::string& reasons::of(const clang::FunctionDecl* f) {
  static const std::string none;
  const auto* code = f ? program_.users_body(f) : nullptr;
  if (!code || depth_ == most_calls) return none;
  const auto what = program_.role_of(f);
  if (what == role::handler || what == role::reply) return none;
  const auto [at, is_new] = known_.try_emplace(code);
  auto& found = at->second;
  if (!is_new && (!found.why.empty() || found.depth <= depth_)) return found.why;
  found.depth = depth_;  // "" while it is looked at
  ++depth_;
  auto why = directly(f, code);
  if (why.empty()) why = through_calls(f, code);
  --depth_;
  found.why = std::move(why);
  return found.why;
}

std::string reasons::directly(const clang::FunctionDecl* f, const clang::Stmt* code) const {
  std::string why;
  each_statement(f, code, [&](const clang::Stmt* s) {
    if (!why.empty()) return;
    if (const auto what = direct_(s); !what.empty()) {
      const auto at = llvm::cast<clang::Expr>(s)->getExprLoc();
      why = ", in which line " + std::to_string(program_.line(at)) + " " + what;
    }
  });
  return why;
}

std::string reasons::through_calls(const clang::FunctionDecl* f, const clang::Stmt* code) {
  std::string why;
  const auto look = [&](const clang::FunctionDecl* callee) {
    if (!why.empty()) return;
    if (const auto& inside = of(callee); !inside.empty()) why = ", which calls " + called_as(callee) + inside;
  };
  each_statement(f, code, [&](const clang::Stmt* s) {
    const auto* callee = callee_of(s);
    if (!callee) return;
    if (!is_of_given_lambda(s, callee)) look(callee);
    const auto* call = llvm::dyn_cast<clang::CallExpr>(s);
    if (!call || !calls_lambdas(callee)) return;
    for (const auto* argument : call->arguments()) {
      const auto* given = lambda(argument);
      if (!given) continue;
      for (const auto* inner : call_operators(given->getLambdaClass())) look(inner);
    }
  });
  return why;
}

}  // namespace shunt::translate::checks
