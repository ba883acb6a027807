#include "accesses.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <optional>

#include "effects.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

const Expr* spelled(const Expr* e) { return e ? e->IgnoreUnlessSpelledInSource() : nullptr; }

/// `target op value`: the language's operators, and those of a class.
struct assignment {
  const Expr* target;
  const Expr* value;  ///< null for ++ and --
  clang::OverloadedOperatorKind op;
};

std::optional<assignment> assignment_of(const Expr* e) {
  using namespace clang;
  if (const auto* call = dyn_cast<CXXOperatorCallExpr>(e)) {
    const auto op = call->getOperator();
    if (op == OO_PlusPlus || op == OO_MinusMinus) return assignment{call->getArg(0), nullptr, op};
    if (call->isAssignmentOp()) return assignment{call->getArg(0), call->getArg(1), op};
  } else if (const auto* binary = dyn_cast<BinaryOperator>(e); binary && binary->isAssignmentOp()) {
    return assignment{binary->getLHS(), binary->getRHS(), BinaryOperator::getOverloadedOperator(binary->getOpcode())};
  } else if (const auto* unary = dyn_cast<UnaryOperator>(e); unary && unary->isIncrementDecrementOp()) {
    return assignment{unary->getSubExpr(), nullptr, unary->isIncrementOp() ? OO_PlusPlus : OO_MinusMinus};
  }
  return {};
}

std::optional<change_kind> kind_of(clang::OverloadedOperatorKind op) {
  switch (op) {
    case clang::OO_PlusPlus:
    case clang::OO_MinusMinus:
    case clang::OO_PlusEqual:
    case clang::OO_MinusEqual: return change_kind::add;
    case clang::OO_StarEqual: return change_kind::multiply;
    case clang::OO_PipeEqual: return change_kind::bit_or;
    case clang::OO_AmpEqual: return change_kind::bit_and;
    case clang::OO_CaretEqual: return change_kind::bit_xor;
    case clang::OO_Equal: return change_kind::assign;
    default: return {};
  }
}

/// Whether the value of what an expression spells is taken, and not its address.
bool is_value(const Expr* e) {
  for (;;) {
    if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(e)) {
      const auto kind = cast->getCastKind();
      if (kind == clang::CK_LValueToRValue || kind == clang::CK_UserDefinedConversion) return true;
    }
    if (const auto* made = dyn_cast<clang::CXXConstructExpr>(e)) {
      if (made->getConstructor()->isCopyConstructor()) return true;
    }
    const auto* next = e->IgnoreImplicit();
    if (next == e) {
      const auto* parentheses = dyn_cast<clang::ParenExpr>(e);
      if (!parentheses) return false;
      next = parentheses->getSubExpr();
    } else {
      next = clang::cast<Expr>(*e->child_begin());
    }
    e = next;
  }
}

class finder {
 public:
  finder(const source& of, distributed_arrays& arrays, accesses& found) : of_(of), arrays_(arrays), found_(found) {}

  /// \param conditional  the expression may not be evaluated
  /// \param unused       its value is not used: it is a statement
  void walk(const Stmt* s, bool conditional, bool unused) {
    if (!s) return;
    if (const auto* e = dyn_cast<Expr>(s)) {
      const bool value = is_value(e);
      s = e = spelled(e);
      if (isa<clang::LambdaExpr>(e)) return;
      if (unused && change(e, conditional)) return;
      if ((value && read(e, conditional)) || call(e, conditional)) return;
      const auto* array = arrays_.named_by(e);
      const auto a = assignment_of(e);
      if (array || element_index(a ? a->target : e, arrays_, &array)) return found_.others.push_back({array, e});
    }
    bool first = true;
    for (const auto* part : spelled_parts(s)) {
      walk(part, conditional || (may_skip(s) && !first), is_statement(part, s, unused));
      first = false;
    }
  }

 private:
  /// Whether the value of a part of `s` is not used.
  static bool is_statement(const Stmt* part, const Stmt* s, bool unused) {
    if (const auto* loop = dyn_cast<clang::ForStmt>(s)) return part != loop->getCond();
    if (const auto* branch = dyn_cast<clang::IfStmt>(s)) return part != branch->getCond();
    if (const auto* loop = dyn_cast<clang::WhileStmt>(s)) return part != loop->getCond();
    if (const auto* loop = dyn_cast<clang::DoStmt>(s)) return part != loop->getCond();
    if (const auto* choice = dyn_cast<clang::SwitchStmt>(s)) return part != choice->getCond();
    if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(s)) return part == range->getBody();
    if (const auto* comma = dyn_cast<clang::BinaryOperator>(s); comma && comma->isCommaOp())
      return unused || part == comma->getLHS();
    return isa<clang::CompoundStmt, clang::SwitchCase, clang::LabelStmt, clang::AttributedStmt>(s);
  }

  bool change(const Expr* e, bool conditional) {
    const distributed_array* array = nullptr;
    if (const auto a = assignment_of(e)) {
      const auto* index = element_index(a->target, arrays_, &array);
      const auto kind = kind_of(a->op);
      if (!index || !kind) return false;
      element_change c{array, index, spelled(a->value), e, *kind, false};
      if (c.kind == change_kind::assign) spell_out(c);
      return add(c, conditional);
    }
    const auto* member = dyn_cast<clang::CXXMemberCallExpr>(e);
    if (!member || member->getNumArgs() == 0) return false;
    const auto* index = element_index(member->getImplicitObjectArgument(), arrays_, &array);
    const auto name = member->getMethodDecl()->getNameAsString();
    if (!index || (name != "min" && name != "max" && name != "update")) return false;
    const auto kind = name == "min" ? change_kind::least : name == "max" ? change_kind::greatest : change_kind::update;
    return add({array, index, spelled(member->getArg(0)), e, kind, false}, conditional);
  }

  bool add(const element_change& c, bool conditional) {
    found_.changes.push_back(c);
    walk(c.index, conditional, false);
    // `h[i] += t[k]` takes the value, though the proxy's operator would take the element itself.
    if (!c.value || !read(c.value, conditional)) walk(c.value, conditional, false);
    return true;
  }

  /// `h[i] = h[i] + v` and `h[i] = std::min(h[i], v)` are changes that do not need to read.
  void spell_out(element_change& c) {
    clang::SourceLocation at;
    if (!impurity(c.index, &at).empty()) return;  // the two indices may differ
    const auto same = [&](const Expr* e) {
      const distributed_array* array = nullptr;
      const auto* index = element_index(e, arrays_, &array);
      return index && array == c.array && same_letters(of_, index, c.index);
    };
    if (const auto* b = dyn_cast<clang::BinaryOperator>(c.value)) {
      const auto op = b->getOpcode();
      const auto kind = op == clang::BO_Add || op == clang::BO_Sub ? std::optional(change_kind::add)
                        : op == clang::BO_Mul                      ? std::optional(change_kind::multiply)
                        : op == clang::BO_Or                       ? std::optional(change_kind::bit_or)
                        : op == clang::BO_And                      ? std::optional(change_kind::bit_and)
                        : op == clang::BO_Xor                      ? std::optional(change_kind::bit_xor)
                                                                   : std::nullopt;
      if (!kind) return;
      if (same(b->getLHS())) {
        c.kind = *kind, c.value = spelled(b->getRHS()), c.spelled_out = true;
      } else if (same(b->getRHS()) && op != clang::BO_Sub) {
        c.kind = *kind, c.value = spelled(b->getLHS()), c.spelled_out = true;
      }
    } else if (const auto* call = dyn_cast<clang::CallExpr>(c.value); call && call->getNumArgs() == 2) {
      const auto name = full_name(call->getDirectCallee());
      if (name != "std::min" && name != "std::max") return;
      // Of another type it would round once more.
      if (!same_type(call->getType(), c.array->element)) return;
      const auto kind = name == "std::min" ? change_kind::least : change_kind::greatest;
      for (const unsigned which : {0u, 1u}) {
        if (!same(call->getArg(which))) continue;
        c.kind = kind, c.value = spelled(call->getArg(1 - which)), c.spelled_out = true;
        return;
      }
    }
  }

  bool read(const Expr* e, bool conditional) {
    const distributed_array* array = nullptr;
    const auto* index = element_index(e, arrays_, &array);
    if (!index) return false;
    found_.reads.push_back({array, index, e, conditional});
    walk(index, conditional, false);
    return true;
  }

  /// Functions of an array that neither change nor read elements.
  bool call(const Expr* e, bool conditional) {
    const auto c = call_of(e);
    const auto* array = c ? arrays_.named_by(c->object) : nullptr;
    if (!array || !(array->plain ? c->name == "size" : is_local_function(c->type, c->name))) return false;
    for (const auto* argument : c->call->arguments()) walk(argument, conditional, false);
    return true;
  }

  const source& of_;
  distributed_arrays& arrays_;
  accesses& found_;
};

}  // namespace

const Expr* element_index(const Expr* e, distributed_arrays& arrays, const distributed_array** array) {
  e = spelled(e);
  const Expr *base = nullptr, *index = nullptr;
  if (const auto* call = clang::dyn_cast_or_null<clang::CXXOperatorCallExpr>(e)) {
    if (call->getOperator() != clang::OO_Subscript || call->getNumArgs() != 2) return nullptr;
    base = call->getArg(0), index = call->getArg(1);
  } else if (const auto* row = clang::dyn_cast_or_null<clang::ArraySubscriptExpr>(e)) {
    base = row->getBase(), index = row->getIdx();
  }
  *array = base ? arrays.named_by(base) : nullptr;
  return *array ? spelled(index) : nullptr;
}

std::vector<const Stmt*> spelled_parts(const Stmt* s) {
  std::vector<const Stmt*> parts;
  const auto add = [&parts](const Stmt* part) {
    if (part && !isa<clang::CXXDefaultArgExpr>(part)) parts.push_back(part);
  };
  if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(s)) {
    add(range->getInit()), add(range->getRangeInit()), add(range->getBody());
  } else if (const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(s)) {
    for (const auto* argument : call->arguments()) add(argument);
  } else if (const auto* declarations = dyn_cast<clang::DeclStmt>(s)) {
    for (const auto* d : declarations->decls()) {
      if (const auto* v = dyn_cast<clang::VarDecl>(d)) add(v->getInit());
    }
  } else if (const auto* lambda = dyn_cast<clang::LambdaExpr>(s)) {
    add(lambda->getBody());
  } else {
    for (const auto* part : s->children()) add(part);
  }
  return parts;
}

void each_spelled(const Stmt* s, const std::function<bool(const Stmt*)>& f) {
  if (!s) return;
  if (const auto* e = dyn_cast<Expr>(s)) s = spelled(e);
  if (!f(s)) return;
  for (const auto* part : spelled_parts(s)) each_spelled(part, f);
}

bool same_letters(const source& of, const Expr* a, const Expr* b) {
  return of.is_here(a->getSourceRange()) && of.is_here(b->getSourceRange()) &&
         of.letters(a->getSourceRange()) == of.letters(b->getSourceRange());
}

accesses accesses_of(const source& of, const Stmt* s, distributed_arrays& arrays) {
  accesses found;
  finder(of, arrays, found).walk(s, false, true);
  return found;
}

}  // namespace shunt::translate
