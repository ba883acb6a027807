/// A part is read before finish(), while messages that change it are under way: what is read is whatever has arrived.
///
/// Looked at: actors that a function makes of symmetric objects, as local variables, with the objects' variables in
/// view, and variables whose class has process(); sends and requests that it makes itself; and what it reads
/// afterwards, on some path, without finish(), quiesce() or ending() between. The lambda that is sent must change the
/// piece that is read: member by member, so that a handler which changes `next` does not concern a read of `now`. What
/// counts as a read: a value, a copy, an iterator's begin(), a collective call of it, a comparison.
///
/// Limits, each for the sake of no false alarm:
///   - A loop that sends is not followed around: in its next round a read may be meant to see what has come so far, as
///     in searches that improve distances. A read behind the send in the same round is reported.
///   - Indices are not compared. Where messages change other items of one member than those that are read, the finding
///     is wrong: give the two a member each.
///   - Functions of the user's that are given a part, and member functions of parts, read what they read unseen.
///   - An actor that is handed on, or is a member, is not followed.
///   - Of a class with process(), whose members are the part, a message counts that is surely processed by one of its
///     functions: by the only one, or by the only one that takes its type, or its mailbox. What that sends on does not.
#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <array>
#include <map>

#include "check_accesses.hpp"
#include "check_flow.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::checks {

namespace {

/// A piece that a message under way changes.
struct change {
  actor_key actor;
  piece what;
  const clang::CallExpr* by;
  std::set<std::size_t> rounds;  ///< loops that it went around; in them it is not reported

  friend bool operator==(const change& a, const change& b) {
    return a.by == b.by && a.what.root == b.what.root && a.what.members == b.what.members && a.rounds == b.rounds;
  }
};
using state = std::vector<change>;

/// An initializer without what surrounds it.
const clang::Expr* whole_value(const clang::Expr* e) {
  for (const clang::Expr* before = nullptr; e && e != before;) {
    before = e;
    e = e->IgnoreParenImpCasts();
    if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(e)) e = cleanups->getSubExpr();
    if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(e)) e = bound->getSubExpr();
    if (const auto* cast = llvm::dyn_cast<clang::CXXFunctionalCastExpr>(e)) e = cast->getSubExpr();
  }
  return e;
}

/// The symmetric objects that an actor is made of, in order; empty if they are not in view.
std::vector<const clang::VarDecl*> parts_of(const clang::VarDecl* actor) {
  std::vector<const clang::VarDecl*> all;
  const auto* made = whole_value(actor->getInit());
  const auto add = [&all](const clang::Expr* argument) {
    if (is_a(argument->getType(), "pgas::symmetric")) all.push_back(original(variable(argument)));
  };
  if (const auto* call = llvm::dyn_cast_or_null<clang::CallExpr>(made)) {
    const auto* callee = call->getDirectCallee();
    if (!callee || library_name(callee) != "pgas::make_selector") return {};
    std::for_each(call->arg_begin(), call->arg_end(), add);
  } else if (const auto* built = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(made)) {
    std::for_each(built->arg_begin(), built->arg_end(), add);
  }
  return std::ranges::find(all, nullptr) == all.end() ? all : std::vector<const clang::VarDecl*>();
}

/// Of `pgas::mailbox_index<3>`: 3.
mailbox_number number_of(clang::QualType index) {
  const auto* type = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(class_of(index));
  if (!type || type->getTemplateArgs().size() == 0) return {};
  const auto& number = type->getTemplateArgs()[0];
  if (number.getKind() != clang::TemplateArgument::Integral) return {};
  return number.getAsIntegral().getZExtValue();
}

/// A member of an actor whose messages are values: the part is the actor itself.
bool is_of_class_actor(const piece& p) {
  return p.root && !p.members.empty() && is_a(p.root->getType(), "pgas::selector");
}

/// The functions of a class that the message runs: process(), and replied() for a request. None where several could be
/// meant.
std::vector<const clang::FunctionDecl*> processing(const clang::CXXRecordDecl* type, const sending& s) {
  const auto* callee = s.call->getDirectCallee();
  const unsigned which = s.name == "send_through" ? 2 : 1;
  if (!type || !callee || callee->getNumParams() <= which) return {};
  const auto message = callee->getParamDecl(which)->getType().getNonReferenceType();
  std::vector<const clang::FunctionDecl*> named, fitting, replies;
  for (const auto* method : type->methods()) {
    const auto* name = method->getIdentifier();
    if (name && name->isStr("replied")) replies.push_back(method);
    if (!name || !name->isStr("process")) continue;
    named.push_back(method);
    const bool by_number =
        method->getNumParams() > 1 && is_a(method->getParamDecl(0)->getType(), "pgas::mailbox_index");
    const unsigned at = by_number ? 1 : 0;
    if (method->getNumParams() > at && same_type(method->getParamDecl(at)->getType().getNonReferenceType(), message) &&
        (!by_number || s.mailbox == number_of(method->getParamDecl(0)->getType())))
      fitting.push_back(method);
  }
  auto all = named.size() == 1 ? named : fitting;
  if (all.size() != 1) all.clear();
  if (s.name == "ask" && replies.size() == 1) all.push_back(replies[0]);
  return all;
}

/// The piece that an expression reads when it is evaluated.
class reader {
 public:
  static std::vector<piece> of(const clang::Stmt* s) {
    reader r;
    if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(s)) {
      if (cast->getCastKind() == clang::CK_LValueToRValue) r.note(cast->getSubExpr());
    } else if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(s)) {
      if (made->getConstructor()->isCopyConstructor() && made->getNumArgs() > 0) r.note(made->getArg(0));
    } else if (const auto* call = llvm::dyn_cast<clang::CallExpr>(s); call && call->getDirectCallee()) {
      r.look_at_call(call, call->getDirectCallee());
    }
    return std::move(r.all_);
  }

 private:
  void note(const clang::Expr* e) {
    auto p = piece_of(e);
    if (p && (p->of_part || is_of_class_actor(*p))) all_.push_back(std::move(*p));
  }
  void look_at_call(const clang::CallExpr* call, const clang::FunctionDecl* callee) {
    constexpr auto iterating =
        std::to_array<std::string_view>({"begin", "cbegin", "rbegin", "data", "find", "count", "contains"});
    const auto name = full_name(callee);
    const bool standard = name.starts_with("std::");
    if (const auto* object = object_of(call);
        object && standard && callee->getDeclName().isIdentifier() &&
        std::ranges::find(iterating, std::string_view(callee->getName())) != iterating.end()) {
      note(object);
    }
    const auto* op = llvm::dyn_cast<clang::CXXOperatorCallExpr>(call);
    const bool whole = name.starts_with("shunt::pgas::pe::") || (op && op->isComparisonOp());
    if (whole && op && object_of(call)) note(object_of(call));
    const auto all = arguments_of(call);
    for (unsigned i = 0; i < all.size() && i < callee->getNumParams(); ++i) {
      const auto type = callee->getParamDecl(i)->getType();
      const bool to_const = type->isReferenceType() && type.getNonReferenceType().isConstQualified();
      if (to_const && (whole || type.getNonReferenceType()->isScalarType())) note(all[i]);
    }
  }

  std::vector<piece> all_;
};

class read_before_finish {
 public:
  read_before_finish(program& p, const flow& f) : program_(p), flow_(f), ends_(f.blocks().size()) {}

  void look() {
    while (walk(false)) continue;
    walk(true);
  }

 private:
  /// \param says  whether to report. \return whether more is known of some block's end than before
  bool walk(bool says) {
    says_ = says;
    bool is_more = false;
    for (std::size_t i = 0; i != ends_.size(); ++i) {
      here_ = &flow_.blocks()[i];
      state now;
      for (const auto before : here_->from) add(now, ends_[before]);
      for (const auto before : here_->back) {
        auto round = ends_[before];
        for (auto& one : round) one.rounds.insert(i);
        add(now, round);
      }
      for (const auto& e : here_->events) apply(now, e);
      is_more |= now.size() != ends_[i].size();
      ends_[i] = std::move(now);
    }
    return is_more;
  }

  static void add(state& now, const state& more) {
    for (const auto& one : more) {
      if (std::ranges::find(now, one) == now.end()) now.push_back(one);
    }
  }

  void apply(state& now, const event& e) const {
    switch (e.what) {
      case event::sent: add(now, sent(e)); return;
      case event::finished:
      case event::ended:
      case event::lost: std::erase_if(now, [&e](const change& one) { return one.actor == e.actor; }); return;
      case event::all_lost: now.clear(); return;
      case event::done: return;
      case event::evaluated:
        if (says_ && !now.empty()) look_at(now, e.at);
        return;
    }
  }

  /// What a message changes, of the parts that are in view.
  [[nodiscard]] state sent(const event& e) const {
    const auto* actor = llvm::dyn_cast<clang::VarDecl>(e.actor);
    if (!actor) return {};
    if (is_a(actor->getType(), "pgas::selector")) return sent_to_class(e, actor);
    const auto parts = parts_of(actor);
    state all;
    for (const auto* function : {e.message->work, e.message->reply}) {
      if (!function) continue;
      for (const auto* f : call_operators(class_of(bare(function)->getType()))) {
        for (auto& what : changes_of(program_, f)) {
          if (!what.of_part && !name_part(what, parts)) continue;
          all.push_back({e.actor, std::move(what), e.message->call, {}});
        }
      }
    }
    return all;
  }
  /// A message that is a value changes members of the actor, which is the part.
  [[nodiscard]] state sent_to_class(const event& e, const clang::VarDecl* actor) const {
    state all;
    for (const auto* f : processing(class_of(actor->getType()), *e.message)) {
      for (auto& what : changes_of(program_, f)) {
        if (what.root || what.members.empty()) continue;
        what.root = actor->getCanonicalDecl();
        all.push_back({e.actor, std::move(what), e.message->call, {}});
      }
    }
    return all;
  }
  /// A handler's parameter is a part.
  static bool name_part(piece& p, const std::vector<const clang::VarDecl*>& parts) {
    const auto* parameter = llvm::dyn_cast_or_null<clang::ParmVarDecl>(p.root);
    if (!parameter || parameter->getFunctionScopeIndex() >= parts.size()) return false;
    p.root = parts[parameter->getFunctionScopeIndex()]->getCanonicalDecl();
    p.of_part = true;
    return true;
  }

  void look_at(const state& now, const clang::Stmt* s) const {
    for (const auto& read : reader::of(s)) {
      const auto at = std::ranges::find_if(now, [&](const change& one) {
        return one.what.root == read.root && overlap(one.what, read) && !lies_in(*here_, one.rounds);
      });
      if (at == now.end()) continue;
      const auto name = read.root->getNameAsString();
      program_.say(
          "reads", llvm::cast<clang::Expr>(s)->getExprLoc(),
          (read.of_part ? "this PE's part of `" + name : "`" + name + "." + read.members.front()->getNameAsString()) +
              "` is read before finish(), while messages of line " +
              std::to_string(program_.line(at->by->getExprLoc())) + " change it: call finish() before");
    }
  }

  program& program_;
  const flow& flow_;
  std::vector<state> ends_;  // of the blocks
  const flow::block* here_ = nullptr;
  bool says_ = false;
};

}  // namespace

void check_reads(program& p) {
  each_flow(p, [&p](const flow& f) { read_before_finish(p, f).look(); });
}

}  // namespace shunt::translate::checks
