#include "memory.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "shmem_calls.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

bool is_named(const clang::CallExpr* call, const auto& names) {
  const auto* f = call->getDirectCallee();
  if (!f || !f->getDeclName().isIdentifier()) return false;
  const std::string_view name = f->getName();
  return std::ranges::find(names, name) != names.end();
}

bool allocates(const Expr* e) {
  static constexpr auto names = std::to_array<std::string_view>({"malloc", "calloc", "aligned_alloc"});
  e = e ? e->IgnoreParenCasts() : nullptr;
  // `new (where) long[n]` allocates nothing.
  if (const auto* made = clang::dyn_cast_or_null<clang::CXXNewExpr>(e))
    return made->isArray() && made->getNumPlacementArgs() == 0;
  const auto* call = clang::dyn_cast_or_null<clang::CallExpr>(e);
  return call && is_named(call, names);
}

/// A call of OpenSHMEM. The program's own functions may have such names, too.
bool is_of_shmem(const clang::CallExpr* call) {
  const auto* f = call->getDirectCallee();
  return shmem_call_of(call) && !f->getASTContext().getSourceManager().isWrittenInMainFile(f->getLocation());
}

bool is_cast(const Stmt* s) { return isa<clang::CastExpr, clang::ParenExpr>(s); }

/// Functions that do not keep a pointer that they get. Those that return one return it: its value must not be used.
bool forgets(const around_map& around, const Stmt* s) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"free", "memset", "memcpy", "memmove", "memcmp", "printf", "fprintf", "qsort", "shmem_free"});
  const auto* call = clang::dyn_cast_or_null<clang::CallExpr>(s);
  if (!call || (!is_named(call, names) && !is_of_shmem(call))) return false;
  const auto* user = around(call);
  while (user && is_cast(user)) user = around(user);
  return !call->getType()->isPointerType() || !user || !isa<Expr, clang::DeclStmt, clang::ReturnStmt>(user);
}

/// Whether an element, as an lvalue, is only read or written.
bool element_stays(const around_map& around, const Stmt* s) {
  for (const auto* p = around(s); p; s = p, p = around(s)) {
    if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(p);
        cast && cast->getCastKind() == clang::CK_LValueToRValue)
      return true;
    if (is_cast(p)) continue;
    if (const auto* b = dyn_cast<clang::BinaryOperator>(p)) return b->isAssignmentOp() && b->getLHS() == s;
    if (const auto* u = dyn_cast<clang::UnaryOperator>(p)) {
      if (u->isIncrementDecrementOp()) return true;
      if (u->getOpcode() != clang::UO_AddrOf) return false;
      const auto* user = around(u);
      while (user && is_cast(user)) user = around(user);
      return forgets(around, user);
    }
    return isa<clang::UnaryExprOrTypeTraitExpr, clang::CompoundStmt>(p);
  }
  return true;
}

/// Whether one mention of a pointer hands it on to nothing.
bool pointer_stays(const around_map& around, const Stmt* s) {
  for (const auto* p = around(s); p; s = p, p = around(s)) {
    if (const auto* row = dyn_cast<clang::ArraySubscriptExpr>(p))
      return row->getBase() == s && element_stays(around, row);
    if (const auto* u = dyn_cast<clang::UnaryOperator>(p)) {
      if (u->getOpcode() == clang::UO_Deref) return element_stays(around, u);
      return u->getOpcode() == clang::UO_LNot;
    }
    if (const auto* b = dyn_cast<clang::BinaryOperator>(p)) {
      if (b->isComparisonOp() || b->isLogicalOp()) return true;
      if (!b->isAdditiveOp()) return false;
      if (!b->getType()->isPointerType()) return true;  // a distance
      continue;
    }
    if (is_cast(p)) {
      if (!clang::cast<Expr>(p)->getType()->isPointerType()) return clang::cast<Expr>(p)->getType()->isBooleanType();
      continue;
    }
    return forgets(around, p) ||
           isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXDeleteExpr, clang::CompoundStmt, clang::IfStmt>(p);
  }
  return false;
}

}  // namespace

std::set<const clang::VarDecl*> fresh_memory(const around_map& around) {
  std::set<const clang::VarDecl*> fresh, others;
  around.each([&](const Stmt* s) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(s);
    const auto* v = name ? dyn_cast<clang::VarDecl>(name->getDecl()) : nullptr;
    if (!v || !v->getType()->isPointerType() || !v->getType()->getPointeeType()->isArithmeticType()) return;
    const bool own = v->isLocalVarDecl() && v->hasLocalStorage() && allocates(v->getInit());
    const bool only_way = isa<clang::ParmVarDecl>(v) && v->getType().isRestrictQualified();
    const bool stays = !name->refersToEnclosingVariableOrCapture() && pointer_stays(around, name);
    ((own || only_way) && stays ? fresh : others).insert(v);
  });
  for (const auto* v : others) fresh.erase(v);
  return fresh;
}

}  // namespace shunt::translate
