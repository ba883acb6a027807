#include "check_flow.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/Analysis/Analyses/PostOrderCFGView.h>

#include <algorithm>

#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

constexpr int deepest = 4;  // lambdas that capture lambdas

const clang::CXXThisExpr* as_this(const clang::Expr* e) {
  e = e ? bare(e) : nullptr;
  if (const auto* target = llvm::dyn_cast_or_null<clang::UnaryOperator>(e);
      target && target->getOpcode() == clang::UO_Deref)
    e = bare(target->getSubExpr());
  return llvm::dyn_cast_or_null<clang::CXXThisExpr>(e);
}

bool is_of_this(actor_key key) { return llvm::isa<clang::FieldDecl, clang::CXXRecordDecl>(key); }

/// A call of a function of selector_of or selector: its name; "" for others.
std::string actor_call(const clang::CallExpr* call) {
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee());
  if (!method) return {};
  const auto name = library_name(method->getParent());
  if (name != "pgas::selector_of" && name != "pgas::selector") return {};
  return method->getDeclName().isIdentifier() ? method->getName().str() : std::string("operator");
}

}  // namespace

bool is_actor(clang::QualType type) { return is_a(type, "pgas::selector_of") || is_a(type, "pgas::selector"); }

flow::flow(program& p, const body& b) : program_(p), body_(b) {
  bool sends = false;
  each_own(b.code, [&](const clang::Stmt* s) { sends |= sending_of(s).has_value(); });
  if (!sends) return;
  find_aliases(b.code);
  clang::CFG::BuildOptions options;
  options.setAllAlwaysAdd();
  options.AddImplicitDtors = true;
  options.AddInitializers = true;
  graph_ = clang::CFG::buildCFG(b.function, const_cast<clang::Stmt*>(b.code), &p.context(), options);
  if (!graph_) return;
  order_blocks();
  find_loops();
}

actor_key flow::key_of(const clang::VarDecl* v) const {
  if (!is_actor(v->getType())) return nullptr;
  const auto* made = referred_to(v);
  const auto of = made && variable(made) != v ? key_of(made) : nullptr;
  return of ? of : v->getCanonicalDecl();
}

actor_key flow::key_of(const clang::Expr* e) const {
  if (!e) return nullptr;
  const auto* b = bare(e);
  if (const auto* v = variable(b)) return key_of(v);
  if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(b); member && as_this(member->getBase()))
    return is_actor(member->getType()) ? member->getMemberDecl()->getCanonicalDecl() : nullptr;
  const auto* self = as_this(b);
  const auto* type = self ? self->getType()->getPointeeCXXRecordDecl() : nullptr;
  return type && is_a(type, "pgas::selector") ? type->getCanonicalDecl() : nullptr;
}

void flow::find_aliases(const clang::Stmt* code) {
  std::set<const clang::Stmt*> accounted;  // mentions that give it no second name
  const auto account = [&](const clang::Expr* e) {
    if (e) accounted.insert(bare(e));
  };
  each_own(code, [&](const clang::Stmt* s) {
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s)) {
      account(object_of(call));
      for (const auto* a : call->arguments()) account(a);
    } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(s)) {
      account(member->getBase());
    } else if (const auto* made = llvm::dyn_cast<clang::LambdaExpr>(s)) {
      for (const auto* captured : made->capture_inits()) account(captured);
    } else if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(s)) {
      for (const auto* d : declared->decls()) account(referred_to(llvm::dyn_cast<clang::VarDecl>(d)));
    }
    const auto* e = llvm::dyn_cast<clang::Expr>(s);
    if (!e || !llvm::isa<clang::DeclRefExpr, clang::MemberExpr>(e)) return;
    const auto key = key_of(e);
    if (!key) return;
    known_.insert(key);
    if (!accounted.contains(e)) aliased_.insert(key);
  });
}

void flow::order_blocks() {
  std::map<const clang::CFGBlock*, std::size_t> places;
  const clang::PostOrderCFGView forward(graph_.get());
  for (const auto* b : forward) {
    if (b) places.emplace(b, places.size());
  }
  blocks_.resize(places.size());
  for (const auto& [b, place] : places) {
    for (const auto& element : *b) add_events(blocks_[place], element);
    for (const auto& next : b->succs()) {
      const auto at = places.find(next.getReachableBlock());
      if (at == places.end()) continue;
      auto& to = blocks_[at->second];
      (at->second > place ? to.from : to.back).push_back(place);
    }
  }
}

void flow::find_loops() {
  for (std::size_t first = 0; first != blocks_.size(); ++first) {
    std::vector<std::size_t> left = blocks_[first].back;
    if (!left.empty()) blocks_[first].loops.insert(first);
    while (!left.empty()) {
      auto& b = blocks_[left.back()];
      left.pop_back();
      if (!b.loops.insert(first).second) continue;
      left.insert(left.end(), b.from.begin(), b.from.end());
      left.insert(left.end(), b.back.begin(), b.back.end());
    }
  }
}

void each_flow(program& p, const std::function<void(const flow&)>& f) {
  for (const auto& b : p.bodies()) {
    const auto what = p.role_of(b.function);
    if (what != role::handler && what != role::reply) f(flow(p, b));
  }
}

bool lies_in(const flow::block& b, const std::set<std::size_t>& loops) {
  return std::ranges::any_of(loops, [&b](std::size_t loop) { return b.loops.contains(loop); });
}

void flow::add(block& b, event e) {
  if (e.actor && aliased_.contains(e.actor)) return;
  b.events.push_back(std::move(e));
}

void flow::add_events(block& b, const clang::CFGElement& element) {
  if (const auto gone = element.getAs<clang::CFGAutomaticObjDtor>()) {
    const auto* v = gone->getVarDecl();
    if (v && is_actor(v->getType())) add(b, {event::finished, v->getCanonicalDecl(), {}, nullptr, {}});
    return;
  }
  const auto statement = element.getAs<clang::CFGStmt>();
  if (!statement) return;
  const auto* s = statement->getStmt();
  if (const auto* made = llvm::dyn_cast<clang::DeclStmt>(s)) {
    for (const auto* d : made->decls()) {
      const auto* v = llvm::dyn_cast<clang::VarDecl>(d);
      // It begins, unless it is a second name.
      if (v && key_of(v) == v->getCanonicalDecl()) add(b, {event::finished, key_of(v), {}, s, {}});
    }
  } else if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s)) {
    add(b, {event::evaluated, nullptr, {}, s, {}});
    add_call(b, call);
    return;
  } else if (const auto* closure = llvm::dyn_cast<clang::LambdaExpr>(s)) {
    lose_captured(b, closure->getLambdaClass());
  }
  add(b, {event::evaluated, nullptr, {}, s, {}});
}

void flow::add_call(block& b, const clang::CallExpr* call) {
  const auto key = key_of(object_of(call));
  const auto name = actor_call(call);
  if (!name.empty()) {
    if (!key) return;
    if (auto s = sending_of(call)) {
      const auto mailbox = s->mailbox;
      add(b, {event::sent, key, mailbox, call, std::move(s)});
    } else if (name == "done") {
      add(b, {event::done, key, mailbox_of_done(call, program_.context()), call, {}});
    } else if (name == "finish" || name == "quiesce") {
      add(b, {event::finished, key, {}, call, {}});
    } else if (name == "ending") {
      add(b, {event::ended, key, {}, call, {}});
    }
    return;
  }
  if (!call->getDirectCallee() || full_name(call->getDirectCallee()) == "std::function::operator()")
    add(b, {event::all_lost, nullptr, {}, call, {}});
  if (const auto* object = object_of(call)) lose(b, object);
  for (const auto* a : arguments_of(call)) lose(b, a);
}

void flow::lose(block& b, const clang::Expr* handed_on) {
  if (const auto key = key_of(handed_on)) add(b, {event::lost, key, {}, handed_on, {}});
  if (as_this(handed_on)) lose_this(b);
  if (const auto* type = class_of(bare(handed_on)->getType()); type && type->isLambda()) lose_captured(b, type);
}

void flow::lose_this(block& b) {
  for (const auto key : known_) {
    if (is_of_this(key)) add(b, {event::lost, key, {}, nullptr, {}});
  }
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(body_.function))
    add(b, {event::lost, method->getParent()->getCanonicalDecl(), {}, nullptr, {}});
}

void flow::lose_captured(block& b, const clang::CXXRecordDecl* closure, int depth) {
  for (const auto& one : closure->captures()) {
    if (one.capturesThis()) lose_this(b);
    if (!one.capturesVariable()) continue;
    const auto* v = llvm::dyn_cast<clang::VarDecl>(one.getCapturedVar());
    if (!v) continue;
    if (const auto key = key_of(v)) add(b, {event::lost, key, {}, nullptr, {}});
    const auto* inner = class_of(v->getType());
    if (inner && inner->isLambda() && depth < deepest) lose_captured(b, inner, depth + 1);
  }
}

}  // namespace shunt::translate::checks
