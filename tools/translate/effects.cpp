#include "effects.hpp"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "accesses.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

using clang::dyn_cast;
using clang::Expr;
using clang::isa;
using clang::Stmt;

bool in_std(const clang::NamedDecl* d) { return full_name(d).starts_with("std::"); }

/// Whether a type's objects own what they hold: numbers, arrays, vectors of such. Not views, pointers, references.
bool owns(clang::QualType type) {
  if (type->isReferenceType() || type->isPointerType()) return false;
  if (type->isArithmeticType() || type->isEnumeralType()) return true;
  if (const auto* row = type->getAsArrayTypeUnsafe()) return owns(row->getElementType());
  static constexpr std::array owners{"std::vector", "std::array", "std::deque", "std::string", "std::basic_string"};
  const auto name = full_name(class_of(type));
  if (std::ranges::find(owners, name) == owners.end()) return false;
  const auto* special = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(class_of(type));
  return !special || special->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type ||
         owns(special->getTemplateArgs()[0].getAsType());
}

/// The type of the elements behind a container, view, pointer or reference.
clang::QualType element_type(clang::QualType type) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) return type->getPointeeType();
  if (const auto* row = type->getAsArrayTypeUnsafe()) return row->getElementType();
  const auto* special = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(class_of(type));
  if (special && special->getTemplateArgs().size() > 0 &&
      special->getTemplateArgs()[0].getKind() == clang::TemplateArgument::Type) {
    return special->getTemplateArgs()[0].getAsType();
  }
  return type;
}

/// Whether memory of the two types may overlap (C++ [basic.lval]/11): the same type but for its sign, or bytes.
bool may_overlap(const clang::ASTContext& context, clang::QualType a, clang::QualType b) {
  a = a.getCanonicalType().getUnqualifiedType(), b = b.getCanonicalType().getUnqualifiedType();
  if (a->isAnyCharacterType() || b->isAnyCharacterType() || a->isStdByteType() || b->isStdByteType()) return true;
  if (a->isIntegerType() && b->isIntegerType() && !a->isBooleanType() && !b->isBooleanType()) {
    if (a->isUnsignedIntegerType()) a = context.getCorrespondingSignedType(a);
    if (b->isUnsignedIntegerType()) b = context.getCorrespondingSignedType(b);
  }
  if (a->isArithmeticType() && b->isArithmeticType()) return a.getCanonicalType() == b.getCanonicalType();
  return true;  // structs: what they hold is not looked at
}

/// The variable whose object, element or member an lvalue is; null if it cannot be seen.
const clang::VarDecl* root_of(const Expr* e) {
  e = e ? e->IgnoreUnlessSpelledInSource() : nullptr;
  while (e) {
    if (const auto* v = variable(e)) return v;
    const Expr* next = nullptr;
    if (const auto* member = dyn_cast<clang::MemberExpr>(e)) next = member->getBase();
    if (const auto* row = dyn_cast<clang::ArraySubscriptExpr>(e)) next = row->getBase();
    if (const auto* deref = dyn_cast<clang::UnaryOperator>(e)) next = deref->getSubExpr();
    if (const auto* parentheses = dyn_cast<clang::ParenExpr>(e)) next = parentheses->getSubExpr();
    if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(e))
      next = call->getOperator() == clang::OO_Subscript || call->getOperator() == clang::OO_Star ||
                     call->getOperator() == clang::OO_Arrow
                 ? call->getArg(0)
                 : nullptr;
    if (const auto* call = dyn_cast<clang::CXXMemberCallExpr>(e); call && in_std(call->getMethodDecl()))
      next = call->getImplicitObjectArgument();  // v.at(i), v.front()
    e = next ? next->IgnoreUnlessSpelledInSource() : nullptr;
  }
  return nullptr;
}

/// Functions without side effects: const ones of the standard library's and of arrays, and those of constants.
bool is_pure(const clang::FunctionDecl* f) {
  if (!f) return false;
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(f)) {
    static constexpr std::array known{"size",  "empty", "at",     "front",    "back",  "data",
                                      "begin", "end",   "length", "first",    "last",  "subspan",
                                      "index", "count", "owner",  "index_of", "ranks", "rank"};
    const bool library = in_std(f) || full_name(f).starts_with("shunt::");
    if (method->isOverloadedOperator()) {
      const auto op = method->getOverloadedOperator();
      return library && (op == clang::OO_Subscript || op == clang::OO_Star || op == clang::OO_Arrow);
    }
    return library && method->getDeclName().isIdentifier() &&
           std::ranges::find(known, std::string_view(method->getName())) != known.end();
  }
  if (f->isConstexpr() || f->hasAttr<clang::ConstAttr>()) {
    return std::ranges::all_of(f->parameters(), [](const auto* p) {
      const auto type = p->getType();
      return type.getNonReferenceType()->isArithmeticType() &&
             (!type->isReferenceType() || type.getNonReferenceType().isConstQualified());
    });
  }
  return false;
}

}  // namespace

bool mentions(const Stmt* s, const clang::ValueDecl* name) {
  bool found = false;
  each_spelled(s, [&](const Stmt* part) {
    const auto* e = dyn_cast<clang::DeclRefExpr>(part);
    found = found || (e && e->getDecl() == name);
    return !found;
  });
  return found;
}

std::string impurity(const Expr* e, clang::SourceLocation* at) {
  std::string reason;
  each_spelled(e, [&](const Stmt* part) {
    if (!reason.empty()) return false;
    *at = part->getBeginLoc();
    if (const auto* b = dyn_cast<clang::BinaryOperator>(part); b && b->isAssignmentOp()) {
      reason = "it assigns";
    } else if (const auto* u = dyn_cast<clang::UnaryOperator>(part); u && u->isIncrementDecrementOp()) {
      reason = "it counts";
    } else if (const auto* call = dyn_cast<clang::CallExpr>(part); call && !is_pure(call->getDirectCallee())) {
      const auto* f = call->getDirectCallee();
      reason = f ? "it calls " + f->getNameAsString() + "(), which may do more than compute" : "it calls a function";
    } else if (isa<clang::LambdaExpr, clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXThrowExpr, clang::StmtExpr,
                   clang::CXXTemporaryObjectExpr>(part)) {
      reason = "it does more than compute";
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(part); made && !in_std(made->getConstructor())) {
      reason = "it makes an object";
    } else if (part->getStmtClass() == Stmt::DeclRefExprClass) {
      const auto* v = dyn_cast<clang::VarDecl>(clang::cast<clang::DeclRefExpr>(part)->getDecl());
      if (v && v->getType().isVolatileQualified()) reason = "it reads a volatile variable";
    }
    return reason.empty();
  });
  return reason;
}

std::set<const clang::VarDecl*> variables_of(const Stmt* s) {
  std::set<const clang::VarDecl*> all;
  each_spelled(s, [&](const Stmt* part) {
    if (const auto* e = dyn_cast<clang::DeclRefExpr>(part)) {
      if (const auto* v = dyn_cast<clang::VarDecl>(e->getDecl())) all.insert(v);
      if (const auto* b = dyn_cast<clang::BindingDecl>(e->getDecl())) {
        if (const auto* v = dyn_cast_or_null<clang::VarDecl>(b->getDecomposedDecl())) all.insert(v);
      }
    }
    return true;
  });
  return all;
}

std::set<const clang::VarDecl*> escaping(const Stmt* function) {
  std::set<const clang::VarDecl*> all;
  const auto escapes = [&all](const Expr* e) {
    if (const auto* v = root_of(e)) all.insert(v);
  };
  each_spelled(function, [&](const Stmt* part) {
    if (const auto* address = dyn_cast<clang::UnaryOperator>(part);
        address && address->getOpcode() == clang::UO_AddrOf) {
      escapes(address->getSubExpr());
    } else if (const auto* l = dyn_cast<clang::LambdaExpr>(part)) {
      for (const auto& capture : l->captures()) {
        if (capture.capturesVariable() && capture.getCaptureKind() == clang::LCK_ByRef)
          if (const auto* v = dyn_cast<clang::VarDecl>(capture.getCapturedVar())) all.insert(v);
      }
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(part)) {
      if (!owns(made->getType()))
        for (const auto* argument : made->arguments())
          if (argument->isLValue()) escapes(argument);
    } else if (const auto* method = dyn_cast<clang::CXXMemberCallExpr>(part)) {
      if (!owns(method->getType())) escapes(method->getImplicitObjectArgument());  // data(), begin()
      for (const auto* argument : method->arguments())
        if (argument->isLValue() && !argument->getType().isConstQualified()) escapes(argument);
    } else if (const auto* call = dyn_cast<clang::CallExpr>(part); call && !isa<clang::CXXOperatorCallExpr>(call)) {
      for (const auto* argument : call->arguments())
        if (argument->isLValue() && !argument->getType().isConstQualified()) escapes(argument);
    } else if (const auto* declared = dyn_cast<clang::DeclStmt>(part)) {
      for (const auto* d : declared->decls())
        if (const auto* v = dyn_cast<clang::VarDecl>(d); v && v->getType()->isReferenceType()) escapes(v->getInit());
    } else if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(part)) {
      const auto type = range->getLoopVariable()->getType();
      if (type->isReferenceType() && !type.getNonReferenceType().isConstQualified()) escapes(range->getRangeInit());
    }
    return true;
  });
  return all;
}

effects::effects(const source& s, const Stmt* of, scope which, const std::set<const clang::VarDecl*>& escaped)
    : which_(which), escaped_(&escaped), context_(&s.context()) {
  std::set<const Stmt*> heads;  // that do not count
  each_spelled(of, [&](const Stmt* part) {
    if (heads.contains(part)) return false;
    if (const auto* loop = dyn_cast<clang::ForStmt>(part); loop && which == scope::bodies) {
      heads.insert(loop->getInit());
      heads.insert(loop->getInc() ? loop->getInc()->IgnoreUnlessSpelledInSource() : nullptr);
    }
    if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(part)) look_at_declaration(range->getLoopVariable());
    look_at(part);
    return true;
  });
}

void effects::write(const Expr* to) {
  const auto* v = root_of(to);
  if (!v) return void(unknown_ = true);
  changed_.insert(v);
  if (!is_private(v)) written_.push_back({v, to->getType().getNonReferenceType()});
}

void effects::look_at(const Stmt* part) {
  if (const auto* b = dyn_cast<clang::BinaryOperator>(part); b && b->isAssignmentOp()) {
    write(b->getLHS());
  } else if (const auto* u = dyn_cast<clang::UnaryOperator>(part);
             u && (u->isIncrementDecrementOp() || u->getOpcode() == clang::UO_AddrOf)) {
    write(u->getSubExpr());  // what happens with an address is not followed
  } else if (const auto* call = dyn_cast<clang::CallExpr>(part)) {
    if (!is_pure(call->getDirectCallee())) look_at_call(call);
  } else if (const auto* declared = dyn_cast<clang::DeclStmt>(part)) {
    for (const auto* d : declared->decls())
      if (const auto* v = dyn_cast<clang::VarDecl>(d)) look_at_declaration(v);
  } else if (const auto* l = dyn_cast<clang::LambdaExpr>(part)) {
    unknown_ = true;
    for (const auto& capture : l->captures()) {
      if (capture.capturesVariable() && capture.getCaptureKind() == clang::LCK_ByRef)
        if (const auto* v = dyn_cast<clang::VarDecl>(capture.getCapturedVar())) changed_.insert(v);
    }
  }
}

/// Of a function that is not pure: what it gets by reference or pointer may be changed; and one that is not the
/// library's may change whatever it can reach.
void effects::look_at_call(const clang::CallExpr* call) {
  const auto* f = call->getDirectCallee();
  if (!in_std(f) && !full_name(f).starts_with("shunt::pgas::")) unknown_ = true;
  if (const auto* method = dyn_cast<clang::CXXMemberCallExpr>(call)) write(method->getImplicitObjectArgument());
  for (const auto* argument : call->arguments()) {
    if ((argument->isLValue() && !argument->getType().isConstQualified()) || argument->getType()->isPointerType())
      write(argument);
  }
}

void effects::look_at_declaration(const clang::VarDecl* v) {
  if (which_ == scope::all || v->isStaticLocal()) changed_.insert(v);
  if (v->getType()->isReferenceType() && !v->getType().getNonReferenceType().isConstQualified() && v->getInit() &&
      !v->isCXXForRangeDecl())
    write(v->getInit());
}

/// Whether only statements that name the variable can change it.
bool effects::is_private(const clang::VarDecl* v) const {
  return v->hasLocalStorage() && owns(v->getType()) && !escaped_->contains(v);
}

bool effects::changes(const clang::VarDecl* v) const {
  if (changed_.contains(v)) return true;
  if (is_private(v)) return false;
  const auto type = v->getType().getNonReferenceType();
  if (v->getType().isConstQualified() && owns(v->getType())) return false;
  if (v->hasLocalStorage() && !escaped_->contains(v) && type->isPointerType() == false &&
      !v->getType()->isReferenceType() && class_of(type) == nullptr)
    return false;
  if (unknown_) return true;
  return std::ranges::any_of(written_, [&](const written& w) {
    const auto other = w.through->getType().getNonReferenceType();
    // A vector owns its elements: another vector's are others.
    if (owns(type) && owns(other) && class_of(type) && class_of(other))
      return class_of(type)->getCanonicalDecl() == class_of(other)->getCanonicalDecl() &&
             v->getType()->isReferenceType() && w.through->getType()->isReferenceType();
    return may_overlap(*context_, element_type(v->getType()), w.type);
  });
}

const clang::VarDecl* effects::changed_of(const Stmt* e) const {
  for (const auto* v : variables_of(e))
    if (changes(v)) return v;
  return nullptr;
}

}  // namespace shunt::translate
