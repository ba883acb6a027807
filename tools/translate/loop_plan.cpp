#include "loop_plan.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/AST/TypeLoc.h>

#include <algorithm>
#include <array>

#include "effects.hpp"
#include "loop_text.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

std::set<const distributed_array*> arrays_in(const accesses& all) {
  std::set<const distributed_array*> found;
  for (const auto& c : all.changes) found.insert(c.array);
  for (const auto& r : all.reads) found.insert(r.array);
  for (const auto& o : all.others) found.insert(o.array);
  return found;
}

const char* cannot_stay() { return "the array stays as it is: "; }

bool has_return(const Stmt* s) {
  bool found = false;
  each_spelled(s, [&found](const Stmt* part) {
    found = found || isa<clang::ReturnStmt, clang::GotoStmt>(part);
    return !found && !isa<clang::LambdaExpr>(part);
  });
  return found;
}

/// Functions that return the same on every PE.
bool is_same_everywhere(const member_call& call) {
  static constexpr std::array of_pe{"count", "ranks", "sum", "min", "max", "reduce", "broadcast", "gather"};
  static constexpr std::array of_array{"size", "sum"};
  if (is_a(call.type, "pgas::pe")) return std::ranges::find(of_pe, call.name) != of_pe.end();
  return is_a(call.type, "pgas::array") && std::ranges::find(of_array, call.name) != of_array.end();
}

bool is_uniform(const Expr* e, const Stmt* function, int depth);

/// Whether a variable of the function only ever gets values that are the same on every PE.
bool is_uniform(const clang::VarDecl* v, const Stmt* function, int depth) {
  if (v->isConstexpr()) return true;
  if (depth == 0 || !v->hasLocalStorage() || v->getType()->isReferenceType() || !v->getInit()) return false;
  bool uniform = is_uniform(v->getInit(), function, depth - 1);
  each_spelled(function, [&](const Stmt* part) {
    const auto* b = dyn_cast<clang::BinaryOperator>(part);
    const auto* u = dyn_cast<clang::UnaryOperator>(part);
    if (b && b->isAssignmentOp() && variable(b->getLHS()) == v)
      uniform = uniform && is_uniform(b->getRHS(), function, depth - 1);
    if (u && (u->isIncrementDecrementOp() || u->getOpcode() == clang::UO_AddrOf) && variable(u->getSubExpr()) == v)
      uniform = false;
    return uniform;
  });
  return uniform;
}

bool is_uniform(const Expr* e, const Stmt* function, int depth) {
  bool uniform = true;
  each_spelled(e, [&](const Stmt* part) {
    if (const auto call = call_of(part)) {
      uniform = uniform && is_same_everywhere(*call);
      return false;
    }
    if (isa<clang::CallExpr, clang::LambdaExpr, clang::CXXThisExpr>(part)) uniform = false;
    const auto* name = dyn_cast<clang::DeclRefExpr>(part);
    const auto* v = name ? dyn_cast<clang::VarDecl>(name->getDecl()) : nullptr;
    if (name && !isa<clang::EnumConstantDecl>(name->getDecl()))
      uniform = uniform && v && is_uniform(v, function, depth);
    return uniform;
  });
  return uniform;
}

}  // namespace

// --- a function ------------------------------------------------------------------------------------------------------

region::region(const source& s, distributed_arrays& arrays, plans& all, const Stmt* body, bool is_template)
    : source_(s), arrays_(arrays), plans_(all), body_(body), escaped_(escaping(body)), is_template_(is_template) {}

void region::know(const clang::VarDecl* v) {
  if (pe_.empty() && is_a(v->getType(), "pgas::pe") && !v->getType().getNonReferenceType().isConstQualified() &&
      source_.is_here(v->getSourceRange())) {
    pe_ = v->getNameAsString();
    const auto written = source_.letters(v->getSourceRange());
    const auto at = written.find("pgas::pe");
    const auto from = written.find_last_of(" (,", at == std::string::npos ? 0 : at);
    prefix_ = at != std::string::npos ? written.substr(from == std::string::npos ? 0 : from + 1,
                                                       at + 6 - (from == std::string::npos ? 0 : from + 1))
                                      : "shunt::pgas::";
  }
  if (const auto* array = arrays_.of(v); array && array->plain) plans_.lives_with(*array, pe_, prefix_);
}

void region::look_at(const Stmt* s) {
  if (!s || superstep_body(s)) return;
  if (const auto* e = dyn_cast<Expr>(s); e && superstep_body(e->IgnoreUnlessSpelledInSource())) return;
  if (isa<clang::CompoundStmt, clang::AttributedStmt>(s)) {
    for (const auto* part : spelled_parts(s)) look_at(part);
    return;
  }
  if (const auto* declared = dyn_cast<clang::DeclStmt>(s)) {
    for (const auto* d : declared->decls()) {
      const auto* v = dyn_cast<clang::VarDecl>(d);
      if (v) know(v);
      const auto* array = v ? arrays_.of(v) : nullptr;
      if (array && array->plain && !declared->isSingleDecl())
        plans_.refuse_array(*array, v->getLocation(), "it is declared together with other variables");
    }
  }
  look_at_uses(s);
  note_jumps(s);
}

/// Plans what becomes of a statement that may name arrays.
void region::look_at_uses(const Stmt* s) {
  const auto all = accesses_of(source_, s, arrays_);
  if (all.changes.empty() && all.reads.empty() && all.others.empty()) return;
  if (is_loop(s) || isa<clang::IfStmt, clang::SwitchStmt, clang::CXXTryStmt>(s)) {
    // A loop that all PEs run together, and what stands in it: they run that together, too.
    if (is_loop(s) && runs_together(s)) {
      for (const auto* part : spelled_parts(s))
        if (!isa<Expr>(part)) look_at(part);
    } else if (is_loop(s)) {
      translate(s, all);
    } else if (!all.changes.empty() || !all.others.empty()) {
      plans_.refuse(all, {s->getBeginLoc(),
                          "the statement stands under a condition: a superstep is a collective, and "
                          "a PE may not come here"});
    } else {
      read_directly(s, all);
    }
    return;
  }
  look_at_expression(s, all);
}

/// A jump under a condition that may differ from PE to PE: a PE that makes it comes to no superstep behind it. A
/// condition does not differ that is made of constants, of what collectives return, and of the number of PEs.
void region::note_jumps(const Stmt* s) {
  if (left_.isValid() || is_loop(s)) return;  // what stands in a loop was looked at when the loop was
  const auto* branch = dyn_cast<clang::IfStmt>(s);
  if (branch && is_uniform(branch->getCond(), body_, 3)) return;
  if (!branch && !isa<clang::SwitchStmt, clang::CXXTryStmt>(s)) return;
  each_spelled(s, [this](const Stmt* part) {
    if (isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt, clang::CXXThrowExpr>(part) &&
        left_.isInvalid())
      left_ = part->getBeginLoc();
    // A loop's own `break` goes nowhere else.
    return !isa<clang::LambdaExpr>(part) && (!is_loop(part) || has_return(part));
  });
}

void region::look_at_expression(const Stmt* s, const accesses& all) {
  if (!all.others.empty()) {
    if (!all.changes.empty() || std::ranges::any_of(all.others, [](const auto& o) { return o.array->plain; }))
      plans_.refuse(all, {all.others.front().whole->getBeginLoc(),
                          "the array is used in a way that is no statement on one element"});
  } else if (all.changes.empty()) {
    read_directly(s, all);
  } else if (isa<Expr>(s)) {
    translate(s, all);
  } else {
    plans_.refuse(all, {s->getBeginLoc(), "a change of an element stands in a declaration or in a `return`"});
  }
}

/// Reads that stand alone cost a round trip each. They stay; those of a marked array say what they are.
void region::read_directly(const Stmt* s, const accesses& all) {
  plan p{arrays_in(all), source_.bytes(s->getSourceRange()), {}};
  for (const auto& r : all.reads) {
    if (!r.array->plain) continue;
    if (!source_.is_here(r.whole->getSourceRange()))
      return plans_.refuse(all, {r.whole->getBeginLoc(), "the expression comes from a macro or from another file"});
    const auto [begin, end] = source_.bytes(r.whole->getSourceRange());
    p.changes.insert(begin, "static_cast<" + element_name(*r.array) + ">(");
    p.changes.insert(end, ")");
    read_alone_.insert(r.array);
  }
  plans_.add(std::move(p));
}

verdict region::problem(const Stmt* s, const accesses& all) const {
  if (!source_.is_here(s->getSourceRange()))
    return refusal{s->getBeginLoc(), "the statement comes from a macro or from another file"};
  if (pe_.empty()) return refusal{s->getBeginLoc(), "the function has no pgas::pe, which a superstep needs"};
  if (is_template_) return refusal{s->getBeginLoc(), "the function is a template, whose types are not known yet"};
  if (left_.isValid())
    return refusal{left_,
                   "a PE that leaves here does not come to the superstep that the translation would make of line " +
                       std::to_string(source_.say(s->getBeginLoc(), {}).line) +
                       ": let all PEs decide alike, by me.sum() and the like"};
  if (source_.letters(s->getSourceRange()).find("\n#") != std::string::npos)
    return refusal{s->getBeginLoc(), "the preprocessor decides what stands in it"};
  if (auto no = must_stay_inside(source_, s, all, arrays_)) return no;
  if (auto no = must_not_mix(all)) return no;
  return must_commute(source_, s, all, escaped_, plans_.reorder());
}

void region::translate(const Stmt* s, const accesses& all) {
  if (const auto no = problem(s, all)) return plans_.refuse(all, *no);
  plan p{arrays_in(all), source_.bytes(s->getSourceRange()), {}};
  const loop_text text(source_, s, all, escaped_, {pe_, prefix_});
  // What was read by a round trip, a PE may still be reading: no other one changes it before that.
  for (const auto& c : all.changes) {
    if (read_alone_.erase(c.array) == 0) continue;
    const auto begin = p.bytes.first;
    p.changes.insert(begin, pe_ + ".barrier();" + source_.line_end() + source_.indent_at(begin));
  }
  if (const auto no = text.write(p.changes)) return plans_.refuse(all, *no);
  plans_.add(std::move(p));
}

// --- a file ----------------------------------------------------------------------------------------------------------

void plans::refuse(const accesses& all, const refusal& why) {
  findings_.push_back(source_.say(why.at, why.reason));
  for (const auto* array : arrays_in(all))
    if (array->plain) refused_.insert(array);
}

void plans::refuse_array(const distributed_array& array, clang::SourceLocation at, const std::string& why) {
  if (!refused_.insert(&array).second) return;
  findings_.push_back(source_.say(at, cannot_stay() + why));
}

void plans::declare(const distributed_array& array, const clang::VarDecl* v) { declared_[&array] = v; }

void plans::name(const distributed_array& array, const clang::DeclRefExpr* e) { named_[&array].push_back(e); }

void plans::lives_with(const distributed_array& array, const std::string& pe, const std::string& prefix) {
  homes_[&array] = {pe, prefix};
}

/// Every place that names a marked array is one that a plan covers, or asks for its size.
void plans::check_names() {
  for (const auto& [array, places] : named_) {
    for (const auto* e : places) {
      const auto here = source_.is_here(e->getSourceRange());
      const auto at = here ? source_.bytes(e->getSourceRange()) : std::pair<std::size_t, std::size_t>{};
      const bool covered =
          here && std::ranges::any_of(plans_, [&, which = array](const plan& p) {
            return p.bytes.first <= at.first && at.second <= p.bytes.second && p.arrays.contains(which);
          });
      if (covered || (here && source_.text().compare(at.second, 6, ".size(") == 0)) continue;
      refuse_array(*array, e->getBeginLoc(),
                   '`' + array->name->getNameAsString() + "` is used here in a way that a distributed array has not");
    }
  }
}

void plans::settle(edits& into) {
  for (const auto& [array, v] : declared_) {
    if (!array->layout.empty() && array->layout != "blocked" && array->layout != "cyclic")
      refuse_array(*array, v->getLocation(), '`' + array->layout + "` is no layout: blocked and cyclic are");
    else if (const auto why = no_declaration(v); !why.empty())
      refuse_array(*array, v->getLocation(), why);
    else if (!homes_.contains(array) || homes_[array].pe.empty())
      refuse_array(*array, v->getBeginLoc(), "no pgas::pe is declared before it");
  }
  check_names();
  // A plan that concerns a refused array falls, and with it the other marked arrays that it concerns.
  for (bool more = true; more;) {
    more = false;
    for (const auto& p : plans_) {
      if (std::ranges::none_of(p.arrays, [this](const auto* a) { return refused_.contains(a); })) continue;
      for (const auto* a : p.arrays)
        if (a->plain) more = refused_.insert(a).second || more;
    }
  }
  for (const auto& [array, v] : declared_) {
    if (!refused_.contains(array)) change_declaration(*array, into);
  }
  for (const auto& p : plans_) {
    if (std::ranges::none_of(p.arrays, [this](const auto* a) { return refused_.contains(a); })) into.add(p.changes);
  }
  std::ranges::stable_sort(findings_, {}, [](const finding& f) { return std::pair(f.line, f.column); });
}

/// Why a declaration cannot be changed; empty if it can.
std::string plans::no_declaration(const clang::VarDecl* v) const {
  const auto type = v->getType();
  if (type->isReferenceType()) return llvm::isa<clang::ParmVarDecl>(v) ? "" : "it is another name of an array";
  if (llvm::isa<clang::ParmVarDecl>(v)) return "it is a copy of an array: let the parameter be a reference";
  if (!v->hasLocalStorage()) return "it is no local variable: a pgas::array belongs to a PE's program";
  if (const auto* row = source_.context().getAsConstantArrayType(type)) {
    const auto* given = llvm::dyn_cast_or_null<clang::InitListExpr>(v->getInit());
    if (row->getElementType()->isArrayType()) return "its elements are arrays";
    return given && given->getNumInits() != 0 ? "it has initial values: assign them in a loop" : "";
  }
  if (type->isArrayType()) return "its size is no constant";
  const auto after = source_.bytes({v->getLocation(), v->getLocation()}).second;
  const auto* made = v->getInit() ? llvm::dyn_cast<clang::CXXConstructExpr>(v->getInit()->IgnoreImplicit()) : nullptr;
  const bool sized = made && made->getNumArgs() > 0 && made->getArg(0)->getType()->isIntegerType();
  if (!sized || source_.text().compare(after, 1, "(") != 0)
    return "it is not made by its size: `std::vector<T> name(size)` or `name(size, value)`";
  return "";
}

/// `std::vector<long> h(n, 1)` becomes `pgas::array<long> h(me, n, 1)`, `long h[100]` becomes `pgas::array<long> h(me,
/// 100)`, and a parameter `std::vector<long>& h` becomes `pgas::array<long>& h`.
void plans::change_declaration(const distributed_array& array, edits& into) {
  const auto* v = declared_.at(&array);
  const auto& [pe, prefix] = homes_.at(&array);
  const auto type =
      prefix + "array<" + element_name(array) + (array.layout.empty() ? "" : ", " + prefix + array.layout) + ">";
  auto written = v->getTypeSourceInfo()->getTypeLoc();
  if (const auto reference = written.getAs<clang::ReferenceTypeLoc>()) {
    const auto [begin, end] = source_.bytes(reference.getPointeeLoc().getSourceRange());
    return into.replace(begin, end, type);
  }
  const auto begin = source_.bytes(v->getSourceRange()).first;
  const auto name = source_.bytes({v->getLocation(), v->getLocation()});
  const auto end = source_.bytes(v->getSourceRange()).second;
  if (const auto row = written.getAs<clang::ArrayTypeLoc>()) {
    const auto size = source_.letters(row.getSizeExpr()->getSourceRange());
    into.replace(begin, end, type + ' ' + v->getNameAsString() + '(' + pe + ", " + size + ')');
    return;
  }
  into.replace(begin, name.first, type + ' ');
  into.insert(name.second + 1, pe + ", ");
}

}  // namespace shunt::translate
