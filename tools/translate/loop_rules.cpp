#include "loop_rules.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

#include "effects.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

using clang::dyn_cast;
using clang::Expr;
using clang::isa;
using clang::Stmt;

std::string name_of(const distributed_array& a) { return '`' + a.name->getNameAsString() + '`'; }

/// The type of the value; of `h[i] += t[k]`, of t's elements. Null for `++h[i]`.
clang::QualType value_type(const element_change& c, const accesses& all) {
  if (!c.value) return {};
  const auto read = std::ranges::find_if(all.reads, [&](const auto& r) {
    return r.whole->IgnoreUnlessSpelledInSource() == c.value->IgnoreUnlessSpelledInSource();
  });
  return read == all.reads.end() ? c.value->getType() : read->array->element;
}

/// `i`, `i + c`, `c - i`, `2 * i + c` …: no two values of i give the same.
bool is_one_to_one(const Expr* index, const clang::VarDecl* counter, const effects& of_loop) {
  index = index->IgnoreUnlessSpelledInSource();
  if (const auto* parentheses = dyn_cast<clang::ParenExpr>(index))
    return is_one_to_one(parentheses->getSubExpr(), counter, of_loop);
  if (variable(index) == counter) return true;
  if (const auto* cast = dyn_cast<clang::ExplicitCastExpr>(index)) {
    const auto to = cast->getType(), from = cast->getSubExpr()->getType();
    return to->isIntegerType() && from->isIntegerType() &&
           counter->getASTContext().getTypeSize(to) >= counter->getASTContext().getTypeSize(from) &&
           is_one_to_one(cast->getSubExpr(), counter, of_loop);
  }
  const auto* b = dyn_cast<clang::BinaryOperator>(index);
  if (!b) return false;
  const auto fixed = [&](const Expr* e) {
    clang::SourceLocation at;
    return !mentions(e, counter) && impurity(e, &at).empty() && of_loop.leaves(e);
  };
  if (b->getOpcode() == clang::BO_Add || b->getOpcode() == clang::BO_Sub) {
    return (is_one_to_one(b->getLHS(), counter, of_loop) && fixed(b->getRHS())) ||
           (is_one_to_one(b->getRHS(), counter, of_loop) && fixed(b->getLHS()));
  }
  const auto is_factor = [](const Expr* e) {
    const auto* number = dyn_cast<clang::IntegerLiteral>(e->IgnoreUnlessSpelledInSource());
    return number && number->getValue() != 0;
  };
  if (b->getOpcode() != clang::BO_Mul) return false;
  return (is_one_to_one(b->getLHS(), counter, of_loop) && is_factor(b->getRHS())) ||
         (is_one_to_one(b->getRHS(), counter, of_loop) && is_factor(b->getLHS()));
}

/// The variable that a `for` counts up or down by a step, from a value that it gets in the head.
const clang::VarDecl* counter_of(const Stmt* loop) {
  const auto* counted = clang::dyn_cast_or_null<clang::ForStmt>(loop);
  if (!counted || !counted->getInit() || !counted->getInc()) return nullptr;
  const auto* head = dyn_cast<clang::DeclStmt>(counted->getInit());
  if (!head || !head->isSingleDecl()) return nullptr;
  const auto* v = dyn_cast<clang::VarDecl>(head->getSingleDecl());
  if (!v || !v->getType()->isIntegerType()) return nullptr;
  const auto* step = counted->getInc()->IgnoreUnlessSpelledInSource();
  if (const auto* u = dyn_cast<clang::UnaryOperator>(step))
    return u->isIncrementDecrementOp() && variable(u->getSubExpr()) == v ? v : nullptr;
  const auto* by = dyn_cast<clang::CompoundAssignOperator>(step);
  const bool adds = by && (by->getOpcode() == clang::BO_AddAssign || by->getOpcode() == clang::BO_SubAssign);
  const auto* number = adds ? dyn_cast<clang::IntegerLiteral>(by->getRHS()->IgnoreUnlessSpelledInSource()) : nullptr;
  return number && number->getValue() != 0 && variable(by->getLHS()) == v ? v : nullptr;
}

verdict assigns_once(const source& s, const Stmt* loop, const element_change& c,
                     const std::set<const clang::VarDecl*>& escaped) {
  if (isa<Expr>(loop)) return {};  // no loop: it is done once
  const auto* counter = counter_of(loop);
  const refusal no{c.whole->getBeginLoc(),
                   "an assignment to " + name_of(*c.array) +
                       " whose index may be the same twice: the last message to arrive would win, not the last one of "
                       "the loop; let the index be the counter of a single loop, or use min() or max()"};
  if (!counter) return no;
  // The counter of this loop, not of one around it, and only the head counts.
  bool inner = false;
  each_spelled(clang::cast<clang::ForStmt>(loop)->getBody(), [&](const Stmt* part) {
    if (isa<clang::ForStmt, clang::CXXForRangeStmt, clang::WhileStmt, clang::DoStmt>(part)) inner = true;
    return true;
  });
  const effects body(s, clang::cast<clang::ForStmt>(loop)->getBody(), effects::scope::all, escaped);
  if (inner || body.changes(counter) || !is_one_to_one(c.index, counter, body)) return no;
  return {};
}

/// Whether two names may be one array: of two references that is not known, nor of a reference that is no parameter. A
/// local array is none that the caller has.
bool may_be_same(const distributed_array& a, const distributed_array& b) {
  if (&a == &b) return true;
  if (a.element.getCanonicalType().getUnqualifiedType() != b.element.getCanonicalType().getUnqualifiedType())
    return false;
  const auto is_value = [](const distributed_array& x) { return !x.name->getType()->isReferenceType(); };
  const auto is_local = [&](const distributed_array& x) { return is_value(x) && isa<clang::VarDecl>(x.name); };
  const auto is_parameter = [](const distributed_array& x) { return isa<clang::ParmVarDecl>(x.name); };
  if (is_value(a) && is_value(b)) return false;
  return !(is_local(a) && is_parameter(b)) && !(is_local(b) && is_parameter(a));
}

/// `auto mine = h.local();`
bool is_view_of_array(const clang::VarDecl* v) {
  bool view = false;
  each_spelled(v->getInit(), [&view](const Stmt* part) {
    const auto call = call_of(part);
    view = view || (call && is_a(call->type, "pgas::array") && (call->name == "local" || call->name == "own"));
    return !view;
  });
  // A value that was computed from the part is none.
  return view && !v->getType()->isArithmeticType();
}

bool one_kind(const std::vector<element_change>& changes, const element_change& c) {
  return std::ranges::all_of(changes,
                             [&](const auto& o) { return !may_be_same(*o.array, *c.array) || o.kind == c.kind; });
}

}  // namespace

namespace {

/// Of one change, whose array is changed in this way only.
verdict commutes(const element_change& c, clang::QualType value, bool reorder) {
  const auto at = c.whole->getBeginLoc();
  const auto element = c.array->element;
  if (c.kind == change_kind::update)
    return refusal{at, "update() of " + name_of(*c.array) +
                           " in a natural loop: whether its order matters cannot be seen; put the loop into a "
                           "superstep yourself"};
  if (element->isBooleanType() || !element->isArithmeticType())
    return refusal{at, "elements of " + name_of(*c.array) +
                           " are no numbers: whether the order of changes matters "
                           "cannot be seen"};
  if (!value.isNull() && !value->isArithmeticType())
    return refusal{at, "the value is no number: whether the order of changes matters cannot be seen"};
  if (!element->isFloatingType() && !value.isNull() && value->isFloatingType())
    return refusal{at, "floating-point values are rounded into elements of " + name_of(*c.array) +
                           ": the order of changes matters"};
  if (element->isFloatingType() && !reorder)
    return refusal{at, "floating-point elements of " + name_of(*c.array) +
                           " would be changed in another order, and rounded differently: --reorder allows that"};
  return {};
}

}  // namespace

verdict must_commute(const source& s, const Stmt* loop, const accesses& all,
                     const std::set<const clang::VarDecl*>& escaped, bool reorder) {
  for (const auto& c : all.changes) {
    const auto at = c.whole->getBeginLoc();
    if (!one_kind(all.changes, c))
      return refusal{at, "elements of " + name_of(*c.array) +
                             " are changed in two ways, whose order matters: messages have no order"};
    if (c.kind != change_kind::assign) {
      if (auto no = commutes(c, value_type(c, all), reorder)) return no;
      continue;
    }
    if (std::ranges::count_if(all.changes, [&](const auto& o) { return may_be_same(*o.array, *c.array); }) != 1)
      return refusal{at, "elements of " + name_of(*c.array) +
                             " are assigned to at two places of the loop: which "
                             "message arrives last is not known"};
    if (auto no = assigns_once(s, loop, c, escaped)) return no;
  }
  return {};
}

verdict must_stay_inside(const source& s, const Stmt* loop, const accesses& all, distributed_arrays& arrays) {
  const bool gathers = !all.reads.empty();
  verdict no;
  each_spelled(loop, [&](const Stmt* part) {
    if (no) return false;
    const auto at = part->getBeginLoc();
    if (const auto* l = dyn_cast<clang::LambdaExpr>(part)) {
      each_spelled(l->getBody(), [&](const Stmt* inner) {
        const auto* e = dyn_cast<Expr>(inner);
        if (!no && e && arrays.named_by(e))
          no = refusal{inner->getBeginLoc(), "a lambda names a distributed array: when it runs cannot be seen"};
        return !no;
      });
      return false;
    }
    if (isa<clang::ReturnStmt, clang::GotoStmt, clang::IndirectGotoStmt, clang::LabelStmt, clang::CoreturnStmt,
            clang::CoawaitExpr, clang::CoyieldExpr>(part))
      no = refusal{at, "the loop is left in the middle: the other PEs would wait for the superstep's end"};
    else if (gathers && isa<clang::BreakStmt, clang::ContinueStmt, clang::CXXThrowExpr, clang::CXXTryStmt>(part))
      no = refusal{at, "the loop ends or goes on early: how many elements it reads is not known before it runs"};
    else if (!isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CompoundStmt>(part) && is_collective(part))
      no = refusal{at, "a call inside of the loop may wait for other PEs"};
    return !no;
  });
  if (no) return no;
  if (!all.changes.empty()) {
    for (const auto* v : variables_of(loop)) {
      if (is_view_of_array(v))
        return refusal{loop->getBeginLoc(), '`' + v->getNameAsString() +
                                                "` is a view of an array's own part, and "
                                                "messages change that while the loop runs"};
    }
  }
  for (const auto& other : all.others)
    return refusal{other.whole->getBeginLoc(),
                   "a distributed array is used in a way that is no statement on one element: a change is "
                   "`h[i] += v`, `++h[i]`, `h[i] = v` or the like, and its value is not used"};
  for (const auto& c : all.changes)
    if (!s.is_here(c.whole->getSourceRange()))
      return refusal{c.whole->getBeginLoc(), "the statement comes from a macro or from another file"};
  for (const auto& r : all.reads)
    if (!s.is_here(r.whole->getSourceRange()))
      return refusal{r.whole->getBeginLoc(), "the expression comes from a macro or from another file"};
  return {};
}

verdict must_not_mix(const accesses& all) {
  for (const auto& r : all.reads) {
    for (const auto& c : all.changes) {
      const bool same = r.array == c.array;
      const bool alias = !same && may_be_same(*r.array, *c.array);
      if (same)
        return refusal{r.whole->getBeginLoc(), "elements of " + name_of(*r.array) +
                                                   " are read and changed in one loop: what is read depends on "
                                                   "messages that are under way"};
      if (alias)
        return refusal{r.whole->getBeginLoc(), name_of(*r.array) + " is read and " + name_of(*c.array) +
                                                   " is changed, and both may be the same array: they are references"};
    }
  }
  return {};
}

bool is_collective(const Stmt* s) {
  bool found = false;
  each_spelled(s, [&](const Stmt* part) {
    if (found || isa<clang::LambdaExpr>(part)) return false;
    if (superstep_body(part)) found = true;
    const auto concerns = [](clang::QualType type) {
      return is_a(type, "pgas::pe") || is_a(type, "pgas::array") || is_a(type, "pgas::selector_of") ||
             is_a(type, "pgas::selector");
    };
    if (const auto c = call_of(part)) {
      const bool of_pe = is_a(c->type, "pgas::pe") && c->name != "index" && c->name != "count" && c->name != "rank" &&
                         c->name != "ranks" && c->name != "process";
      const bool of_array =
          is_a(c->type, "pgas::array") && c->name != "size" && c->name != "owner" && c->name != "index_of";
      const bool of_selector = is_a(c->type, "pgas::selector_of") || is_a(c->type, "pgas::selector");
      if (of_pe || of_array || of_selector) found = true;
    }
    const auto* call = dyn_cast<clang::CallExpr>(part);
    if (call && !isa<clang::CXXOperatorCallExpr>(call) && !call_of(call)) {
      for (const auto* argument : call->arguments()) found = found || concerns(argument->getType());
    } else if (call && call_of(call)) {
      for (const auto* argument : call->arguments()) found = found || concerns(argument->getType());
    }
    return !found;
  });
  return found;
}

}  // namespace shunt::translate
