#include "check_accesses.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <array>

#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

constexpr int deepest = 3;  // functions that call functions

using names = std::string_view;

/// Functions of the standard containers that lead to an item, or change nothing although they are not const.
constexpr auto leading = std::to_array<names>({"at", "front", "back", "value"});
constexpr auto harmless = std::to_array<names>({"begin", "end", "rbegin", "rend", "data", "find", "lower_bound",
                                                "upper_bound", "equal_range", "get", "reserve", "shrink_to_fit"});

template <std::size_t N>
bool is_one_of(const std::array<names, N>& all, names name) {
  return std::ranges::find(all, name) != all.end();
}

names short_name(const clang::FunctionDecl* f) {
  return f->getDeclName().isIdentifier() ? names(f->getName()) : names();
}

bool is_standard(const clang::FunctionDecl* f) { return full_name(f).starts_with("std::"); }

std::optional<piece> of_variable(const clang::VarDecl* v) {
  v = v->getCanonicalDecl();
  const bool follows = v->getType()->isReferenceType() && v->hasInit() && !llvm::isa<clang::ParmVarDecl>(v);
  if (follows) return piece_of(v->getInit());
  return piece{v, false, {}};
}

/// The part that a local_part or symmetric object stands for: `*table`, `table->`, `handle[i]`.
std::optional<piece> of_part(const clang::Expr* object) {
  const auto* v = variable(object);
  if (!v) return {};
  if (is_a(v->getType(), "pgas::symmetric")) return piece{original(v)->getCanonicalDecl(), true, {}};
  if (!is_a(v->getType(), "pgas::local_part")) return {};
  // A handle, from `table.local()`; captured by a lambda it may be a variable of the lambda's, with that as its value.
  const auto* made = v->getInit() ? llvm::dyn_cast<clang::CallExpr>(bare(v->getInit())) : nullptr;
  if (made && made->getDirectCallee() && library_name(made->getDirectCallee()) == "pgas::symmetric::local")
    return of_part(object_of(made));
  return v->getInit() ? of_part(bare(v->getInit())) : std::nullopt;
}

std::optional<piece> of_call(const clang::CallExpr* call) {
  const auto* callee = call->getDirectCallee();
  const auto* object = object_of(call);
  if (!callee || !object) return {};
  switch (callee->getOverloadedOperator()) {
    case clang::OO_Star:
    case clang::OO_Arrow:
    case clang::OO_Subscript:
      if (auto part = of_part(object)) return part;
      return is_standard(callee) ? piece_of(object) : std::nullopt;
    default: break;
  }
  return is_standard(callee) && is_one_of(leading, short_name(callee)) ? piece_of(object) : std::nullopt;
}

std::optional<piece> of_member(const clang::MemberExpr* member) {
  const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
  if (!field) return {};
  const auto* base = member->getBase()->IgnoreParenImpCasts();
  auto whole = llvm::isa<clang::CXXThisExpr>(base) ? piece{} : piece_of(base);
  if (whole) whole->members.push_back(field->getCanonicalDecl());
  return whole;
}

/// Collects what a function changes.
class changer {
 public:
  changer(const program& p, std::vector<piece>& into, int depth) : program_(p), into_(into), depth_(depth) {}

  void look_at(const clang::Stmt* s) {
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(s)) {
      if (binary->isAssignmentOp()) note(binary->getLHS());
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(s)) {
      if (unary->isIncrementDecrementOp()) note(unary->getSubExpr());
    } else if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s); call && call->getDirectCallee()) {
      look_at_call(call);
    }
  }

 private:
  void note(const clang::Expr* changed) {
    if (auto p = piece_of(changed)) into_.push_back(std::move(*p));
  }
  /// `inner` is a piece of what `outer` names.
  void note(const clang::Expr* outer, const piece& inner) {
    auto whole = llvm::isa<clang::CXXThisExpr>(bare(outer)) ? piece{} : piece_of(outer);
    if (!whole) return;
    whole->members.insert(whole->members.end(), inner.members.begin(), inner.members.end());
    into_.push_back(std::move(*whole));
  }

  void look_at_call(const clang::CallExpr* call) {
    const auto* callee = call->getDirectCallee();
    if (const auto* op = llvm::dyn_cast<clang::CXXOperatorCallExpr>(call);
        op && (op->isAssignmentOp() || op->getOperator() == clang::OO_PlusPlus ||
               op->getOperator() == clang::OO_MinusMinus)) {
      return note(op->getArg(0));
    }
    const auto name = full_name(callee);
    if (name == "std::swap" || name == "std::exchange") {
      for (const auto* a : call->arguments()) {
        if (a->isLValue() && !a->getType().isConstQualified()) note(a);
      }
    } else if (is_standard(callee)) {
      look_at_container(call, callee);
    } else if (program_.users_body(callee) && depth_ < deepest) {
      look_inside(call, callee);
    }
  }
  void look_at_container(const clang::CallExpr* call, const clang::FunctionDecl* callee) {
    const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(callee);
    const auto word = short_name(callee);
    if (!method || method->isConst() || word.empty() || is_one_of(leading, word) || is_one_of(harmless, word)) return;
    if (const auto* object = object_of(call)) note(object);
  }
  void look_inside(const clang::CallExpr* call, const clang::FunctionDecl* callee) {
    const auto all = arguments_of(call);
    for (const auto& inner : changes_of(program_, callee, depth_ + 1)) {
      if (!inner.root) {
        if (const auto* object = object_of(call)) note(object, inner);
      } else if (inner.of_part) {
        into_.push_back(inner);
      } else if (const auto* p = llvm::dyn_cast<clang::ParmVarDecl>(inner.root)) {
        const auto i = p->getFunctionScopeIndex();
        if (i < all.size()) note(all[i], inner);
      }
    }
  }

  const program& program_;
  std::vector<piece>& into_;
  int depth_;
};

bool reaches_outside(const piece& p) {
  if (!p.root || p.of_part) return true;
  const auto type = p.root->getType();
  return llvm::isa<clang::ParmVarDecl>(p.root) && type->isLValueReferenceType() &&
         !type.getNonReferenceType().isConstQualified();
}

}  // namespace

std::optional<piece> piece_of(const clang::Expr* e) {
  if (!e) return {};
  e = e->IgnoreParenImpCasts();
  if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(e)) return piece_of(cleanups->getSubExpr());
  if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(e)) {
    if (const auto* bound = llvm::dyn_cast<clang::BindingDecl>(named->getDecl())) return piece_of(bound->getBinding());
    const auto* v = llvm::dyn_cast<clang::VarDecl>(named->getDecl());
    return v ? of_variable(v) : std::nullopt;
  }
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(e)) return of_member(member);
  if (const auto* item = llvm::dyn_cast<clang::ArraySubscriptExpr>(e)) {
    return item->getBase()->IgnoreParenImpCasts()->getType()->isArrayType() ? piece_of(item->getBase()) : std::nullopt;
  }
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(e)) return of_call(call);
  return {};
}

bool overlap(const piece& a, const piece& b) {
  const auto both = std::min(a.members.size(), b.members.size());
  return std::equal(a.members.begin(), a.members.begin() + static_cast<std::ptrdiff_t>(both), b.members.begin());
}

std::vector<piece> changes_of(const program& p, const clang::FunctionDecl* function, int depth) {
  std::vector<piece> all;
  changer c(p, all, depth);
  const clang::FunctionDecl* defined = nullptr;
  if (!function->hasBody(defined)) return all;
  each_own(defined->getBody(), [&c](const clang::Stmt* s) { c.look_at(s); });
  std::erase_if(all, [](const piece& one) { return !reaches_outside(one); });
  // Parameters are those of the body's declaration: what calls them asks by their place.
  return all;
}

}  // namespace shunt::translate::checks
