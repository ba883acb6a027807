#include "inspector.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>

#include "loop_text.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// The variables that the head of a `for` declares.
std::set<const clang::VarDecl*> declared_by(const Stmt* init) {
  std::set<const clang::VarDecl*> all;
  if (const auto* declared = clang::dyn_cast_or_null<clang::DeclStmt>(init)) {
    for (const auto* d : declared->decls())
      if (const auto* v = dyn_cast<clang::VarDecl>(d)) all.insert(v);
  }
  return all;
}

std::string name_of(const clang::VarDecl* v) {
  const auto name = v->getNameAsString();
  return name.empty() ? "a structured binding" : '`' + name + '`';
}

}  // namespace

inspector::inspector(const source& s, const Stmt* loop, const accesses& all,
                     const std::set<const clang::VarDecl*>& escaped, std::string unit,
                     const std::set<const clang::VarDecl*>* fresh)
    : source_(s),
      loop_(loop),
      all_(all),
      bodies_(s, loop, effects::scope::bodies, escaped, fresh),
      unit_(std::move(unit)) {
  judge();
}

/// Looks at the loop, and says what the first problem is.
void inspector::judge() {
  for (const auto& r : all_.reads) {
    if (r.conditional)
      return refuse(r.whole->getBeginLoc(), "an element is read behind &&, || or ?: and perhaps not at all");
    if (r.array->element->isBooleanType())
      return refuse(r.whole->getBeginLoc(), "elements of type bool are not gathered: use char");
    if (!r.pe && !r.index->getType()->isIntegerType()) return refuse(r.index->getBeginLoc(), "the index is no integer");
  }
  look_at(loop_);
  keep_declarations();
  for (const auto* e : kept_) {
    if (problem_) return;
    clang::SourceLocation at = e->getBeginLoc();
    if (const auto* expression = dyn_cast<Expr>(e)) {
      if (const auto why = impurity(expression, &at); !why.empty())
        return refuse(at, "which element is read cannot be computed beforehand: " + why);
    }
    if (!reads_in(e).empty())
      return refuse(e->getBeginLoc(), "which element is read depends on an element of a distributed array");
    if (const auto* v = bodies_.changed_of(e))
      return refuse(e->getBeginLoc(), "which element is read depends on " + name_of(v) +
                                          ", which the loop may change: let it be a local value or vector");
    if (!bodies_.leaves(e))
      return refuse(e->getBeginLoc(),
                    "which element is read depends on a member of this object, which the loop may "
                    "change: let it be a local value");
  }
}

void inspector::refuse(clang::SourceLocation at, std::string reason) {
  if (!problem_) problem_ = refusal{at, std::move(reason)};
}

std::vector<std::size_t> inspector::reads_in(const Stmt* s) const {
  std::vector<std::size_t> found;
  if (!s) return found;
  const auto range = s->getSourceRange();
  if (!source_.is_here(range)) return found;
  const auto [begin, end] = source_.bytes(range);
  for (std::size_t i = 0; i < all_.reads.size(); ++i) {
    const auto [first, last] = source_.bytes(all_.reads[i].whole->getSourceRange());
    if (begin <= first && last <= end) found.push_back(i);
  }
  return found;
}

void inspector::keep(const Stmt* e) {
  if (e) kept_.push_back(e);
}

void inspector::keep_read(std::size_t i) {
  keep(all_.reads[i].index);
  keep(all_.reads[i].pe);
  keep(all_.reads[i].value);
}

void inspector::look_at(const Stmt* s) {
  if (!s || problem_) return;
  if (const auto* declared = dyn_cast<clang::DeclStmt>(s)) {
    for (const auto* d : declared->decls()) {
      const auto* v = dyn_cast<clang::VarDecl>(d);
      if (!v) return refuse(s->getBeginLoc(), "the loop declares a type");
      declared_.emplace(v, declared);
    }
  }
  const auto reads = reads_in(s);
  if (reads.empty() && !isa<clang::CompoundStmt>(s)) return;
  if (!source_.is_here(s->getSourceRange())) return refuse(s->getBeginLoc(), "a part of the loop comes from a macro");
  if (isa<clang::ForStmt, clang::CXXForRangeStmt>(s)) {
    look_at_loop(s);
  } else if (const auto* branch = dyn_cast<clang::IfStmt>(s)) {
    look_at_branch(branch);
  } else if (isa<clang::CompoundStmt>(s)) {
    for (const auto* part : s->children()) look_at(part);
  } else if (isa<Expr, clang::DeclStmt>(s)) {
    for (const auto i : reads) keep_read(i);
  } else {
    refuse(s->getBeginLoc(),
           "elements are read in a statement that is no `for`, no `if` and no expression: how many "
           "is not known before it runs");
  }
}

void inspector::look_at_loop(const Stmt* s) {
  if (const auto* loop = dyn_cast<clang::ForStmt>(s)) return look_at_for(loop);
  const auto* range = clang::cast<clang::CXXForRangeStmt>(s);
  if (range->getInit()) return refuse(s->getBeginLoc(), "a range-based loop with an initializer");
  if (!reads_in(range->getRangeInit()).empty())
    return refuse(s->getBeginLoc(), "the range is read from a distributed array");
  keep(range->getRangeInit());
  look_at(range->getBody());
}

void inspector::look_at_for(const clang::ForStmt* loop) {
  const auto counters = declared_by(loop->getInit());
  if (counters.empty() || !loop->getCond() || loop->getConditionVariable())
    return refuse(loop->getBeginLoc(), "the loop's head does not declare what it counts: it cannot run twice");
  for (const Stmt* part :
       {loop->getInit(), static_cast<const Stmt*>(loop->getCond()), static_cast<const Stmt*>(loop->getInc())}) {
    if (!reads_in(part).empty()) return refuse(part->getBeginLoc(), "the loop's head reads a distributed array");
  }
  if (!counts_own(loop)) return refuse(loop->getBeginLoc(), "the loop's head does more than count");
  if (const auto* by = dyn_cast<clang::BinaryOperator>(loop->getInc()->IgnoreUnlessSpelledInSource()))
    keep(by->getRHS());
  for (const auto* v : counters) {
    if (bodies_.changes(v))
      return refuse(loop->getBeginLoc(), '`' + v->getNameAsString() + "` is also changed inside of the loop");
    if (v->getInit() && v->getParentFunctionOrMethod()) keep(v->getInit());
  }
  keep(loop->getCond());
  look_at(loop->getBody());
}

void inspector::look_at_branch(const clang::IfStmt* branch) {
  if (branch->getInit() || branch->getConditionVariable())
    return refuse(branch->getBeginLoc(), "elements are read in an `if` that declares a variable");
  const auto in_condition = reads_in(branch->getCond());
  const bool inside = !reads_in(branch->getThen()).empty() || !reads_in(branch->getElse()).empty();
  if (!in_condition.empty() && inside)
    return refuse(branch->getBeginLoc(), "whether an element is read depends on an element of a distributed array");
  for (const auto i : in_condition) keep_read(i);
  if (!inside) return;
  keep(branch->getCond());
  look_at(branch->getThen());
  look_at(branch->getElse());
}

/// What the kept expressions need is kept as well.
void inspector::keep_declarations() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    for (const auto* v : variables_of(kept_[i])) {
      const auto found = declared_.find(v);
      if (found == declared_.end() || !kept_declarations_.insert(found->second).second) continue;
      if (!found->second->isSingleDecl() || !source_.is_here(found->second->getSourceRange()))
        return refuse(found->second->getBeginLoc(), "what an index depends on is declared with other variables");
      if (v->getInit()) keep(v->getInit());
    }
  }
}

/// What is collected of a read. In braces a number is not converted by itself.
std::string inspector::place(std::size_t i) const {
  const auto& r = all_.reads[i];
  auto text = source_.letters(r.index->getSourceRange());
  if (!r.pe) return text;
  const auto as = [this](const Expr* e, clang::QualType type, const std::string& name) {
    const auto letters = source_.letters(e->getSourceRange());
    return same_type(e->getType(), type) ? letters : "static_cast<" + name + ">(" + letters + ')';
  };
  text = '{' + text + ", " + as(r.pe, source_.context().IntTy, "int");
  if (r.value) text += ", " + as(r.value, r.array->element, element_name(*r.array));
  return text + (r.counted ? ", 1}" : "}");
}

std::string inspector::emit(const Stmt* s, const std::vector<std::string>& names, const std::string& indent) const {
  if (!s) return {};
  const std::string end = source_.line_end();
  if (const auto* declared = dyn_cast<clang::DeclStmt>(s); declared && kept_declarations_.contains(declared))
    return indent + source_.letters(s->getSourceRange()) + end;
  const auto reads = reads_in(s);
  std::string text;
  if (isa<clang::CompoundStmt>(s)) {
    for (const auto* part : s->children()) {
      if (!isa<clang::CompoundStmt>(part)) {
        text += emit(part, names, indent);
      } else if (const auto inner = emit(part, names, indent + unit_); !inner.empty()) {
        text += indent + "{" + end + inner + indent + "}" + end;  // its names are its own
      }
    }
    return text;
  }
  if (reads.empty()) return {};
  const auto push = [&](std::size_t i) { return indent + names[i] + ".push_back(" + place(i) + ");" + end; };
  const auto head = [&](clang::SourceLocation last) {
    return indent + source_.letters({s->getBeginLoc(), last}) + " {" + end;
  };
  if (const auto* loop = dyn_cast<clang::ForStmt>(s)) {
    return head(loop->getRParenLoc()) + emit(loop->getBody(), names, indent + unit_) + indent + "}" + end;
  }
  if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(s)) {
    return head(range->getRParenLoc()) + emit(range->getBody(), names, indent + unit_) + indent + "}" + end;
  }
  if (const auto* branch = dyn_cast<clang::IfStmt>(s)) {
    for (const auto i : reads_in(branch->getCond())) text += push(i);
    const auto yes = emit(branch->getThen(), names, indent + unit_);
    const auto no = emit(branch->getElse(), names, indent + unit_);
    if (!text.empty() || (yes.empty() && no.empty())) return text;
    text = head(branch->getRParenLoc()) + yes + indent + "}";
    if (!no.empty()) text += " else {" + end + no + indent + "}";
    return text + end;
  }
  for (const auto i : reads) text += push(i);
  return text;
}

/// Whether a variable is used in the indices of reads only.
bool inspector::only_indexes(const clang::VarDecl* v) const {
  bool only = true;
  each_spelled(loop_, [&](const Stmt* part) {
    const auto* e = dyn_cast<Expr>(part);
    if (!e) return true;
    if (std::ranges::any_of(all_.reads, [e](const auto& r) { return r.whole->IgnoreUnlessSpelledInSource() == e; }))
      return false;
    const auto* name = dyn_cast<clang::DeclRefExpr>(e);
    only = only && (!name || name->getDecl() != v);
    return only;
  });
  return only;
}

void inspector::mark_unused(edits& into) const {
  each_spelled(loop_, [&](const Stmt* part) {
    const clang::VarDecl* v = nullptr;
    if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(part)) v = range->getLoopVariable();
    const auto* declared = dyn_cast<clang::DeclStmt>(part);
    if (declared && kept_declarations_.contains(declared)) v = dyn_cast<clang::VarDecl>(declared->getSingleDecl());
    if (v && source_.is_here(v->getSourceRange()) && only_indexes(v))
      into.insert(source_.bytes(v->getSourceRange()).first, "[[maybe_unused]] ");
    return true;
  });
}

std::string inspector::text(const std::vector<std::string>& names, const std::string& indent) const {
  return emit(loop_, names, indent);
}

}  // namespace shunt::translate
