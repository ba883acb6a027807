/// A call that waits inside of a handler: the job ends with an error there, as a handler runs beside the program of its
/// PE, and has no stack on which it could wait.
///
/// Handlers are what a message runs on another PE, what a reply runs, and process() and replied() of selectors; methods
/// of actors (shunt/actor.hpp) are none, they may wait. What waits stands in check_waiting.hpp. A lock is among it: a
/// handler may take one that is free, but not one that is held.
///
/// Looked at: the handler, lambdas in it that it hands to functions of the program or of the standard library, and the
/// functions and constructors of the user's that it calls, with those that they call (check_reasons.hpp). Lambdas that
/// it hands to the library are not: tasks may wait. Nor are destructors.
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <array>

#include "check_program.hpp"
#include "check_reasons.hpp"
#include "check_waiting.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string last_word(const std::string& name) { return name.substr(name.rfind(':') + 1); }

std::string waiting_call(const clang::CallExpr* call) {
  const auto* callee = call->getDirectCallee();
  if (!callee) return {};
  if (const auto* conversion = llvm::dyn_cast<clang::CXXConversionDecl>(callee)) {
    return library_name(conversion->getParent()) == "pgas::array::element" ? "the read of an array's element" : "";
  }
  const auto name = library_name(callee);
  if (name == "pgas::operator|") return "gather()";
  if (name == "pgas::gather" && call->getNumArgs() < 2) return {};  // of indices: operator| gathers
  if (name == "sync::channel::begin") return "a loop over a channel";
  return is_one_of(waiting_calls, name) ? last_word(name) + "()" : std::string();
}

/// std::lock_guard and the like, of a lock that waits.
bool locks(const clang::CXXConstructExpr* made) {
  constexpr auto guards =
      std::to_array<std::string_view>({"std::lock_guard", "std::unique_lock", "std::scoped_lock", "std::shared_lock"});
  const auto* type = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(made->getConstructor()->getParent());
  if (!type || made->getNumArgs() == 0 || made->getConstructor()->isCopyOrMoveConstructor()) return false;
  if (!is_one_of(guards, full_name(type))) return false;
  for (const auto* argument : made->arguments()) {
    const auto what = full_name(class_of(argument->getType()));
    if (what == "std::defer_lock_t" || what == "std::try_to_lock_t" || what == "std::adopt_lock_t") return false;
  }
  const auto is_ours = [](const clang::Expr* e) {
    const auto name = library_name(class_of(e->getType()));
    return name == "sync::mutex" || name == "sync::shared_mutex";
  };
  return std::any_of(made->arg_begin(), made->arg_end(), is_ours);
}

std::string waiting_construction(const clang::CXXConstructExpr* made) {
  if (locks(made)) return "the lock";
  const auto name = library_name(made->getConstructor()->getParent());
  if (name.empty() || made->getNumArgs() == 0 || made->getConstructor()->isCopyOrMoveConstructor()) return {};
  return is_one_of(collective_objects, name) ? "the construction of a " + name : std::string();
}

std::string what_waits(const clang::Stmt* s) {
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s)) return waiting_call(call);
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(s)) return waiting_construction(made);
  return {};
}

class waits {
 public:
  explicit waits(program& p)
      : program_(p), reasons_(p, [](const clang::Stmt* s) {
          const auto what = what_waits(s);
          return what.empty() ? what : "calls " + what;
        }) {}

  void look_at_handler(const clang::Stmt* code) {
    each_own(code, [this](const clang::Stmt* s) {
      if (const auto what = what_waits(s); !what.empty())
        return say(llvm::cast<clang::Expr>(s)->getExprLoc(), "a handler calls " + what + ", which waits");
      const auto* callee = callee_of(s);
      if (!callee) return;
      if (const auto& why = reasons_.of(callee); !why.empty()) {
        say(llvm::cast<clang::Expr>(s)->getExprLoc(), "a handler calls " + called_as(callee) + why + ", which waits");
      }
      const auto* call = llvm::dyn_cast<clang::CallExpr>(s);
      if (!call || (!library_name(callee).empty() && !program_.is_users(callee->getLocation()))) return;
      for (const auto* argument : call->arguments()) {
        const auto* given = lambda(argument);
        if (!given) continue;
        for (const auto* f : call_operators(given->getLambdaClass())) look_at_handler(f->getBody());
      }
    });
  }

 private:
  void say(clang::SourceLocation at, const std::string& what) {
    program_.say("waits", at,
                 what + ", and a handler must not: send a message instead, or let the program do it after finish()");
  }

  program& program_;
  reasons reasons_;
};

}  // namespace

void check_waits(program& p) {
  waits w(p);
  for (const auto& b : p.bodies()) {
    const auto what = p.role_of(b.function);
    if (what == role::handler || what == role::reply) w.look_at_handler(b.code);
  }
}

}  // namespace shunt::translate::checks
