#include "class_finish.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "vocabulary.hpp"

namespace shunt::translate::class_form {

namespace {

/// What may be true at a place of the program.
struct state {
  bool reached = true;
  bool sent = false;  ///< perhaps without a finish() since
};
state either(state a, state b) { return {a.reached || b.reached, (a.reached && a.sent) || (b.reached && b.sent)}; }

/// Walks through a block in the order in which it runs, loops twice.
class walk {
 public:
  explicit walk(const actor& a) : a_(a) {}

  bool at_end() {
    state now;
    bool begun = false;
    for (const auto* s : a_.scope->body()) {
      if (begun) now = run(s, now);
      begun = begun || s == a_.statement;
    }
    return now.reached && now.sent;
  }

 private:
  struct jumps {
    state breaks{false, false}, continues{false, false};
  };

  state run(const clang::Stmt* s, state in) {
    if (!s) return in;
    if (const auto* b = llvm::dyn_cast<clang::CompoundStmt>(s)) {
      for (const auto* c : b->body()) in = run(c, in);
      return in;
    }
    if (const auto* i = llvm::dyn_cast<clang::IfStmt>(s)) {
      in = effects(i->getCond(), run(i->getConditionVariableDeclStmt(), run(i->getInit(), in)));
      return either(run(i->getThen(), in), run(i->getElse(), in));
    }
    if (const auto* f = llvm::dyn_cast<clang::ForStmt>(s)) {
      return loop(run(f->getInit(), in), f->getCond(), f->getBody(), f->getInc(), f->getCond() != nullptr, false);
    }
    if (const auto* w = llvm::dyn_cast<clang::WhileStmt>(s))
      return loop(in, w->getCond(), w->getBody(), nullptr, true, false);
    if (const auto* d = llvm::dyn_cast<clang::DoStmt>(s))
      return loop(in, d->getCond(), d->getBody(), nullptr, true, true);
    if (const auto* f = llvm::dyn_cast<clang::CXXForRangeStmt>(s)) {
      return loop(effects(f->getRangeInit(), run(f->getInit(), in)), nullptr, f->getBody(), nullptr, true, false);
    }
    if (const auto* w = llvm::dyn_cast<clang::SwitchStmt>(s)) return run_switch(w, in);
    if (const auto* c = llvm::dyn_cast<clang::SwitchCase>(s)) return run(c->getSubStmt(), either(in, switch_in_));
    if (const auto* t = llvm::dyn_cast<clang::CXXTryStmt>(s)) return run_try(t, in);
    if (const auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(s)) return run(attributed->getSubStmt(), in);
    if (llvm::isa<clang::LabelStmt, clang::GotoStmt, clang::IndirectGotoStmt>(s)) {
      throw refusal{s->getBeginLoc(),
                    "where a label or a goto leads is not followed, and a class must be finished "
                    "before it goes: use loops"};
    }
    return run_jump(s, in);
  }

  state run_jump(const clang::Stmt* s, state in) {
    if (llvm::isa<clang::BreakStmt, clang::ContinueStmt>(s)) {
      const bool is_break = llvm::isa<clang::BreakStmt>(s);
      auto* around = around_;
      if (!around) return leave(s, in);  // of a loop in which the actor lives
      auto& to = is_break ? around->breaks : around->continues;
      to = either(to, in);
      return {false, false};
    }
    in = effects(s, in);
    if (llvm::isa<clang::ReturnStmt, clang::CoreturnStmt>(s)) {
      if (!returns_) return leave(s, in);
      *returns_ = either(*returns_, in);  // of a local lambda
      return {false, false};
    }
    const auto* e = llvm::dyn_cast<clang::Expr>(s);
    if (e && llvm::isa<clang::CXXThrowExpr>(e->IgnoreParenImpCasts())) return {false, false};
    return in;
  }

  state leave(const clang::Stmt* s, state in) const {
    if (in.reached && in.sent) {
      throw refusal{s->getBeginLoc(),
                    "the actor is left with messages under way: the destructor of the lambda form "
                    "waits for them, that of a class does not; call finish() before"};
    }
    return {false, false};
  }

  /// \param ends  whether the condition may end it. \param body_first  a do loop
  state loop(state in, const clang::Stmt* condition, const clang::Stmt* body, const clang::Stmt* step, bool ends,
             bool body_first) {
    auto* const outer = around_;
    jumps own;
    around_ = &own;
    state out{false, false};
    for (int round = 0; round < 2; ++round) {
      if (!body_first) {
        in = effects(condition, in);
        if (ends) out = either(out, in);
      }
      state next = effects(step, either(run(body, in), own.continues));
      if (body_first) {
        next = effects(condition, next);
        out = either(out, next);
      }
      in = either(in, next);
    }
    if (!body_first && ends) out = either(out, effects(condition, in));
    around_ = outer;
    return either(out, own.breaks);
  }

  state run_switch(const clang::SwitchStmt* w, state in) {
    in = effects(w->getCond(), run(w->getInit(), in));
    auto* const outer = around_;
    const auto outer_in = switch_in_;
    jumps own;
    around_ = &own, switch_in_ = in;
    const auto out = run(w->getBody(), {false, false});
    around_ = outer, switch_in_ = outer_in;
    if (own.continues.reached && outer) outer->continues = either(outer->continues, own.continues);
    if (own.continues.reached && !outer) leave(w, own.continues);
    return either(either(out, in), own.breaks);  // `in`: no case is chosen
  }

  state run_try(const clang::CXXTryStmt* t, state in) {
    state all = run(t->getTryBlock(), in);
    // A handler may begin after any statement of the block.
    const state thrown{true, in.sent || any_send(t->getTryBlock())};
    for (unsigned i = 0; i < t->getNumHandlers(); ++i)
      all = either(all, run(t->getHandler(i)->getHandlerBlock(), thrown));
    return all;
  }

  // --- expressions ---

  [[nodiscard]] bool sends(const clang::Stmt* s) const {
    return std::ranges::any_of(a_.messages, [s](const message& m) { return !m.within && m.call == s; }) ||
           std::ranges::find(a_.endings, s) != a_.endings.end();
  }
  /// Whether a piece sends, in a lambda too, or names a variable that has such a lambda.
  bool any_send(const clang::Stmt* s) {
    if (!s) return false;
    if (sends(s)) return true;
    const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(s);
    if (named && senders_.contains(named->getDecl())) return true;
    return std::ranges::any_of(s->children(), [this](const clang::Stmt* c) { return any_send(c); });
  }
  /// `a.ending().get()`: waited for at once.
  [[nodiscard]] bool waits_for_end(const clang::Stmt* s) const {
    const auto* call = llvm::dyn_cast<clang::CXXMemberCallExpr>(s);
    if (!call || !call->getMethodDecl() || !call->getMethodDecl()->getIdentifier()) return false;
    const auto name = call->getMethodDecl()->getName();
    if (name != "get" && name != "wait") return false;
    const auto* object = call->getImplicitObjectArgument()->IgnoreParenImpCasts();
    if (const auto* t = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(object)) object = t->getSubExpr();
    if (const auto* t = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(object)) object = t->getSubExpr();
    return std::ranges::find(a_.endings, object) != a_.endings.end();
  }

  state effects(const clang::Stmt* s, state in) {
    if (!s || !in.reached) return in;
    if (llvm::isa<clang::LambdaExpr>(s)) {
      in.sent = in.sent || any_send(s);
      return in;
    }
    if (const auto* d = llvm::dyn_cast<clang::DeclStmt>(s); d && note_senders(d)) return in;
    if (const auto* l = called(s)) return call(l, llvm::cast<clang::CallExpr>(s), in);
    if (const auto* c = llvm::dyn_cast<clang::AbstractConditionalOperator>(s)) {
      in = effects(c->getCond(), in);
      return either(effects(c->getTrueExpr(), in), effects(c->getFalseExpr(), in));
    }
    if (const auto* b = llvm::dyn_cast<clang::BinaryOperator>(s); b && b->isLogicalOp()) {
      in = effects(b->getLHS(), in);
      return either(in, effects(b->getRHS(), in));
    }
    for (const auto* c : s->children()) in = effects(c, in);
    const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(s);
    if (sends(s) || (named && senders_.contains(named->getDecl()))) in.sent = true;
    if (std::ranges::find(a_.finishes, s) != a_.finishes.end() || waits_for_end(s)) in.sent = false;
    return in;
  }
  /// Remembers variables that have a lambda which sends. \return whether the statement only makes such a lambda
  bool note_senders(const clang::DeclStmt* d) {
    for (const auto* one : d->decls()) {
      const auto* v = llvm::dyn_cast<clang::VarDecl>(one);
      if (v && any_send(v->getInit())) senders_.emplace(v, lambda(v->getInit()));
    }
    const auto* v = d->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(d->getSingleDecl()) : nullptr;
    return v && v->getInit() && lambda(v->getInit());
  }

  /// The lambda that a statement calls, if it sends and is a variable's; null otherwise.
  [[nodiscard]] const clang::LambdaExpr* called(const clang::Stmt* s) const {
    const auto* c = llvm::dyn_cast<clang::CallExpr>(s);
    if (!c) return nullptr;
    const bool known = llvm::isa<clang::CXXOperatorCallExpr>(c) && c->getNumArgs() > 0;
    const auto at = senders_.find(variable(known ? c->getArg(0) : c->getCallee()));
    return at == senders_.end() ? nullptr : at->second;
  }
  /// Arguments, and then the body.
  state call(const clang::LambdaExpr* l, const clang::CallExpr* c, state in) {
    for (const auto* argument : c->arguments()) {
      if (!senders_.contains(variable(argument))) in = effects(argument, in);
    }
    state returned{false, false};
    auto* const around = std::exchange(around_, nullptr);
    auto* const returns = std::exchange(returns_, &returned);
    const auto out = run(l->getBody(), in);
    around_ = around, returns_ = returns;
    return either(out, returned);
  }

  const actor& a_;
  jumps* around_ = nullptr;
  state switch_in_{false, false};
  state* returns_ = nullptr;  // in a local lambda
  // Variables that have a lambda which sends: the lambda itself, or null.
  std::map<const clang::Decl*, const clang::LambdaExpr*> senders_;
};

}  // namespace

bool ends_unfinished(const actor& a) { return walk(a).at_end(); }

}  // namespace shunt::translate::class_form
