#include "shmem_loops.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/PrettyPrinter.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>

#include "accesses.hpp"
#include "effects.hpp"
#include "inspector.hpp"
#include "loop_text.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// The variable whose element or member lies at an address; null if that cannot be seen.
const clang::VarDecl* root_of_address(const Expr* e) {
  for (e = e ? e->IgnoreParenCasts() : nullptr; e; e = e->IgnoreParenCasts()) {
    if (const auto* v = variable(e)) return v;
    const auto* unary = dyn_cast<clang::UnaryOperator>(e);
    const auto* row = dyn_cast<clang::ArraySubscriptExpr>(e);
    const auto* member = dyn_cast<clang::MemberExpr>(e);
    const auto* sum = dyn_cast<clang::BinaryOperator>(e);
    const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(e);
    if (unary && (unary->getOpcode() == clang::UO_AddrOf || unary->getOpcode() == clang::UO_Deref)) {
      e = unary->getSubExpr();
    } else if (row) {
      e = row->getBase();
    } else if (member) {
      e = member->getBase();
    } else if (sum && sum->isAdditiveOp()) {
      e = sum->getLHS()->getType()->isPointerType() ? sum->getLHS() : sum->getRHS();
    } else if (call && call->getOperator() == clang::OO_Subscript) {
      e = call->getArg(0);
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

/// Elements of the two types may be the same memory: numbers of one size, but for their sign; bytes; and what is no
/// number, since a struct may hold the other one.
bool may_be_one(const clang::ASTContext& context, clang::QualType a, clang::QualType b) {
  if (a.isNull() || b.isNull() || !a->isArithmeticType() || !b->isArithmeticType()) return true;
  if (a->isAnyCharacterType() || b->isAnyCharacterType()) return true;
  return a->isFloatingType() == b->isFloatingType() && context.getTypeSize(a) == context.getTypeSize(b);
}

/// Not of pointers, which may point into one array.
bool is_array_of_numbers(const clang::VarDecl* v) {
  return v->getType()->isArrayType() && v->getASTContext().getBaseElementType(v->getType())->isArithmeticType();
}

/// `x` of `x[i]` and `i`, of pointers, arrays and vectors.
std::pair<const Expr*, const Expr*> subscript_of(const Expr* e) {
  e = e ? e->IgnoreParenImpCasts() : nullptr;
  if (const auto* row = clang::dyn_cast_or_null<clang::ArraySubscriptExpr>(e)) return {row->getBase(), row->getIdx()};
  const auto* call = clang::dyn_cast_or_null<clang::CXXOperatorCallExpr>(e);
  if (!call || call->getOperator() != clang::OO_Subscript ||
      full_name(class_of(call->getArg(0)->getType())) != "std::vector")
    return {};
  return {call->getArg(0), call->getArg(1)};
}

int mentions_in(const Stmt* s, const clang::VarDecl* v) {
  int count = 0;
  each_spelled(s, [&](const Stmt* part) {
    const auto* name = dyn_cast<clang::DeclRefExpr>(part);
    count += name && name->getDecl() == v ? 1 : 0;
    return true;
  });
  return count;
}

/// One that is certainly 1.
bool is_one(const clang::ASTContext& context, const Expr* count) {
  clang::Expr::EvalResult value;
  return count && !count->isValueDependent() && count->EvaluateAsInt(value, context) && value.Val.getInt() == 1;
}

/// The bytes that `put64` and the like say; 0 for others.
unsigned width_of(std::string_view name) {
  const auto at = name.find_first_of("0123456789");
  const bool sized = at != name.npos && (name.substr(0, at).ends_with("put") || name.substr(0, at).ends_with("get"));
  return sized ? static_cast<unsigned>(std::stoi(std::string(name.substr(at)))) / 8 : 0;
}

bool has_comment(std::string_view text) { return text.find("//") != text.npos || text.find("/*") != text.npos; }

/// Whether a line of the text, but its first, is one of the preprocessor's.
bool has_directive(std::string_view text) {
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    const auto first = text.find_first_not_of(" \t", at + 1);
    if (first != text.npos && text[first] == '#') return true;
  }
  return false;
}

/// Whether a part of a call's arguments is itself a call that names an element, or a lambda.
bool asks_itself(std::initializer_list<const Expr*> arguments) {
  bool asks = false;
  for (const auto* argument : arguments) {
    each_spelled(argument, [&asks](const Stmt* part) {
      const auto call = shmem_call_of(part);
      asks = asks || (call && call->kind != shmem_kind::other) || isa<clang::LambdaExpr>(part);
      return !asks;
    });
  }
  return asks;
}

/// What leaves a loop before its end. \param early  `break` and `continue` count, too
const Stmt* leaves_loop(const Stmt* loop, bool early) {
  const Stmt* found = nullptr;
  const std::function<void(const Stmt*, bool)> look = [&](const Stmt* s, bool own) {
    if (found || isa<clang::LambdaExpr>(s)) return;
    if (isa<clang::ReturnStmt, clang::GotoStmt, clang::IndirectGotoStmt, clang::CXXThrowExpr, clang::CXXTryStmt,
            clang::LabelStmt>(s) ||
        (own && early && isa<clang::BreakStmt, clang::ContinueStmt>(s))) {
      found = s;
      return;
    }
    // A loop within that reads nothing may end as it likes.
    bool reads = s == loop || !is_loop(s);
    if (!reads) {
      each_spelled(s, [&reads](const Stmt* part) {
        const auto call = shmem_call_of(part);
        reads = reads || (call && is_read(call->kind));
        return !reads;
      });
    }
    for (const auto* part : spelled_parts(s)) look(part, own && reads);
  };
  look(loop, true);
  return found;
}

}  // namespace

// --- text ------------------------------------------------------------------------------------------------------------

std::optional<std::pair<std::size_t, std::size_t>> shmem_loops::written(const Expr* e) const {
  const auto range = clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(e->getSourceRange()),
                                                     source_.manager(), source_.context().getLangOpts());
  if (range.isInvalid() || !source_.manager().isWrittenInMainFile(range.getBegin())) return {};
  return std::pair<std::size_t, std::size_t>(source_.manager().getFileOffset(range.getBegin()),
                                             source_.manager().getFileOffset(range.getEnd()));
}

std::string shmem_loops::letters(const Expr* e) const {
  const auto [begin, end] = written(e).value_or(std::pair<std::size_t, std::size_t>());
  const auto text = source_.text().substr(begin, end - begin);
  // `a, b` stood in parentheses, which are no part of the expression.
  const auto* comma = dyn_cast<clang::BinaryOperator>(e);
  return comma && comma->isCommaOp() ? '(' + text + ')' : text;
}

std::string shmem_loops::type_name(clang::QualType type) const {
  clang::PrintingPolicy policy(source_.context().getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  return type.getAsString(policy);
}

/// Where a `get` puts the element, as an lvalue.
std::string shmem_loops::target_of(const shmem_call& c) const {
  if (const auto* element = addressed(c.local)) return letters(element);
  return "*(" + letters(c.local) + ')';
}

// --- calls -----------------------------------------------------------------------------------------------------------

namespace {

refusal argument_asks(const shmem_call& c) {
  return {c.call->getBeginLoc(), "an argument of " + c.name + "() asks for an element itself: let a variable have it"};
}

}  // namespace

/// Whether a call can be changed at all.
verdict shmem_loops::must_be_plain(const use& u) const {
  const auto& c = u.what;
  const auto at = c.call->getBeginLoc();
  if (c.element.isNull()) return refusal{at, c.name + "() does not say of which type the element is"};
  const auto* tag = c.element->getAsTagDecl();
  if (tag && !tag->getIdentifier() && !tag->getTypedefNameForAnonDecl())
    return refusal{at, "the type of the elements of " + c.name + "() has no name"};
  for (const auto* part : {c.at, c.pe, c.value, c.local, c.count, c.call->getArg(0)}) {
    if (part && !written(part)) return refusal{at, "a macro writes a part of " + c.name + "()"};
  }
  if (!source_.is_here(c.call->getSourceRange())) return refusal{at, "a macro writes the call of " + c.name + "()"};
  const auto is_element = [&](const Expr* address) {
    auto type = address->IgnoreParenImpCasts()->getType();
    const auto* row = type->getAsArrayTypeUnsafe();
    type = row ? row->getElementType() : type->isPointerType() ? type->getPointeeType() : clang::QualType();
    return !type.isNull() && !type.isVolatileQualified() && same_type(type, c.element);
  };
  if (!is_element(c.at) || (c.local && !is_element(c.local)))
    return refusal{at, "an address is of another type than the elements of " + c.name + "(): write a cast"};
  if (const auto width = width_of(c.name); width != 0 && source_.context().getTypeSize(c.element) != 8u * width)
    return refusal{at, c.name + "() moves elements of another size than those of its addresses"};
  const auto text = source_.letters(c.call->getSourceRange());
  if (has_comment(text))
    return refusal{at, "a comment stands among the arguments of " + c.name + "(): it would be lost"};
  if (has_directive(text)) return refusal{at, "the preprocessor decides what the arguments of " + c.name + "() are"};
  return {};
}

/// `shmem_long_atomic_add(&a[i], v, pe)` becomes `shmem::send(&a[i], pe, [value = v](long& element) { ... })`.
void shmem_loops::send(const use& u) {
  const auto& c = u.what;
  if (const auto no = must_be_plain(u)) return refuse(*no);
  if (c.kind == shmem_kind::put && !is_one(source_.context(), c.count)) return;  // a message already
  if (asks_itself({c.at, c.pe, c.value, c.local})) return refuse(argument_asks(c));

  const auto type = type_name(c.element);
  const Expr* given = c.local ? addressed(c.local) : c.value;
  std::string value = c.kind == shmem_kind::put ? target_of(c) : c.value ? letters(c.value) : "";
  std::string captured;
  const auto* number = given ? dyn_cast<clang::IntegerLiteral>(given->IgnoreParenImpCasts()) : nullptr;
  if (!value.empty() && !(number && c.kind != shmem_kind::put)) {
    const bool same = !given || same_type(given->IgnoreParenImpCasts()->getType(), c.element);
    captured = "value = " + (same ? value : "static_cast<" + type + ">(" + value + ')');
    value = "value";
  }
  const auto does = [&]() -> std::string {
    switch (c.kind) {
      case shmem_kind::increment: return "++element";
      case shmem_kind::add: return "element += " + value;
      case shmem_kind::bit_and: return "element &= " + value;
      case shmem_kind::bit_or: return "element |= " + value;
      case shmem_kind::bit_xor: return "element ^= " + value;
      default: return "element = " + value;
    }
  }();
  const auto name = source_.bytes(c.call->getCallee()->getSourceRange());
  changes_.replace(name.first, name.second, "shmem::send");
  // Behind the address, and its parentheses if it has some.
  changes_.replace(written(c.call->getArg(0))->second, source_.bytes(c.call->getSourceRange()).second - 1,
                   ", " + letters(c.pe) + ", [" + captured + "](" + type + "& element) { " + does + "; }");
}

/// `shmem_long_get_nbi(&target[i], &table[j], 1, pe)` becomes `shmem::ask(&table[j], pe, &target[i])`.
void shmem_loops::ask_later(const use& u) {
  const auto& c = u.what;
  if (const auto no = must_be_plain(u)) return refuse(*no);
  if (!is_one(source_.context(), c.count)) return;  // it asks for all of them, and does not wait
  if (asks_itself({c.at, c.pe, c.local})) return refuse(argument_asks(c));
  const auto [begin, end] = source_.bytes(c.call->getSourceRange());
  changes_.replace(begin, end, "shmem::ask(" + letters(c.at) + ", " + letters(c.pe) + ", " + letters(c.local) + ')');
}

// --- loops -----------------------------------------------------------------------------------------------------------

void shmem_loops::collect(const Stmt* s, const Stmt* loop, bool conditional, std::vector<use>& into) const {
  if (!s) return;
  if (const auto* e = dyn_cast<Expr>(s)) s = e->IgnoreUnlessSpelledInSource();
  if (isa<clang::LambdaExpr>(s)) return;
  if (auto call = shmem_call_of(s)) into.push_back({std::move(*call), conditional, loop});
  bool first = true;
  for (const auto* part : spelled_parts(s)) {
    collect(part, is_loop(s) ? s : loop, conditional || (may_skip(s) && !first), into);
    first = false;
  }
}

void shmem_loops::look_at(const Stmt* body, bool is_template) {
  if (!is_template) {
    around_map around(body);
    auto fresh = fresh_memory(around);
    const function f{body, std::move(around), escaping(body), std::move(fresh)};
    return find_loops(f, body);
  }
  each_spelled(body, [this](const Stmt* s) {
    if (!is_loop(s)) return true;
    bool found = false;
    each_spelled(s, [&found](const Stmt* part) {
      const auto call = shmem_call_of(part);
      const auto* name = dyn_cast<clang::UnresolvedLookupExpr>(part);
      found = found || (call && call->kind != shmem_kind::other) ||
              (name && name->getName().isIdentifier() && name->getName().getAsString().starts_with("shmem_"));
      return !found;
    });
    if (found) refuse({s->getBeginLoc(), "the function is a template, whose types are not known yet"});
    return false;
  });
}

void shmem_loops::find_loops(const function& f, const Stmt* s) {
  if (!s || isa<clang::LambdaExpr>(s)) return;
  if (is_loop(s)) return look_at_loop(f, s);
  for (const auto* part : spelled_parts(s)) find_loops(f, part);
}

void shmem_loops::look_at_loop(const function& f, const Stmt* loop) {
  std::vector<use> all;
  collect(loop, loop, false, all);
  for (const auto& u : all) {
    if (is_one_way(u.what.kind)) send(u);
    if (u.what.kind == shmem_kind::get_later) ask_later(u);
    if (u.what.kind == shmem_kind::waits)
      refuse({u.what.call->getBeginLoc(),
              u.what.name + "() waits for its answer in each round, and stays as it is: what the loop does with the "
                            "answer may become a message by hand"});
  }
  look_at_reads(f, loop, all);
}

/// The largest loop that can be translated, of those that nest.
void shmem_loops::look_at_reads(const function& f, const Stmt* loop, const std::vector<use>& all) {
  std::vector<use> here;
  const bool in_file = source_.is_here(loop->getSourceRange());
  const auto stands_in = [&](const use& u, const Stmt* outer) {
    for (const Stmt* s = u.what.call; s; s = f.around(s))
      if (s == outer) return true;
    return false;
  };
  std::ranges::copy_if(all, std::back_inserter(here), [&](const use& u) { return stands_in(u, loop); });
  const auto reads = [](const use& u) { return is_read(u.what.kind); };
  if (std::ranges::none_of(here, reads)) return;
  verdict no;
  if (!in_file) no = refusal{loop->getBeginLoc(), "a macro writes the loop, or its end"};
  if (!no) no = must_stay_alone(f, loop, here);
  if (!no && stream(f, loop, here)) return;
  if (!no) no = inspect(f, loop, here);
  if (!no) return;
  // The loops within, each for itself; and what stands in none of them is refused.
  std::set<const Stmt*> within;
  bool own = false;
  for (const auto& u : here) {
    if (!reads(u)) continue;
    const Stmt* inner = nullptr;
    for (const Stmt* s = u.loop; s && s != loop; s = f.around(s))
      if (is_loop(s)) inner = s;
    own = own || !inner;
    if (inner && within.insert(inner).second) look_at_reads(f, inner, here);
  }
  if (own) refuse(*no);
}

/// Rules of both ways: what is read is not changed meanwhile, by this loop or by what it waits for.
verdict shmem_loops::must_stay_alone(const function& f, const Stmt* loop, const std::vector<use>& all) const {
  const effects bodies(source_, loop, effects::scope::bodies, f.escaped, &f.fresh);
  const auto& context = source_.context();
  for (const auto& u : all) {
    const auto& c = u.what;
    if (!is_read(c.kind)) continue;
    const auto at = c.call->getBeginLoc();
    if (auto no = must_be_plain(u)) return no;
    if (c.kind == shmem_kind::get && !is_one(context, c.count))
      return refusal{at, c.name +
                             "() moves more than one element in each round, and waits for them: use the call "
                             "that does not wait, and shmem_quiet() behind the loop"};
    const bool changes = c.kind == shmem_kind::fetch_add || c.kind == shmem_kind::fetch_increment;
    if (changes && !reorder_)
      return refusal{at, "which of this PE's own additions by " + c.name +
                             "() an element sees first would no longer be told by the loop's order: --reorder allows "
                             "that"};
    for (const auto& other : all) {
      const bool elsewhere = other.what.kind == shmem_kind::other || other.what.kind == shmem_kind::waits;
      if (!elsewhere || other.what.name == "shmem_my_pe" || other.what.name == "shmem_n_pes") continue;
      return refusal{at, other.what.name + "() stands in the same loop: what is read may depend on it"};
    }
    const auto* root = root_of_address(c.at);
    if (!root) return refusal{at, "which variable has the element that " + c.name + "() reads cannot be seen"};
    if (bodies.changes(root))
      return refusal{at, "the loop may change `" + root->getNameAsString() +
                             "`, of which it reads elements: let what it writes be a local variable, memory of "
                             "malloc() in this function, or a `restrict` parameter"};
    // What is `restrict` no other name changes, but another PE does where a function waits for that.
    if (bodies.may_do_anything())
      return refusal{at, "the loop calls a function that may do more than compute, a barrier perhaps: what " + c.name +
                             "() reads may depend on it"};
    if (changes && mentions_in(loop, root) != 1)
      return refusal{at, "the loop uses `" + root->getNameAsString() + "`, of which it changes elements, elsewhere"};
    for (const auto& other : all) {
      const bool both_read = is_read(other.what.kind) && !changes;
      if (other.what.call == c.call || other.what.kind == shmem_kind::get_later || both_read) continue;
      if (other.what.kind == shmem_kind::other || other.what.kind == shmem_kind::waits) continue;
      const auto* of_other = root_of_address(other.what.at);
      if (of_other && of_other != root && is_array_of_numbers(of_other) && is_array_of_numbers(root))
        continue;  // two arrays
      if (of_other == root || may_be_one(context, other.what.element, c.element))
        return refusal{at, "elements are read by " + c.name + "() and changed by " + other.what.name +
                               "() in one loop, and may be the same"};
    }
  }
  return {};
}

/// `target[i] = shmem_long_g(&table[j], pe);` becomes `shmem::ask(&table[j], pe, &target[i]);`, where nothing else in
/// the loop uses `target`, and each round has an element of its own. \return whether it is so
bool shmem_loops::stream(const function& f, const Stmt* loop, const std::vector<use>& all) {
  struct asked {
    const shmem_call* call;
    const Expr* whole;   // the statement
    const Expr* target;  // target[i]
  };
  std::vector<asked> reads;
  const auto* counted = dyn_cast<clang::ForStmt>(loop);
  if (!counted || has_directive(source_.letters(loop->getSourceRange()))) return false;
  const effects bodies(source_, loop, effects::scope::bodies, f.escaped, &f.fresh);
  for (const auto& u : all) {
    const auto& c = u.what;
    if (!is_read(c.kind)) continue;
    if (u.loop != loop || (c.kind != shmem_kind::read && c.kind != shmem_kind::get)) return false;
    const Stmt* whole = c.call;
    const Expr* target = addressed(c.local);
    if (c.kind == shmem_kind::read) {
      const Stmt* s = f.around(c.call);
      while (s && isa<clang::ImplicitCastExpr, clang::ParenExpr>(s)) s = f.around(s);
      const auto* assignment = clang::dyn_cast_or_null<clang::BinaryOperator>(s);
      if (!assignment || assignment->getOpcode() != clang::BO_Assign ||
          assignment->getRHS()->IgnoreParenImpCasts() != c.call)
        return false;
      whole = assignment, target = assignment->getLHS();
    }
    const Stmt* statement = whole;
    if (clang::isa_and_nonnull<clang::ExprWithCleanups>(f.around(whole))) statement = f.around(whole);
    const auto* user = f.around(statement);
    const auto* branch = clang::dyn_cast_or_null<clang::IfStmt>(user);
    const bool is_statement = counted->getBody() == statement || clang::isa_and_nonnull<clang::CompoundStmt>(user) ||
                              (branch && branch->getCond() != statement);
    const auto [base, index] = subscript_of(target);
    const auto* v = base ? variable(base) : nullptr;
    if (!is_statement || !v || !written(target) || !bodies.is_private(v) || mentions_in(loop, v) != 1 ||
        !same_type(target->getType(), c.element) || !source_.is_here(whole->getSourceRange()) ||
        has_comment(source_.letters(whole->getSourceRange())) ||
        !index_differs(source_, loop, index, f.escaped, &f.fresh))
      return false;
    const auto [begin, end] = source_.bytes(loop->getSourceRange());
    if (!source_.is_here(v->getLocation()) ||
        (source_.bytes(v->getLocation()).first >= begin && source_.bytes(v->getLocation()).first < end))
      return false;  // it is gone before the answer comes
    reads.push_back({&c, clang::cast<Expr>(whole), target});
  }
  if (leaves_loop(loop, false)) return false;
  for (const auto& r : reads) {
    const auto [begin, end] = source_.bytes(r.whole->getSourceRange());
    changes_.replace(
        begin, end, "shmem::ask(" + letters(r.call->at) + ", " + letters(r.call->pe) + ", &" + letters(r.target) + ')');
  }
  wait_behind(f, loop);
  return true;
}

/// `shmem::answered();` behind a loop, unless a barrier or shmem_quiet() follows, which waits for answers, too.
void shmem_loops::wait_behind(const function& f, const Stmt* loop) {
  const auto* block = clang::dyn_cast_or_null<clang::CompoundStmt>(f.around(loop));
  if (block) {
    const auto at = std::find(block->body_begin(), block->body_end(), loop);
    const auto* next = std::next(at) == block->body_end() ? nullptr : *std::next(at);
    const auto call = shmem_call_of(next);
    if (call && (call->name == "shmem_barrier_all" || call->name == "shmem_quiet")) return;
  }
  const auto [begin, last] = source_.bytes(loop->getSourceRange());
  const auto own = source_.indent_at(begin);
  const std::string line = source_.line_end();
  const auto end = end_of(source_, loop);
  if (block) return changes_.insert(end, line + own + "shmem::answered();");
  const auto step = indent_unit(source_, loop);
  edits moved;
  shift_lines(source_, loop, moved, step);
  changes_.insert(begin, "{" + line + own + step);
  changes_.add_outside(moved);
  changes_.insert(end, line + own + step + "shmem::answered();" + line + own + "}");
}

/// The loop becomes two: inspector.hpp.
verdict shmem_loops::inspect(const function& f, const Stmt* loop, const std::vector<use>& all) {
  if (const auto* leaves = leaves_loop(loop, true))
    return refusal{leaves->getBeginLoc(),
                   "the loop ends or goes on early: how many elements it reads is not known before "
                   "it runs"};
  if (has_directive(source_.letters(loop->getSourceRange())))
    return refusal{loop->getBeginLoc(), "the preprocessor decides what stands in it"};
  accesses found;
  std::vector<const shmem_call*> calls;
  for (const auto& u : all) {
    const auto& c = u.what;
    if (!is_read(c.kind)) continue;
    if (c.kind == shmem_kind::get && isa<Expr>(f.around(c.call)) && !isa<clang::ExprWithCleanups>(f.around(c.call)))
      return refusal{c.call->getBeginLoc(), c.name + "() stands in an expression"};
    if (asks_itself({c.local})) return argument_asks(c);
    for (const auto* part : {c.at, c.pe, c.value}) {
      if (part && !source_.is_here(part->getSourceRange()))
        return refusal{part->getBeginLoc(), "a macro writes a part of " + c.name + "()"};
    }
    places_.push_back({root_of_address(c.at), c.element, false, {}});
    found.reads.push_back(
        {&places_.back(), c.at, c.call, u.conditional, c.pe, c.value, c.kind == shmem_kind::fetch_increment});
    calls.push_back(&c);
  }
  const auto step = indent_unit(source_, loop);
  const inspector collecting(source_, loop, found, f.escaped, step, &f.fresh);
  if (collecting.problem()) return collecting.problem();

  const auto begin = source_.bytes(loop->getSourceRange()).first, last = end_of(source_, loop);
  const auto own = source_.indent_at(begin), inner = own + step;
  const std::string line = source_.line_end();
  std::vector<std::string> names;
  std::string before, gathers;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const auto& c = *calls[k];
    const auto name = found.reads[k].array->name->getNameAsString() + (k == 0 ? "" : '_' + std::to_string(k + 1));
    const auto values = fresh_name(source_, "values_of_" + name), next = fresh_name(source_, "next_of_" + name);
    names.push_back(fresh_name(source_, "places_of_" + name));
    const bool adds = c.kind == shmem_kind::fetch_add || c.kind == shmem_kind::fetch_increment;
    auto pointee = c.at->IgnoreParenImpCasts()->getType();
    pointee =
        pointee->getAsArrayTypeUnsafe() ? pointee->getAsArrayTypeUnsafe()->getElementType() : pointee->getPointeeType();
    const auto type = (pointee.isConstQualified() ? "const " : "") + type_name(c.element);
    before +=
        inner + "std::vector<shmem::" + (adds ? "addition<" : "element<") + type + ">> " + names.back() + ";" + line;
    gathers +=
        inner + "const auto " + values + " = shmem::" + (adds ? "fetch_add(" : "values(") + names.back() + ");" + line;
    gathers += inner + "std::size_t " + next + " = 0;" + line;
    const auto [from, to] = source_.bytes(c.call->getSourceRange());
    changes_.replace(from, to, (c.kind == shmem_kind::get ? target_of(c) + " = " : "") + values + '[' + next + "++]");
  }
  edits moved;
  shift_lines(source_, loop, moved, step);
  collecting.mark_unused(moved);
  changes_.insert(begin, "{" + line + before + collecting.text(names, inner) + gathers + inner);
  changes_.add_outside(moved);
  changes_.insert(last, line + own + "}");
  return {};
}

}  // namespace shunt::translate
