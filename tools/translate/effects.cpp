#include "effects.hpp"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "accesses.hpp"
#include "around_map.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

bool in_std(const clang::NamedDecl* d) { return full_name(d).starts_with("std::"); }

bool is_sequence(const clang::CXXRecordDecl* type) {
  static constexpr std::array known{"std::vector", "std::array", "std::span", "std::deque", "std::basic_string"};
  return std::ranges::find(known, full_name(type)) != known.end();
}

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

/// Numbers, and sequences, pointers and arrays of numbers: whose memory is known by the type of its elements.
bool is_plain_sequence(clang::QualType type) {
  const auto plain = type.getNonReferenceType();
  if (plain->isArithmeticType()) return true;
  const bool known = plain->isPointerType() || plain->isArrayType() || is_sequence(class_of(plain));
  return known && element_type(type)->isArithmeticType();
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

/// Whether a function of constants and numbers only computes: no global that could change has a part in it.
bool only_computes(const clang::FunctionDecl* f) {
  const auto by_value = std::ranges::all_of(f->parameters(), [](const auto* p) {
    const auto type = p->getType();
    return type.getNonReferenceType()->isArithmeticType() &&
           (!type->isReferenceType() || type.getNonReferenceType().isConstQualified());
  });
  const clang::FunctionDecl* defined = nullptr;
  if (!by_value || !f->isConstexpr() || !f->hasBody(defined)) return false;
  bool computes = true;
  each_spelled(defined->getBody(), [&computes](const Stmt* part) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(part);
    const auto* v = name ? dyn_cast<clang::VarDecl>(name->getDecl()) : nullptr;
    if (v && !v->hasLocalStorage() && !v->isConstexpr()) computes = false;
    return computes;
  });
  return computes;
}

/// Functions without side effects: const ones of sequences, of a PE and of arrays, and those that only compute.
bool is_pure(const clang::FunctionDecl* f) {
  if (!f) return false;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(f);
  if (!method && f->getDeclName().isIdentifier() && (f->getName() == "shmem_my_pe" || f->getName() == "shmem_n_pes"))
    return true;
  if (!method || method->isStatic()) return only_computes(f);
  const auto* type = method->getParent();
  if (method->isOverloadedOperator()) {
    const auto op = method->getOverloadedOperator();
    return op == clang::OO_Subscript && (is_sequence(type) || is_a(type, "pgas::array"));
  }
  if (!method->getDeclName().isIdentifier()) return false;
  static constexpr std::array of_sequence{"size", "empty", "at", "front", "back", "length"};
  const std::string_view name = method->getName();
  if (is_sequence(type)) return std::ranges::find(of_sequence, name) != of_sequence.end();
  return is_local_function(type, name);
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
    } else if (b && b->isCommaOp()) {
      reason = "it has two parts";
    } else if (const auto* u = dyn_cast<clang::UnaryOperator>(part); u && u->isIncrementDecrementOp()) {
      reason = "it counts";
    } else if (const auto* call = dyn_cast<clang::CallExpr>(part); call && !is_pure(call->getDirectCallee())) {
      const auto* f = call->getDirectCallee();
      reason = f ? "it calls " + f->getNameAsString() + "(), which may do more than compute" : "it calls a function";
    } else if (isa<clang::LambdaExpr, clang::CXXNewExpr, clang::CXXDeleteExpr, clang::CXXThrowExpr, clang::StmtExpr,
                   clang::CXXTemporaryObjectExpr, clang::AtomicExpr, clang::VAArgExpr>(part)) {
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

namespace {

bool is_reading_method(const clang::CXXMemberCallExpr* call) {
  const auto* m = call->getMethodDecl();
  if (!m || !m->getDeclName().isIdentifier() || !in_std(m)) return false;
  const std::string_view name = m->getName();
  return name != "data" && name != "begin" && name != "end" && name != "rbegin" && name != "rend" && name != "swap" &&
         name != "front" && name != "back" && name != "at";
}

/// Whether one mention of a variable only reads it, or changes it by its own name: what a later statement that does not
/// name it cannot change. Everything else may hand its address on.
bool stays_known(const around_map& all, const Stmt* s) {
  for (;;) {
    const auto* around = all(s);
    if (!around) return false;
    if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(around)) {
      if (cast->getCastKind() == clang::CK_LValueToRValue) return true;
      if (cast->getCastKind() == clang::CK_ArrayToPointerDecay) {
        const auto* row = clang::dyn_cast_or_null<clang::ArraySubscriptExpr>(all(around));
        if (!row || row->getBase() != around) return false;
        s = row;
        continue;
      }
      if (cast->getCastKind() != clang::CK_NoOp) return false;
    } else if (const auto* b = dyn_cast<clang::BinaryOperator>(around); b && b->isAssignmentOp()) {
      return b->getLHS() == s;
    } else if (const auto* u = dyn_cast<clang::UnaryOperator>(around); u && u->isIncrementDecrementOp()) {
      return true;
    } else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(around)) {
      const auto* m = dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
      if (!m || !is_sequence(m->getParent())) return false;
      if (call->getOperator() == clang::OO_Equal) return true;  // it is copied, or is what is changed
      if (call->getArg(0) != s) return false;
      if (call->getOperator() != clang::OO_Subscript) return false;
    } else if (isa<clang::MemberExpr>(around)) {
      const auto* method = clang::dyn_cast_or_null<clang::CXXMemberCallExpr>(all(around));
      if (method) return is_reading_method(method);
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(around)) {
      return made->getConstructor()->isCopyConstructor() && in_std(made->getConstructor());
    } else if (const auto* call_by_value = dyn_cast<clang::CallExpr>(around)) {
      return is_pure(call_by_value->getDirectCallee());
    } else if (const auto* declared = dyn_cast<clang::DeclStmt>(around)) {
      // Of a range-based loop that takes values: a reference, also a const one, sees what is written to the elements.
      const auto* range = clang::dyn_cast_or_null<clang::CXXForRangeStmt>(all(declared));
      if (!range || range->getRangeStmt() != declared) return false;
      return !range->getLoopVariable()->getType()->isReferenceType();
    } else if (!isa<clang::ParenExpr, clang::MaterializeTemporaryExpr, clang::ConstantExpr>(around)) {
      return false;
    }
    s = around;
  }
}

}  // namespace

std::set<const clang::VarDecl*> escaping(const Stmt* function) {
  std::set<const clang::VarDecl*> all;
  const around_map around(function);
  around.each([&](const Stmt* s) {
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(s)) {
      const auto* v = dyn_cast<clang::VarDecl>(name->getDecl());
      const auto* b = dyn_cast<clang::BindingDecl>(name->getDecl());
      if (b) v = dyn_cast_or_null<clang::VarDecl>(b->getDecomposedDecl());
      // What the function around this one has, a lambda, may have other names there.
      if (v && (name->refersToEnclosingVariableOrCapture() || !stays_known(around, s))) all.insert(v);
    } else if (const auto* l = dyn_cast<clang::LambdaExpr>(s)) {
      for (const auto& capture : l->captures()) {
        if (!capture.capturesVariable() || capture.getCaptureKind() == clang::LCK_ByCopy) continue;
        if (const auto* v = dyn_cast<clang::VarDecl>(capture.getCapturedVar())) all.insert(v);
      }
    } else if (const auto* declared = dyn_cast<clang::DeclStmt>(s)) {
      for (const auto* d : declared->decls()) {
        const auto* v = dyn_cast<clang::VarDecl>(d);
        if (v && v->getType()->isReferenceType() && v->getInit() && !isa<clang::CXXForRangeStmt>(around(s)))
          for (const auto* named : variables_of(v->getInit())) all.insert(named);
      }
    }
  });
  return all;
}

bool counts_own(const clang::ForStmt* loop) {
  const auto* declared = dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  const auto* step = loop->getInc() ? loop->getInc()->IgnoreUnlessSpelledInSource() : nullptr;
  const auto* u = dyn_cast_or_null<clang::UnaryOperator>(step);
  const auto* b = dyn_cast_or_null<clang::BinaryOperator>(step);
  const clang::VarDecl* v = nullptr;
  if (u && u->isIncrementDecrementOp()) v = variable(u->getSubExpr());
  clang::SourceLocation at;
  if (b && b->isAssignmentOp() && impurity(b->getRHS(), &at).empty()) v = variable(b->getLHS());
  return declared && v && llvm::is_contained(declared->decls(), v);
}

effects::effects(const source& s, const Stmt* of, scope which, const std::set<const clang::VarDecl*>& escaped,
                 const std::set<const clang::VarDecl*>* fresh)
    : which_(which), escaped_(&escaped), fresh_(fresh), context_(&s.context()) {
  std::set<const Stmt*> heads;  // that do not count
  each_spelled(of, [&](const Stmt* part) {
    if (heads.contains(part)) return false;
    if (const auto* loop = dyn_cast<clang::ForStmt>(part); loop && which == scope::bodies && counts_own(loop))
      heads.insert(loop->getInc()->IgnoreUnlessSpelledInSource());
    if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(part)) look_at_declaration(range->getLoopVariable());
    const auto call = shmem_call_of(part);
    if (call && call->at) {
      look_at_shmem(*call);
    } else if (!addresses_.contains(part)) {
      look_at(part);
    }
    return true;
  });
}

/// What goes to another PE changes nothing here, but where this one is meant: that is the caller's matter. A `get`
/// writes to its target.
void effects::look_at_shmem(const shmem_call& call) {
  addresses_.insert(call.at);
  if (!call.local) return;
  addresses_.insert(call.local);
  if (call.kind != shmem_kind::get && call.kind != shmem_kind::get_later) return;
  const auto* element = addressed(call.local);
  write(element ? element : call.local);
}

void effects::write(const Expr* to) {
  const auto* v = root_of(to);
  if (!v) {  // a structured binding, one of two variables, or what a function returned
    unknown_ = true;
    for (const auto* named : variables_of(to)) changed_.insert(named);
    return;
  }
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
  } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(part)) {
    if (!in_std(made->getConstructor()) && !made->getConstructor()->isTrivial()) unknown_ = true;
  } else if (isa<clang::AtomicExpr, clang::AsmStmt, clang::VAArgExpr>(part)) {
    unknown_ = true;  // __atomic_fetch_add(p, 1, …) is no call
    for (const auto* named : variables_of(part)) changed_.insert(named);
  } else if (const auto* l = dyn_cast<clang::LambdaExpr>(part)) {
    unknown_ = true;
    for (const auto& capture : l->captures()) {
      if (capture.capturesVariable() && capture.getCaptureKind() == clang::LCK_ByRef)
        if (const auto* v = dyn_cast<clang::VarDecl>(capture.getCapturedVar())) changed_.insert(v);
    }
  }
}

/// Of a function that is not pure: whatever its arguments name may be changed. A method of a sequence that nothing else
/// reaches changes that; every other function may change whatever it can reach.
void effects::look_at_call(const clang::CallExpr* call) {
  const auto* method = dyn_cast<clang::CXXMemberCallExpr>(call);
  const auto* object = method ? root_of(method->getImplicitObjectArgument()) : nullptr;
  const bool contained = object && is_private(object) && in_std(method->getMethodDecl());
  const auto* function = dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
  if (function && is_a(function->getParent(), "pgas::element_changes")) return;  // a message changes an element
  if (!contained) unknown_ = true;
  if (method) write(method->getImplicitObjectArgument());
  for (const auto* argument : call->arguments()) {
    if (argument->getType()->isArithmeticType() && !argument->isLValue()) continue;
    for (const auto* named : variables_of(argument)) changed_.insert(named);
  }
}

void effects::look_at_declaration(const clang::VarDecl* v) {
  if (which_ == scope::all || v->isStaticLocal()) changed_.insert(v);
  const auto* type = class_of(v->getType());
  if (type && type->hasDefinition() && !v->getType()->isReferenceType() && !in_std(type) &&
      !type->hasTrivialDestructor())
    unknown_ = true;
  if (v->getType()->isReferenceType() && !v->getType().getNonReferenceType().isConstQualified() && v->getInit() &&
      !v->isCXXForRangeDecl())
    write(v->getInit());
}

bool effects::is_private(const clang::VarDecl* v) const {
  if (fresh_ && fresh_->contains(v)) return true;
  return v->hasLocalStorage() && owns(v->getType()) && !escaped_->contains(v);
}

bool effects::changes(const clang::VarDecl* v) const {
  if (changed_.contains(v)) return true;
  if (is_private(v)) return false;
  const auto type = v->getType().getNonReferenceType();
  if (v->getType().isConstQualified() && owns(v->getType())) return false;
  if (unknown_) return true;
  return std::ranges::any_of(written_, [&](const written& w) {
    const auto other = w.through->getType().getNonReferenceType();
    const auto mine = element_type(v->getType());
    // Vectors own their elements: those of another type's are others, and so are those of two variables.
    if (owns(type) && owns(other) && class_of(type) && class_of(other) && mine->isArithmeticType() &&
        element_type(w.through->getType())->isArithmeticType()) {
      return class_of(type)->getCanonicalDecl() == class_of(other)->getCanonicalDecl() &&
             (v->getType()->isReferenceType() || w.through->getType()->isReferenceType());
    }
    return !is_plain_sequence(v->getType()) || may_overlap(*context_, mine, w.type);
  });
}

const clang::VarDecl* effects::changed_of(const Stmt* e) const {
  for (const auto* v : variables_of(e)) {
    if (!is_a(v->getType(), "pgas::pe") && changes(v)) return v;  // a PE's number is the same at all times
  }
  return nullptr;
}

bool effects::leaves(const Stmt* e) const {
  bool members = false;  // of this object: anything that is written may be one
  each_spelled(e, [&members](const Stmt* part) {
    members = members || isa<clang::CXXThisExpr>(part) ||
              (isa<clang::MemberExpr>(part) && clang::cast<clang::MemberExpr>(part)->isImplicitAccess());
    return !members;
  });
  return !changed_of(e) && !(members && (unknown_ || !written_.empty()));
}

}  // namespace shunt::translate
