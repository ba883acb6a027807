#include "class_find.hpp"

#include <clang/AST/RecursiveASTVisitor.h>

#include <algorithm>
#include <set>

#include "class_text.hpp"
#include "class_types.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::class_form {

namespace {

bool in_main_file(const source& s, const clang::Decl* d) {
  if (llvm::isa<clang::TranslationUnitDecl>(d)) return true;
  const auto at = s.manager().getExpansionLoc(d->getBeginLoc());
  return at.isValid() && s.manager().isWrittenInMainFile(at);
}

/// The value of the template argument that a call spells: `a.send<1>(…)`; 0 for none.
unsigned mailbox_of(const source& s, const clang::CallExpr* call) {
  const auto* callee = call->getCallee()->IgnoreParenImpCasts();
  llvm::ArrayRef<clang::TemplateArgumentLoc> spelled;
  if (const auto* m = llvm::dyn_cast<clang::MemberExpr>(callee)) {
    spelled = m->template_arguments();
  } else if (const auto* o = llvm::dyn_cast<clang::OverloadExpr>(callee)) {
    spelled = o->template_arguments();
  } else if (const auto* d = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(callee)) {
    spelled = d->template_arguments();
  }
  if (spelled.empty()) return 0;
  const auto* value = spelled[0].getArgument().getKind() == clang::TemplateArgument::Expression
                          ? spelled[0].getSourceExpression()
                          : nullptr;
  clang::Expr::EvalResult number;
  if (!value || value->isValueDependent() || !value->EvaluateAsInt(number, s.context()) || spelled.size() > 1) {
    throw refusal{call->getBeginLoc(), "the mailbox is no number that is known here: write its number"};
  }
  return static_cast<unsigned>(number.Val.getInt().getZExtValue());
}

/// Which parameter of a lambda is what. \param extras  0, or 1 where a payload or a reply comes
handler split(const clang::LambdaExpr* l, std::size_t parts, std::size_t extras) {
  handler h;
  h.lambda = l;
  h.parts.resize(parts);
  const auto taken = l->getCallOperator()->parameters();
  for (const auto* p : taken) {
    if (p->isParameterPack() || p->hasDefaultArg()) {
      throw refusal{p->getBeginLoc(),
                    "a parameter pack or a default argument of a handler has no class form: write "
                    "one parameter for each part"};
    }
  }
  if (taken.empty() && extras == 0) return h;
  if (taken.size() != parts + extras && taken.size() != parts + extras + 1) {
    throw refusal{l->getBeginLoc(), "the handler's parameters are not the actor's parts: write one for each part"};
  }
  const auto named = [&](std::size_t i) { return taken[i]->getIdentifier() ? taken[i] : nullptr; };
  for (std::size_t i = 0; i < parts; ++i) h.parts[i] = named(i);
  if (extras == 1) h.extra = taken[parts];
  if (taken.size() > parts + extras) h.here = taken[parts + extras];
  return h;
}

/// Whether a qualifier is `pgas::`, or an alias's of that namespace.
bool names_pgas(const source& s, const std::string& qualifier) {
  if (qualifier == "pgas::" || qualifier.ends_with("::pgas::")) return true;
  if (!qualifier.ends_with("::")) return false;
  const auto& context = s.context();
  const auto name = qualifier.substr(0, qualifier.size() - 2);
  for (const auto* d : context.getTranslationUnitDecl()->lookup(&context.Idents.get(name))) {
    const auto* alias = llvm::dyn_cast<clang::NamespaceAliasDecl>(d);
    if (alias && full_name(alias->getNamespace()) == "shunt::pgas") return true;
  }
  return false;
}

/// The words before a name of the library's in a declaration: "pgas::" of `pgas::actor_of a(table)`.
std::string qualifier_in(const source& s, const std::string& text) {
  std::string qualifier;
  bool found = false, open = false;  // open: behind a `::`
  each_token(text, [&](const token& t) {
    if (found || t.comment) return;
    const auto letters = text.substr(t.begin, t.end - t.begin);
    if (letters == "actor_of" || letters == "selector_of" || letters == "make_selector") {
      found = true;
    } else if (letters == "::") {
      qualifier += letters, open = true;
    } else {
      qualifier = t.identifier ? (open ? qualifier + letters : letters) : "", open = false;
    }
  });
  return found && names_pgas(s, qualifier) ? qualifier : "shunt::pgas::";
}

/// The expressions that an actor is made of.
llvm::ArrayRef<const clang::Expr*> made_of(const clang::Expr* init) {
  const auto as_array = [](const clang::Expr* const* first, unsigned n) { return llvm::ArrayRef(first, n); };
  for (const clang::Expr* before = nullptr; init && init != before;) {
    before = init, init = init->IgnoreParenImpCasts();
    if (const auto* e = llvm::dyn_cast<clang::ExprWithCleanups>(init)) init = e->getSubExpr();
    if (const auto* e = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(init)) init = e->getSubExpr();
    if (const auto* e = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(init)) init = e->getSubExpr();
    if (const auto* e = llvm::dyn_cast<clang::CXXFunctionalCastExpr>(init)) init = e->getSubExpr();
  }
  if (const auto* c = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(init))
    return as_array(c->getArgs(), c->getNumArgs());
  if (const auto* c = llvm::dyn_cast_or_null<clang::CallExpr>(init)) {
    const auto* f = c->getDirectCallee();
    if (f && full_name(f) == "shunt::pgas::make_selector") return as_array(c->getArgs(), c->getNumArgs());
  }
  return {};
}

class finder final : public clang::RecursiveASTVisitor<finder> {
  using base = clang::RecursiveASTVisitor<finder>;

 public:
  explicit finder(const source& s) : s_(s), made_(s), types_(s, made_) {}
  // Patterns are what is written; what templates make of them has the same letters.
  [[nodiscard]] bool shouldVisitTemplateInstantiations() const { return false; }
  [[nodiscard]] bool shouldVisitImplicitCode() const { return false; }

  found_actors result() {
    TraverseDecl(s_.context().getTranslationUnitDecl());
    return {std::move(actors_), std::move(others_)};
  }

  bool TraverseDecl(clang::Decl* d) {
    if (!d) return true;
    if (!in_main_file(s_, d)) return true;
    const bool outermost = !outer_ && llvm::isa<clang::FunctionDecl, clang::VarDecl>(d);
    if (outermost) outer_ = llvm::cast<clang::NamedDecl>(d);
    const bool more = base::TraverseDecl(d);
    if (outermost) outer_ = nullptr;
    return more;
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* l) {
    const bool handles = handlers_.contains(l);
    const bool copies = !handles && !within_.empty() && l->getCaptureDefault() == clang::LCD_ByCopy;
    if (handles) within_.push_back(l);
    copying_ += copies;
    const bool more = base::TraverseLambdaExpr(l);
    copying_ -= copies;
    if (handles) within_.pop_back();
    return more;
  }
  /// A local lambda may have the actor by reference; a handler may not.
  bool TraverseLambdaCapture(clang::LambdaExpr* l, const clang::LambdaCapture* c, clang::Expr* init) {
    if (l->isInitCapture(c) || !c->capturesVariable()) return base::TraverseLambdaCapture(l, c, init);
    auto* a = known(c->getCapturedVar());
    if (!a || handlers_.contains(l)) return base::TraverseLambdaCapture(l, c, init);
    return true;
  }

  bool VisitCompoundStmt(clang::CompoundStmt* block) {
    for (const auto* s : block->body()) {
      if (const auto* d = llvm::dyn_cast<clang::DeclStmt>(s))
        blocks_[d->isSingleDecl() ? d->getSingleDecl() : nullptr] = {block, d};
    }
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* v) {
    const auto* type = class_of(v->getType());
    const auto* unknown = v->getType()->getAs<clang::DeducedTemplateSpecializationType>();
    const bool deduced_later = unknown && !unknown->isDeduced() &&
                               full_name(unknown->getTemplateName().getAsTemplateDecl()) == "shunt::pgas::actor_of";
    if (deduced_later || made_by_dependent_call(v)) {
      others_.push_back({v->getLocation(), "the parts of `" + v->getNameAsString() +
                                               "` depend on a template parameter, which a class before the function "
                                               "does not know: the actor stays as it is"});
    } else if (is_a(type, "pgas::selector_of")) {
      add(v, type);
    }
    return true;
  }
  bool VisitFieldDecl(clang::FieldDecl* f) {
    if (!is_a(f->getType(), "pgas::selector_of")) return true;
    others_.push_back({f->getLocation(), "`" + f->getNameAsString() +
                                             "` is a member of a class: only an actor that is a local variable becomes "
                                             "a class of its own"});
    return true;
  }

  bool VisitCallExpr(clang::CallExpr* call) {
    const auto m = call_of(call);
    if (!m) return true;
    const auto* named = llvm::dyn_cast_or_null<clang::DeclRefExpr>(bare(m->object));
    if (!named) return true;
    try {
      if (auto* a = known(named->getDecl())) {
        handled_.insert(named);
        use(*a, *m);
      } else if (const auto h = heres_.find(named->getDecl()); h != heres_.end()) {
        handled_.insert(named);
        use_here(h->second.first, h->second.second, *m);
      }
    } catch (const refusal& r) {
      if (auto* a = known(named->getDecl())) {
        a->refusals.push_back(r);
      } else {
        actors_[heres_.at(named->getDecl()).first].refusals.push_back(r);
      }
    }
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* named) {
    if (handled_.contains(named)) return true;
    const auto name = "`" + named->getDecl()->getNameAsString() + "`";
    if (auto* a = known(named->getDecl())) {
      a->refusals.push_back({named->getBeginLoc(), name + " is used otherwise than by its member functions, and then "
                                                          "its type matters: the actor stays as it is"});
    } else if (const auto h = heres_.find(named->getDecl()); h != heres_.end()) {
      actors_[h->second.first].refusals.push_back(
          {named->getBeginLoc(),
           name + " is passed on, and a class has nothing like it: send from the handler itself"});
    }
    return true;
  }

 private:
  actor* known(const clang::ValueDecl* v) {
    const auto at = std::ranges::find(actors_, v, [](const actor& a) -> const clang::ValueDecl* { return a.variable; });
    return at == actors_.end() ? nullptr : &*at;
  }

  static bool made_by_dependent_call(const clang::VarDecl* v) {
    const auto* call = v->getInit() ? llvm::dyn_cast<clang::CallExpr>(v->getInit()->IgnoreParenImpCasts()) : nullptr;
    const auto* several =
        call ? llvm::dyn_cast<clang::OverloadExpr>(call->getCallee()->IgnoreParenImpCasts()) : nullptr;
    return several && several->getNumDecls() > 0 && full_name(*several->decls_begin()) == "shunt::pgas::make_selector";
  }

  /// Why a variable that is an actor cannot become a class; "" if it may.
  static std::string unfit(const clang::VarDecl* v, const clang::CXXRecordDecl* type, bool declared_alone) {
    const auto name = full_name(type);
    if (v->getType()->isReferenceType() || llvm::isa<clang::ParmVarDecl>(v)) return "refers to an actor made elsewhere";
    if (!v->isLocalVarDecl() || v->isStaticLocal()) return "is no local variable";
    if (name != "shunt::pgas::actor_of" && name != "shunt::pgas::selector_of") return "has a class of its own";
    if (!llvm::isa<clang::ClassTemplateSpecializationDecl>(type))
      return "has parts that depend on a template parameter";
    return declared_alone ? "" : "is not declared by a statement of its own";
  }

  void add(const clang::VarDecl* v, const clang::CXXRecordDecl* type) {
    const auto block = blocks_.find(v);
    if (const auto why = unfit(v, type, block != blocks_.end()); !why.empty()) {
      others_.push_back({v->getLocation(), "`" + v->getNameAsString() + "` " + why +
                                               ": only an actor that is a local variable becomes a class"});
      return;
    }
    actor a;
    a.variable = v, a.scope = block->second.first, a.statement = block->second.second, a.outer = outer_;
    try {
      describe(a, llvm::cast<clang::ClassTemplateSpecializationDecl>(type));
    } catch (const refusal& r) {
      a.refusals.push_back(r);
    }
    actors_.push_back(std::move(a));
  }

  /// Mailboxes and parts.
  void describe(actor& a, const clang::ClassTemplateSpecializationDecl* type) {
    const auto arguments = type->getTemplateArgs().asArray();
    const bool selector = full_name(type) == "shunt::pgas::selector_of";
    if (selector) a.mailboxes = static_cast<unsigned>(arguments[0].getAsIntegral().getZExtValue());
    for (const auto& p : arguments.back().pack_elements()) a.parts.push_back(p.getAsType());
    const auto text = s_.text().substr(
        bytes_of(s_, a.statement->getSourceRange()).first,
        bytes_of(s_, a.statement->getSourceRange()).second - bytes_of(s_, a.statement->getSourceRange()).first);
    a.qualifier = qualifier_in(s_, text);
    for (const auto* e : made_of(a.variable->getInit())) {
      if (llvm::isa<clang::CXXDefaultArgExpr>(e)) continue;
      if (is_a(e->getType(), "pgas::mailbox_order")) {
        a.order = e;
      } else if (is_a(e->getType(), "pgas::pe")) {
        a.me = e;
      } else {
        if (e->HasSideEffects(s_.context())) {
          throw refusal{e->getBeginLoc(),
                        "the actor is made of an expression that does something: give the symmetric "
                        "object a name"};
        }
        // As the program spells it: the actor's own type knows no aliases.
        const auto* spelled = e->getType().getNonReferenceType()->getAs<clang::TemplateSpecializationType>();
        if (spelled && a.symmetrics.size() < a.parts.size() && spelled->template_arguments().size() == 1) {
          const auto part = spelled->template_arguments()[0].getAsType();
          if (same(s_, part, a.parts[a.symmetrics.size()])) a.parts[a.symmetrics.size()] = part;
        }
        a.symmetrics.push_back(e);
      }
    }
    if (a.symmetrics.size() != a.parts.size() || (a.parts.empty() && !a.me)) {
      throw refusal{a.variable->getLocation(), "the actor is not made of its symmetric objects here: make it of them"};
    }
  }

  void use(actor& a, const member_call& m) {
    if (!within_.empty()) {
      throw refusal{m.call->getBeginLoc(),
                    "a handler has the actor itself, and its class would not: send through `here`"};
    }
    if (m.name == "send" || m.name == "ask") return add_message(a, m);
    if (m.name == "finish" || m.name == "quiesce") return a.finishes.push_back(m.call);
    if (m.name == "ending") return a.endings.push_back(m.call);
    if (m.name == "done") return a.dones.push_back(m.call);
    const auto called = std::string(m.name) + "()";
    if (m.name == "fetch") {
      throw refusal{m.call->getBeginLoc(), called + " has no class form: ask() for the value, or keep the lambda form"};
    }
    throw refusal{m.call->getBeginLoc(), called +
                                             " chooses a mailbox while the program runs, and each lambda gets a "
                                             "mailbox of its own: use send()"};
  }
  void use_here(std::size_t of, const clang::LambdaExpr* given_to, const member_call& m) {
    actor& a = actors_[of];
    if (copying_ > 0) {
      throw refusal{m.call->getBeginLoc(),
                    "`here` is captured by copy, and a class would be captured by its address: "
                    "capture by reference"};
    }
    if (m.name == "send") return add_message(a, m);
    if (m.name == "index" || m.name == "count" || m.name == "from") {
      return a.here_calls.push_back({m.call, m.name, given_to});
    }
    throw refusal{m.call->getBeginLoc(), std::string(m.name) + "() of `here` has no class form: use send()"};
  }

  void add_message(actor& a, const member_call& m) {
    message one;
    one.call = m.call;
    one.within = within_.empty() ? nullptr : within_.back();
    one.old_mailbox = mailbox_of(s_, m.call);
    const auto given = [&m](unsigned i) { return i < m.call->getNumArgs() ? lambda(m.call->getArg(i)) : nullptr; };
    const auto* first = given(1);
    const auto* second = given(2);
    const auto n = a.parts.size();
    if (m.name == "ask" && first && second) {
      one.kind = message_kind::ask;
      one.first = split(first, n, 0);
      const auto answer = types_.result(first);
      if (answer.isNull())
        throw refusal{first->getBeginLoc(),
                      "the type of the reply depends on a template parameter, which a class before the function does "
                      "not know: convert it to a type with a name"};
      one.reply = split(second, n, answer->isVoidType() ? 0 : 1);
    } else if (m.name == "send" && first) {
      one.first = split(first, n, 0);
    } else if (m.name == "send" && second) {
      one.kind = message_kind::payload;
      one.first = split(second, n, 1);
    } else {
      throw refusal{m.call->getBeginLoc(), "what is sent is no lambda that is written in the call: write it there"};
    }
    for (auto* h : {&one.first, &one.reply}) {
      if (!h->lambda) continue;
      handlers_.insert(h->lambda);
      if (h->here) heres_.emplace(h->here, std::pair(static_cast<std::size_t>(&a - actors_.data()), h->lambda));
    }
    a.messages.push_back(std::move(one));
  }

  const source& s_;
  instances made_;
  types types_;
  const clang::NamedDecl* outer_ = nullptr;
  std::vector<const clang::LambdaExpr*> within_;  // the handlers around this place, the innermost last
  int copying_ = 0;                               // lambdas around this place, in a handler, that capture by copy
  std::set<const clang::LambdaExpr*> handlers_;
  std::set<const clang::DeclRefExpr*> handled_;
  std::map<const clang::Decl*, std::pair<const clang::CompoundStmt*, const clang::DeclStmt*>> blocks_;
  std::map<const clang::ValueDecl*, std::pair<std::size_t, const clang::LambdaExpr*>> heres_;  // actor, handler
  std::vector<actor> actors_;
  std::vector<refusal> others_;
};

}  // namespace

found_actors find_actors(const source& s) {
  finder f(s);
  return f.result();
}

}  // namespace shunt::translate::class_form
