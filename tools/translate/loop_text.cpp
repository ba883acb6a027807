#include "loop_text.hpp"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/PrettyPrinter.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "inspector.hpp"
#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// The container and the index of `x[i]`, where x is one whose elements lie one behind the other.
struct element {
  const Expr* container = nullptr;
  const Expr* index = nullptr;
};
element element_of(const Expr* e) {
  e = e->IgnoreUnlessSpelledInSource();
  if (const auto* row = dyn_cast<clang::ArraySubscriptExpr>(e)) return {row->getBase(), row->getIdx()};
  const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(e);
  if (!call || call->getOperator() != clang::OO_Subscript) return {};
  static constexpr std::array known{"std::vector", "std::array", "std::span"};
  const auto name = full_name(class_of(call->getArg(0)->getType()));
  if (std::ranges::find(known, name) == known.end()) return {};
  return {call->getArg(0), call->getArg(1)};
}

/// The `h` of `h[i]`.
const Expr* array_of(const Expr* whole) {
  const auto* e = whole->IgnoreUnlessSpelledInSource();
  if (const auto* row = dyn_cast<clang::ArraySubscriptExpr>(e)) return row->getBase()->IgnoreUnlessSpelledInSource();
  return clang::cast<clang::CXXOperatorCallExpr>(e)->getArg(0)->IgnoreUnlessSpelledInSource();
}

/// The only statement of a body.
const Stmt* only(const Stmt* body) {
  const auto* several = dyn_cast<clang::CompoundStmt>(body);
  if (!several) return body;
  return several->size() == 1 ? only(several->body_front()) : nullptr;
}

}  // namespace

std::string element_name(const distributed_array& array) {
  clang::PrintingPolicy policy(array.name->getASTContext().getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  return array.element.getUnqualifiedType().getAsString(policy);
}

loop_text::loop_text(const source& s, const Stmt* loop, const accesses& all,
                     const std::set<const clang::VarDecl*>& escaped, spelling names)
    : source_(s), loop_(loop), all_(all), escaped_(escaped), names_(std::move(names)) {}

std::string indent_unit(const source& s, const Stmt* statement) {
  const auto own = s.indent_at(s.bytes(statement->getSourceRange()).first);
  return own.find('\t') != std::string::npos ? "\t" : "  ";
}

std::string fresh_name(const source& s, const std::string& base) {
  std::string name = base;
  for (int i = 2; s.text().find(name) != std::string::npos; ++i) name = base + '_' + std::to_string(i);
  return name;
}

namespace {

/// The part of a statement with which it ends.
const Stmt* last_of(const Stmt* s) {
  for (;;) {
    if (const auto* loop = dyn_cast<clang::ForStmt>(s))
      s = loop->getBody();
    else if (const auto* range = dyn_cast<clang::CXXForRangeStmt>(s))
      s = range->getBody();
    else if (const auto* w = dyn_cast<clang::WhileStmt>(s))
      s = w->getBody();
    else if (const auto* branch = dyn_cast<clang::IfStmt>(s))
      s = branch->getElse() ? branch->getElse() : branch->getThen();
    else
      return s;
  }
}

}  // namespace

std::size_t end_of(const source& s, const Stmt* statement) {
  const auto last = s.bytes(statement->getSourceRange()).second;
  if (isa<clang::CompoundStmt, clang::DeclStmt, clang::NullStmt, clang::CXXTryStmt>(last_of(statement))) return last;
  const auto next = clang::Lexer::findNextToken(statement->getEndLoc(), s.manager(), s.context().getLangOpts());
  return next && next->is(clang::tok::semi) ? s.bytes({next->getLocation(), next->getLocation()}).second : last;
}

void shift_lines(const source& s, const Stmt* statement, edits& into, const std::string& by) {
  const auto begin = s.bytes(statement->getSourceRange()).first, last = end_of(s, statement);
  const auto text = std::string_view(s.text()).substr(begin, last - begin);
  if (text.find("R\"") != std::string_view::npos || text.find("\\\n") != std::string_view::npos) return;
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    const bool blank = at + 1 >= text.size() || text[at + 1] == '\n' || text[at + 1] == '\r' || text[at + 1] == '#';
    if (!blank) into.insert(begin + at + 1, by);
  }
}

/// `h[i] = h[i] + v` becomes `h[i] += v`: what stands around v is replaced.
void loop_text::spell_changes(edits& into) const {
  for (const auto& c : all_.changes) {
    if (!c.spelled_out) continue;
    const auto* assignment = dyn_cast<clang::BinaryOperator>(c.whole);
    const auto* call = dyn_cast<clang::CXXOperatorCallExpr>(c.whole);
    const auto* target = assignment ? assignment->getLHS() : call->getArg(0);
    const auto* result = (assignment ? assignment->getRHS() : call->getArg(1))->IgnoreUnlessSpelledInSource();
    const auto* operation = dyn_cast<clang::BinaryOperator>(result);
    const auto [begin, end] = source_.bytes(c.value->getSourceRange());
    const auto* name = c.kind == change_kind::least ? ".min(" : ".max(";
    const auto* comma = dyn_cast<clang::BinaryOperator>(c.value);
    const bool in_parentheses = operation && comma && comma->isCommaOp();
    into.replace(source_.bytes(target->getSourceRange()).second, begin,
                 (operation ? ' ' + operation->getOpcodeStr().str() + "= " : name) + (in_parentheses ? "(" : ""));
    into.replace(end, source_.bytes(c.whole->getSourceRange()).second, operation && !in_parentheses ? "" : ")");
  }
}

/// `for (std::size_t i = 0; i < n; ++i) target[i] = table[index[i]];` is one call. \return it; "" for another loop
std::string loop_text::copy_as_gather() const {
  const auto* loop = dyn_cast<clang::ForStmt>(loop_);
  if (!loop || all_.reads.size() != 1 || !all_.changes.empty()) return {};
  const auto letters = source_.letters(loop_->getSourceRange());
  if (letters.find("//") != std::string::npos || letters.find("/*") != std::string::npos) return {};  // they stay
  const auto* head = clang::dyn_cast_or_null<clang::DeclStmt>(loop->getInit());
  const auto* i = head && head->isSingleDecl() ? dyn_cast<clang::VarDecl>(head->getSingleDecl()) : nullptr;
  const auto* zero =
      i && i->getInit() ? dyn_cast<clang::IntegerLiteral>(i->getInit()->IgnoreUnlessSpelledInSource()) : nullptr;
  const auto* step =
      loop->getInc() ? dyn_cast<clang::UnaryOperator>(loop->getInc()->IgnoreUnlessSpelledInSource()) : nullptr;
  const auto* condition =
      loop->getCond() ? dyn_cast<clang::BinaryOperator>(loop->getCond()->IgnoreUnlessSpelledInSource()) : nullptr;
  if (!zero || zero->getValue() != 0 || !step || !step->isIncrementOp() || !condition ||
      (condition->getOpcode() != clang::BO_LT && condition->getOpcode() != clang::BO_NE) ||
      variable(condition->getLHS()) != i)
    return {};
  const auto* body = only(loop->getBody());
  const auto* copy = body && isa<Expr>(body)
                         ? dyn_cast<clang::BinaryOperator>(clang::cast<Expr>(body)->IgnoreUnlessSpelledInSource())
                         : nullptr;
  const auto& r = all_.reads.front();
  if (!copy || copy->getOpcode() != clang::BO_Assign ||
      copy->getRHS()->IgnoreUnlessSpelledInSource() != r.whole->IgnoreUnlessSpelledInSource())
    return {};
  const auto to = element_of(copy->getLHS()), from = element_of(r.index);
  const auto is_plain = [](const element& e) {
    return e.container && variable(e.container) &&
           !e.container->IgnoreUnlessSpelledInSource()->getType()->isPointerType();
  };
  if (!is_plain(to) || !is_plain(from) || variable(to.index) != i || variable(from.index) != i ||
      !same_type(copy->getLHS()->getType(), r.array->element))
    return {};
  const auto count = source_.letters(condition->getRHS()->getSourceRange());
  const auto indices = source_.letters(from.container->getSourceRange());
  const auto target = source_.letters(to.container->getSourceRange());
  const auto size = condition->getRHS()->IgnoreUnlessSpelledInSource()->getType()->isSignedIntegerType()
                        ? "static_cast<std::size_t>(" + count + " < 0 ? 0 : " + count + ')'
                        : count;
  const auto first = [&](const std::string& of) {
    return count == of + ".size()" ? of : "std::span(" + of + ").first(" + size + ')';
  };
  return names_.prefix + "gather(" + source_.letters(array_of(r.whole)->getSourceRange()) + ", " + first(indices) +
         ", " + first(target) + ");";
}

verdict loop_text::write(edits& into) const {
  const auto begin = source_.bytes(loop_->getSourceRange()).first, last = end_of(source_, loop_);
  const std::string own = source_.indent_at(begin), step = indent_unit(source_, loop_), line = source_.line_end();
  const std::string open = names_.prefix + "superstep(" + names_.pe + ", [&] {" + line;
  const bool changes = !all_.changes.empty();
  if (all_.reads.empty()) {
    into.insert(begin, open + own + step);
    shift_lines(source_, loop_, into, step);
    spell_changes(into);
    into.insert(last, line + own + "});");
    return {};
  }

  const inspector collect(source_, loop_, all_, escaped_, step);
  if (collect.problem()) return collect.problem();
  if (const auto gather = copy_as_gather(); !gather.empty()) {
    into.replace(begin, last, gather);
    return {};
  }
  std::vector<std::string> places;
  std::string before, gathers;
  const auto inner = own + step;
  for (std::size_t k = 0; k < all_.reads.size(); ++k) {
    const auto& r = all_.reads[k];
    const auto name = r.array->name->getNameAsString() + (k == 0 ? "" : '_' + std::to_string(k + 1));
    const auto values = fresh_name(source_, "values_of_" + name), next = fresh_name(source_, "next_of_" + name);
    places.push_back(fresh_name(source_, "places_of_" + name));
    const auto array = source_.letters(array_of(r.whole)->getSourceRange());
    before += (k == 0 ? "" : inner) + "std::vector<std::uint64_t> " + places.back() + ";" + line;
    gathers +=
        inner + "std::vector<" + element_name(*r.array) + "> " + values + '(' + places.back() + ".size());" + line;
    gathers += inner + names_.prefix + "gather(" + array + ", " + places.back() + ", " + values + ");" + line;
    gathers += inner + "std::size_t " + next + " = 0;" + line;
    const auto [from, to] = source_.bytes(r.whole->getSourceRange());
    into.replace(from, to, values + '[' + next + "++]");
  }
  into.insert(begin, "{" + line + inner + before + collect.text(places, inner) + gathers + inner +
                         (changes ? open + inner + step : ""));
  collect.mark_unused(into);
  shift_lines(source_, loop_, into, changes ? step + step : step);
  spell_changes(into);
  into.insert(last, (changes ? line + inner + "});" : "") + line + own + "}");
  return {};
}

}  // namespace shunt::translate
