#include "class_check.hpp"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include "class_text.hpp"

namespace shunt::translate::class_form {

namespace {

/// Looks through one handler.
class reader final : public clang::RecursiveASTVisitor<reader> {
  using base = clang::RecursiveASTVisitor<reader>;

 public:
  reader(const source& s, const actor& a, const clang::LambdaExpr* l) : s_(s), a_(a), l_(l) {
    for (const auto& c : l->captures()) {
      if (c.capturesVariable()) captured_.insert(c.getCapturedVar());
    }
    generic_ = l->isGenericLambda();
  }
  [[nodiscard]] bool shouldVisitTemplateInstantiations() const { return false; }
  [[nodiscard]] bool shouldVisitImplicitCode() const { return false; }

  /// What is captured belongs to the send, which stays.
  bool TraverseLambdaCapture(clang::LambdaExpr* l, const clang::LambdaCapture* c, clang::Expr* init) {
    return l == l_ || base::TraverseLambdaCapture(l, c, init);
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* e) {
    if (captured_.contains(e->getDecl())) return true;
    if (e->getDecl() == a_.outer && llvm::isa<clang::FunctionDecl>(a_.outer)) {
      if (!a_.outer->getPreviousDecl()) refuse_name(e->getLocation(), e->getDecl());
      return true;
    }
    look_at(e->getLocation(), e->getFoundDecl());
    look_at(e->getLocation(), e->getDecl());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* e) {
    for (const auto* d : e->decls()) {
      look_at(e->getNameLoc(), d);
      const auto* f = llvm::dyn_cast<clang::FunctionTemplateDecl>(d);
      if (f && f->getTemplatedDecl() == a_.outer && !f->getPreviousDecl()) refuse_name(e->getNameLoc(), d);
    }
    return true;
  }
  bool VisitTagTypeLoc(clang::TagTypeLoc t) { return look_at(t.getNameLoc(), t.getDecl()); }
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc t) { return look_at(t.getNameLoc(), t.getTypedefNameDecl()); }
  bool VisitUsingTypeLoc(clang::UsingTypeLoc t) { return look_at(t.getNameLoc(), t.getFoundDecl()); }
  bool VisitTemplateTypeParmTypeLoc(clang::TemplateTypeParmTypeLoc t) { return look_at(t.getNameLoc(), t.getDecl()); }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc n) {
    if (n) {
      if (const auto* alias = n.getNestedNameSpecifier()->getAsNamespaceAlias()) look_at(n.getBeginLoc(), alias);
    }
    return base::TraverseNestedNameSpecifierLoc(n);
  }
  bool VisitCXXThisExpr(clang::CXXThisExpr* e) {
    throw refusal{e->getBeginLoc(),
                  "a handler uses `this`, which would be another object: give its values names, and "
                  "capture those"};
  }
  bool VisitIfStmt(clang::IfStmt* i) {
    if (generic_ && i->isConstexpr()) refuse_template(i->getBeginLoc(), "if constexpr");
    return true;
  }
  bool VisitRequiresExpr(clang::RequiresExpr* e) {
    if (generic_) refuse_template(e->getBeginLoc(), "requires");
    return true;
  }

 private:
  /// Whether a place lies in a range.
  bool inside(clang::SourceLocation at, clang::SourceRange range) const {
    const auto& sm = s_.manager();
    const auto place = sm.getFileLoc(at);
    const auto begin = sm.getFileLoc(range.getBegin()), end = sm.getFileLoc(range.getEnd());
    return !sm.isBeforeInTranslationUnit(place, begin) && !sm.isBeforeInTranslationUnit(end, place);
  }
  bool look_at(clang::SourceLocation used, const clang::NamedDecl* d) {
    if (!d || d->getLocation().isInvalid() || d == a_.outer) return true;
    const auto* made = llvm::dyn_cast<clang::FunctionDecl>(a_.outer);
    const auto* pattern = made ? made->getDescribedFunctionTemplate() : nullptr;
    const auto whole = pattern ? pattern->getSourceRange() : a_.outer->getSourceRange();
    if (inside(d->getLocation(), whole) && !inside(d->getLocation(), l_->getSourceRange())) refuse_name(used, d);
    return true;
  }
  [[noreturn]] static void refuse_name(clang::SourceLocation at, const clang::NamedDecl* d) {
    throw refusal{at, "a handler uses `" + d->getNameAsString() +
                          "`, which a class before the function does not know: capture it, or declare it before the "
                          "function"};
  }
  [[noreturn]] static void refuse_template(clang::SourceLocation at, const std::string& what) {
    throw refusal{at, "`" + what +
                          "` in a handler with `auto` parameters means another thing outside of a template: "
                          "name the parameters' types"};
  }

  const source& s_;
  const actor& a_;
  const clang::LambdaExpr* l_;
  std::set<const clang::ValueDecl*> captured_;
  bool generic_;
};

class declarations final : public clang::RecursiveASTVisitor<declarations> {
 public:
  std::set<std::string> names;
  bool VisitNamedDecl(clang::NamedDecl* d) {
    if (d->getIdentifier()) names.insert(d->getNameAsString());
    return true;
  }
};

/// What a function has that changes how the names in it are looked up.
class directives final : public clang::RecursiveASTVisitor<directives> {
 public:
  bool VisitUsingDirectiveDecl(clang::UsingDirectiveDecl* d) {
    throw refusal{d->getBeginLoc(),
                  "`using namespace` stands in the function, and a class before it would not see it: "
                  "move it before the function"};
  }
};

void check_letters(const source& s, const clang::LambdaExpr* l, const std::set<std::string>& hidden) {
  const auto whole = bytes_of(s, l->getSourceRange());
  const auto body = bytes_of(s, l->getBody()->getSourceRange());
  const auto text = s.text().substr(whole.first, whole.second - whole.first);
  if (has_comment(text.substr(0, body.first - whole.first))) {
    throw refusal{l->getBeginLoc(),
                  "a comment stands before the handler's body, and would be lost: move it into the "
                  "body"};
  }
  if (has_directive(text)) {
    throw refusal{l->getBeginLoc(),
                  "a preprocessor directive stands in the handler, of which only one way was read: "
                  "put it outside"};
  }
  const auto own = declared_in(l);
  for (const auto& name : free_identifiers(text.substr(body.first - whole.first))) {
    if (!hidden.contains(name) || own.contains(name)) continue;
    throw refusal{l->getBeginLoc(), "the handler uses `" + name +
                                        "`, which is a member of every class of this kind: "
                                        "qualify the name"};
  }
}

}  // namespace

std::set<std::string> names_of_selector(const source& s) {
  std::set<std::string> names;
  const clang::DeclContext* at = s.context().getTranslationUnitDecl();
  for (const auto* name : {"shunt", "pgas", "selector"}) {
    const auto found = at->lookup(&s.context().Idents.get(name));
    if (found.empty()) return {};
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(found.front())) {
      at = space;
    } else if (const auto* type = llvm::dyn_cast<clang::ClassTemplateDecl>(found.front())) {
      for (const auto* d : type->getTemplatedDecl()->decls()) {
        const auto* named = llvm::dyn_cast<clang::NamedDecl>(d);
        if (const auto* t = llvm::dyn_cast<clang::TemplateDecl>(d)) named = t->getTemplatedDecl();
        if (named && named->getIdentifier()) names.insert(named->getNameAsString());
      }
    }
  }
  if (!names.empty()) names.insert({"selector", "actor", "process", "replied"});
  return names;
}

std::set<std::string> declared_in(const clang::LambdaExpr* l) {
  declarations d;
  d.TraverseStmt(const_cast<clang::LambdaExpr*>(l));
  for (const auto& c : l->captures()) {
    if (c.capturesVariable()) d.names.insert(c.getCapturedVar()->getNameAsString());
  }
  return d.names;
}

void check_handler(const source& s, const actor& a, const handler& h, const std::set<std::string>& hidden) {
  const auto* l = h.lambda;
  for (const auto& c : l->captures()) {
    if (c.capturesThis()) {
      throw refusal{l->getBeginLoc(),
                    "a handler captures `this`, which would be another object: give its values names, "
                    "and capture those"};
    }
    if (!c.capturesVariable() || c.isPackExpansion() || c.getCapturedVar()->isParameterPack()) {
      throw refusal{l->getBeginLoc(), "a handler captures a pack, which has no class form: capture single values"};
    }
  }
  if (!l->getExplicitTemplateParameters().empty() || l->getTrailingRequiresClause()) {
    throw refusal{l->getBeginLoc(),
                  "the handler is a template with parameters or conditions of its own, which a class "
                  "does not have: write `auto` parameters, or their types"};
  }
  check_letters(s, l, hidden);
  reader(s, a, l).TraverseStmt(const_cast<clang::LambdaExpr*>(l));
}

void check_place(const source& s, const actor& a) {
  const auto* outer = a.outer;
  if (!outer || !outer->getDeclContext()->isFileContext() || !outer->getLexicalDeclContext()->isFileContext()) {
    throw refusal{a.variable->getLocation(),
                  "the actor is made in a member function, whose handlers may use names of "
                  "its class: make it in a function of a namespace"};
  }
  if (!outer->getBeginLoc().isFileID() || !s.manager().isWrittenInMainFile(outer->getBeginLoc())) {
    throw refusal{a.variable->getLocation(),
                  "a macro writes the head of the function, and a class cannot stand before "
                  "it: move the actor into a function of its own"};
  }
  if (!outer->getIdentifier()) {
    throw refusal{a.variable->getLocation(),
                  "the function has no plain name, from which the class gets its own: give "
                  "it one"};
  }
  directives d;
  d.TraverseDecl(const_cast<clang::NamedDecl*>(outer));
}

}  // namespace shunt::translate::class_form
