#include "loop_rules.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <array>

#include "effects.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

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

/// The variable that a `for` counts up or down by a step, from a value that it gets in the head. Not one of 8 or 16
/// bits, which soon comes round to values that it had.
const clang::VarDecl* counter_of(const Stmt* loop) {
  const auto* counted = clang::dyn_cast_or_null<clang::ForStmt>(loop);
  if (!counted || !counted->getInit() || !counted->getInc()) return nullptr;
  const auto* head = dyn_cast<clang::DeclStmt>(counted->getInit());
  if (!head || !head->isSingleDecl()) return nullptr;
  const auto* v = dyn_cast<clang::VarDecl>(head->getSingleDecl());
  if (!v || !v->getType()->isIntegerType()) return nullptr;
  const auto& context = v->getASTContext();
  if (context.getTypeSize(v->getType()) < context.getTypeSize(context.IntTy)) return nullptr;
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
  if (index_differs(s, loop, c.index, escaped)) return {};
  return refusal{c.whole->getBeginLoc(),
                 "an assignment to " + name_of(*c.array) +
                     " whose index may be the same twice: the last message to arrive would win, not the last one of "
                     "the loop; let the index be the counter of a single loop, or use min() or max()"};
}

/// Whether two names may be one array: of two references that is not known, nor of a reference that is no parameter. A
/// local array is none that the caller has.
bool may_be_same(const distributed_array& a, const distributed_array& b) {
  if (&a == &b) return true;
  if (!same_type(a.element, b.element)) return false;
  const auto is_value = [](const distributed_array& x) { return !x.name->getType()->isReferenceType(); };
  const auto is_local = [&](const distributed_array& x) { return is_value(x) && isa<clang::VarDecl>(x.name); };
  const auto is_parameter = [](const distributed_array& x) { return isa<clang::ParmVarDecl>(x.name); };
  if (is_value(a) && is_value(b)) return false;
  return !(is_local(a) && is_parameter(b)) && !(is_local(b) && is_parameter(a));
}

/// The array of `auto mine = h.local();`, also through a range made of it; null for other variables.
const distributed_array* viewed_array(const clang::VarDecl* v, distributed_arrays& arrays) {
  const distributed_array* of = nullptr;
  if (v->getType()->isArithmeticType()) return of;  // a value that was computed from the part
  each_spelled(v->getInit(), [&](const Stmt* part) {
    const auto call = call_of(part);
    if (call && is_a(call->type, "pgas::array") && (call->name == "local" || call->name == "own"))
      of = arrays.named_by(call->object);
    return !of;
  });
  return of;
}

/// The variable of `f(...)`, if that is a lambda or a std::function.
const clang::VarDecl* lambda_call(const Stmt* s) {
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(s);
  if (!call || call->getOperator() != clang::OO_Call) return nullptr;
  return variable(call->getArg(0));
}

bool one_kind(const std::vector<element_change>& changes, const element_change& c) {
  return std::ranges::all_of(changes,
                             [&](const auto& o) { return !may_be_same(*o.array, *c.array) || o.kind == c.kind; });
}

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

bool index_differs(const source& s, const Stmt* loop, const Expr* index, const std::set<const clang::VarDecl*>& escaped,
                   const std::set<const clang::VarDecl*>* fresh) {
  const auto* counter = counter_of(loop);
  if (!counter) return false;
  // The counter of this loop, not of one around it, and only the last part of the head counts.
  const auto* body = clang::cast<clang::ForStmt>(loop)->getBody();
  const auto* condition = clang::cast<clang::ForStmt>(loop)->getCond();
  bool inner = false;
  each_spelled(body, [&](const Stmt* part) {
    inner = inner || is_loop(part);
    return !inner;
  });
  const effects of_body(s, body, effects::scope::all, escaped, fresh);
  const effects of_condition(s, condition, effects::scope::all, escaped, fresh);
  return !inner && !of_body.changes(counter) && of_condition.leaves(index) && is_one_to_one(index, counter, of_body);
}

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

namespace {

verdict names_array(const clang::LambdaExpr* l, distributed_arrays& arrays) {
  verdict no;
  each_spelled(l->getBody(), [&](const Stmt* inner) {
    const auto* e = dyn_cast<Expr>(inner);
    if (!no && e && arrays.named_by(e))
      no = refusal{inner->getBeginLoc(), "a lambda names a distributed array: when it runs cannot be seen"};
    return !no;
  });
  return no;
}

/// Why one part of a loop, a lambda within left out, may not stand in a superstep; empty if it may.
std::string leaves_or_waits(const Stmt* part, bool gathers) {
  if (isa<clang::ReturnStmt, clang::GotoStmt, clang::IndirectGotoStmt, clang::LabelStmt, clang::CoreturnStmt,
          clang::CoawaitExpr, clang::CoyieldExpr>(part))
    return "the loop is left in the middle: the other PEs would wait for the superstep's end";
  if (isa<clang::CXXThrowExpr>(part)) return "the loop may throw: the other PEs would wait for the superstep's end";
  if (isa<clang::PredefinedExpr>(part)) return "__func__ and the like would name a lambda";
  if (const auto* called = lambda_call(part))
    return '`' + called->getNameAsString() + "` is a lambda: what it reads and changes is not followed";
  if (gathers && isa<clang::BreakStmt, clang::ContinueStmt, clang::CXXTryStmt>(part))
    return "the loop ends or goes on early: how many elements it reads is not known before it runs";
  if (!isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CompoundStmt>(part) && is_collective(part))
    return "a call inside of the loop may wait for other PEs";
  return {};
}

/// An array whose own part the loop also reaches in another way.
verdict uses_view(const Stmt* loop, const accesses& all, distributed_arrays& arrays) {
  for (const auto* v : variables_of(loop)) {
    const auto* of = viewed_array(v, arrays);
    const auto is_that = [of](const auto& access) { return may_be_same(*access.array, *of); };
    if (of && (std::ranges::any_of(all.changes, is_that) || std::ranges::any_of(all.reads, is_that)))
      return refusal{loop->getBeginLoc(), '`' + v->getNameAsString() +
                                              "` is a view of an array's own part, which the loop also reads or "
                                              "changes by messages"};
  }
  return {};
}

/// Whether the loop makes the array, or a name of it, itself.
bool is_made_in(const source& s, const Stmt* loop, const distributed_array& array) {
  const auto at = array.name->getLocation();
  if (!s.is_here(at) || !s.is_here(loop->getSourceRange())) return false;
  const auto [begin, end] = s.bytes(loop->getSourceRange());
  const auto declared = s.bytes(at).first;
  return begin <= declared && declared < end;
}

/// The places of changes and reads.
template <class Accesses>
verdict must_be_plain(const source& s, const Stmt* loop, const Accesses& all) {
  for (const auto& access : all) {
    const auto here = access.whole->getSourceRange();
    if (is_made_in(s, loop, *access.array))
      return refusal{here.getBegin(), "the loop makes the array, or a name of it, itself"};
    if (!s.is_here(here)) return refusal{here.getBegin(), "an element is named by a macro or in another file"};
  }
  return {};
}

}  // namespace

verdict must_stay_inside(const source& s, const Stmt* loop, const accesses& all, distributed_arrays& arrays) {
  verdict no;
  each_spelled(loop, [&](const Stmt* part) {
    if (no) return false;
    const auto* l = dyn_cast<clang::LambdaExpr>(part);
    if (l) {
      no = names_array(l, arrays);
    } else if (auto why = leaves_or_waits(part, !all.reads.empty()); !why.empty()) {
      no = refusal{part->getBeginLoc(), std::move(why)};
    }
    return !no && !l;
  });
  if (!no) no = uses_view(loop, all, arrays);
  if (!no && !all.others.empty())
    no = refusal{all.others.front().whole->getBeginLoc(),
                 "a distributed array is used in a way that is no statement on one element: a change is "
                 "`h[i] += v`, `++h[i]`, `h[i] = v` or the like, and its value is not used"};
  if (!no) no = must_be_plain(s, loop, all.changes);
  if (!no) no = must_be_plain(s, loop, all.reads);
  return no;
}

verdict must_not_mix(const accesses& all) {
  for (const auto& r : all.reads) {
    for (const auto& c : all.changes) {
      if (r.array == c.array)
        return refusal{r.whole->getBeginLoc(), "elements of " + name_of(*r.array) +
                                                   " are read and changed in one loop: what is read depends on "
                                                   "messages that are under way"};
      if (may_be_same(*r.array, *c.array))
        return refusal{r.whole->getBeginLoc(), name_of(*r.array) + " is read and " + name_of(*c.array) +
                                                   " is changed, and both may be the same array: they are references"};
    }
  }
  return {};
}

namespace {

/// Whether objects of a type are, or hold, a PE, an array or a selector.
bool concerns_pes(clang::QualType type, int depth = 3) {
  if (type.isNull()) return false;
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  for (const char* name : {"pgas::pe", "pgas::array", "pgas::selector_of", "pgas::selector"})
    if (is_a(type, name)) return true;
  const auto* record = class_of(type);
  if (!record || !record->hasDefinition() || depth == 0 || full_name(record).starts_with("std::")) return false;
  return std::ranges::any_of(record->fields(),
                             [depth](const auto* f) { return concerns_pes(f->getType(), depth - 1); });
}

}  // namespace

bool is_collective(const Stmt* s) {
  bool found = false;
  each_spelled(s, [&](const Stmt* part) {
    if (found || isa<clang::LambdaExpr>(part)) return false;
    if (superstep_body(part)) found = true;
    if (const auto c = call_of(part)) {
      const bool of_element = is_a(c->type, "pgas::element_changes");
      found = found || (concerns_pes(c->object->getType()) && !is_local_function(c->type, c->name) && !of_element);
    }
    const auto* call = dyn_cast<clang::CallExpr>(part);
    if (call && !isa<clang::CXXOperatorCallExpr>(call))
      for (const auto* argument : call->arguments()) found = found || concerns_pes(argument->getType());
    return !found;
  });
  return found;
}

bool runs_together(const Stmt* loop) {
  const Stmt* body = nullptr;
  const Expr* condition = nullptr;
  if (const auto* counted = dyn_cast<clang::ForStmt>(loop)) body = counted->getBody(), condition = counted->getCond();
  if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(loop)) body = range->getBody();
  if (const auto* w = dyn_cast<clang::WhileStmt>(loop)) body = w->getBody(), condition = w->getCond();
  if (const auto* d = dyn_cast<clang::DoStmt>(loop)) body = d->getBody(), condition = d->getCond();
  const auto meets = [](const Stmt* statement) -> bool {
    bool found = false;
    const auto* branch = clang::dyn_cast_or_null<clang::IfStmt>(statement);
    if (branch) statement = branch->getCond();  // that is asked in each round
    if (!statement || isa<clang::SwitchStmt, clang::CXXTryStmt>(statement)) return false;
    each_spelled(statement, [&found](const Stmt* part) {
      static constexpr std::array of_pe{"barrier", "sum", "min", "max", "reduce", "broadcast", "gather", "scan"};
      static constexpr std::array of_array{"sum", "gather", "scatter"};
      static constexpr std::array of_selector{"finish", "quiesce"};
      const auto is_one_of = [](const auto& names, const auto& name) {
        return std::ranges::find(names, name) != names.end();
      };
      if (superstep_body(part)) found = true;
      if (const auto c = call_of(part)) {
        found = found || (is_a(c->type, "pgas::pe") && is_one_of(of_pe, c->name)) ||
                (is_a(c->type, "pgas::array") && is_one_of(of_array, c->name)) ||
                ((is_a(c->type, "pgas::selector_of") || is_a(c->type, "pgas::selector")) &&
                 is_one_of(of_selector, c->name));
      }
      return !found && !may_skip(part) && !isa<clang::LambdaExpr, clang::IfStmt, clang::SwitchStmt>(part);
    });
    return found;
  };
  if (condition && meets(condition)) return true;
  const auto* several = clang::dyn_cast_or_null<clang::CompoundStmt>(body);
  return several ? std::ranges::any_of(several->body(), meets) : meets(body);
}

}  // namespace shunt::translate
