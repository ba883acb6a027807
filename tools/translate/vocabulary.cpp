#include "vocabulary.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <array>
#include <string>

namespace shunt::translate {

std::string full_name(const clang::NamedDecl* name) {
  if (!name) return {};
  std::string text = name->getNameAsString();
  for (const auto* around = name->getDeclContext(); around && !around->isTranslationUnit();
       around = around->getParent()) {
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(around)) {
      if (space->isInline() || space->isAnonymousNamespace()) continue;
      text = space->getNameAsString() + "::" + text;
    } else if (const auto* type = llvm::dyn_cast<clang::TagDecl>(around)) {
      text = type->getNameAsString() + "::" + text;
    }
  }
  return text;
}

const clang::CXXRecordDecl* class_of(clang::QualType type) {
  if (type.isNull()) return nullptr;
  type = type.getNonReferenceType();
  if (const auto* record = type->getAsCXXRecordDecl()) return record;
  // Of a template's pattern: array<T> where T is not known yet.
  if (const auto* special = type->getAs<clang::TemplateSpecializationType>()) {
    if (const auto* pattern =
            llvm::dyn_cast_or_null<clang::ClassTemplateDecl>(special->getTemplateName().getAsTemplateDecl())) {
      return pattern->getTemplatedDecl();
    }
  }
  return nullptr;
}

bool is_a(const clang::CXXRecordDecl* type, std::string_view name) {
  if (!type) return false;
  if (full_name(type) == "shunt::" + std::string(name)) return true;
  if (!type->hasDefinition()) return false;
  for (const auto& base : type->bases()) {
    if (is_a(class_of(base.getType()), name)) return true;
  }
  return false;
}

const clang::Expr* bare(const clang::Expr* e) {
  while (e) {
    const auto* before = e;
    e = e->IgnoreParenImpCasts();
    if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(e)) e = cleanups->getSubExpr();
    if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(e)) e = temporary->getSubExpr();
    if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(e)) e = bound->getSubExpr();
    if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(e);
        made && made->getNumArgs() == 1 && !llvm::isa<clang::CXXTemporaryObjectExpr>(made)) {
      e = made->getArg(0);  // a copy, or a conversion that is not spelled
    }
    if (e == before) break;
  }
  return e;
}

const clang::VarDecl* variable(const clang::Expr* e) {
  const auto* named = llvm::dyn_cast_or_null<clang::DeclRefExpr>(bare(e));
  return named ? llvm::dyn_cast<clang::VarDecl>(named->getDecl()) : nullptr;
}

const clang::Expr* referred_to(const clang::VarDecl* v) {
  if (!v || !v->getType()->isReferenceType() || llvm::isa<clang::ParmVarDecl>(v) || !v->hasInit()) return nullptr;
  const auto* made = v->getInit()->IgnoreParens();
  if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(made)) made = cleanups->getSubExpr();
  return llvm::isa<clang::MaterializeTemporaryExpr>(made) ? nullptr : made;
}

const clang::VarDecl* original(const clang::VarDecl* v) {
  while (const auto* made = referred_to(v)) {
    const auto* of = variable(made);
    if (!of || of == v) break;
    v = of;
  }
  return v;
}

const clang::LambdaExpr* lambda(const clang::Expr* e) { return llvm::dyn_cast_or_null<clang::LambdaExpr>(bare(e)); }

std::optional<member_call> call_of(const clang::Stmt* s) {
  const auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(s);
  if (!call) return {};
  const auto* callee = call->getCallee()->IgnoreParenImpCasts();
  const clang::Expr* object = nullptr;
  std::string_view name;
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(callee)) {
    object = member->getBase();
    const auto& id = member->getMemberDecl()->getDeclName();
    if (!id.isIdentifier()) return {};
    name = member->getMemberDecl()->getName();
  } else if (const auto* unknown = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(callee)) {
    if (unknown->isImplicitAccess() || !unknown->getMember().isIdentifier()) return {};
    object = unknown->getBase();
    name = unknown->getMember().getAsIdentifierInfo()->getName();
  } else if (const auto* several = llvm::dyn_cast<clang::UnresolvedMemberExpr>(callee)) {
    if (several->isImplicitAccess() || !several->getMemberName().isIdentifier()) return {};
    object = several->getBase();
    name = several->getMemberName().getAsIdentifierInfo()->getName();
  } else {
    return {};
  }
  auto type = object->getType();
  if (type->isPointerType()) type = type->getPointeeType();
  return member_call{call, object, name, class_of(type)};
}

bool same_type(clang::QualType a, clang::QualType b) {
  return a.getCanonicalType().getUnqualifiedType() == b.getCanonicalType().getUnqualifiedType();
}

bool is_local_function(const clang::CXXRecordDecl* type, std::string_view name) {
  static constexpr auto of_pe = std::to_array<std::string_view>({"index", "count", "rank", "ranks"});
  static constexpr auto of_array = std::to_array<std::string_view>({"size", "owner", "index_of"});
  if (is_a(type, "pgas::pe")) return std::ranges::find(of_pe, name) != of_pe.end();
  return is_a(type, "pgas::array") && std::ranges::find(of_array, name) != of_array.end();
}

bool is_loop(const Stmt* s) { return isa<clang::ForStmt, clang::CXXForRangeStmt, clang::WhileStmt, clang::DoStmt>(s); }

bool may_skip(const Stmt* s) {
  const auto* binary = dyn_cast<clang::BinaryOperator>(s);
  return (binary && binary->isLogicalOp()) || isa<clang::AbstractConditionalOperator>(s);
}

const clang::LambdaExpr* superstep_body(const clang::Stmt* s) {
  const auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(s);
  if (!call || call->getNumArgs() < 2) return nullptr;
  std::string name;
  if (const auto* known = call->getDirectCallee()) {
    name = full_name(known);
  } else if (const auto* several = llvm::dyn_cast<clang::OverloadExpr>(call->getCallee()->IgnoreParenImpCasts())) {
    if (several->getNumDecls() > 0) name = full_name(*several->decls_begin());
  }
  return name == "shunt::pgas::superstep" ? lambda(call->getArg(1)) : nullptr;
}

}  // namespace shunt::translate
