#include <clang/AST/RecursiveASTVisitor.h>

#include "class_find.hpp"

namespace shunt::translate::class_form {

/// Walks through what is written in the file, and all that templates make of it.
class instances::visitor final : public clang::RecursiveASTVisitor<visitor> {
  using base = clang::RecursiveASTVisitor<visitor>;

 public:
  visitor(const source& s, instances& into) : s_(s), into_(into) {}
  [[nodiscard]] bool shouldVisitTemplateInstantiations() const { return true; }
  [[nodiscard]] bool shouldVisitImplicitCode() const { return false; }

  bool TraverseDecl(clang::Decl* d) {
    if (!d) return true;
    const auto at = s_.manager().getExpansionLoc(d->getBeginLoc());
    const bool here =
        llvm::isa<clang::TranslationUnitDecl>(d) || (at.isValid() && s_.manager().isWrittenInMainFile(at));
    return !here || base::TraverseDecl(d);
  }
  bool VisitLambdaExpr(clang::LambdaExpr* l) {
    into_.lambdas_[l->getBeginLoc().getRawEncoding()].push_back(l);
    // A generic lambda is a template, whose instances belong to the closure's class.
    auto* made = l->getCallOperator()->getDescribedFunctionTemplate();
    if (!made) return true;
    for (auto* f : made->specializations()) {
      if (f->getBody()) TraverseStmt(f->getBody());
    }
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* c) {
    into_.calls_[c->getRParenLoc().getRawEncoding()].push_back(c);
    return true;
  }

 private:
  const source& s_;
  instances& into_;
};

instances::instances(const source& s) { visitor(s, *this).TraverseDecl(s.context().getTranslationUnitDecl()); }

const std::vector<const clang::LambdaExpr*>& instances::of(const clang::LambdaExpr* l) const {
  static const std::vector<const clang::LambdaExpr*> none;
  const auto at = lambdas_.find(l->getBeginLoc().getRawEncoding());
  return at == lambdas_.end() ? none : at->second;
}

const std::vector<const clang::CallExpr*>& instances::of(const clang::CallExpr* c) const {
  static const std::vector<const clang::CallExpr*> none;
  const auto at = calls_.find(c->getRParenLoc().getRawEncoding());
  return at == calls_.end() ? none : at->second;
}

}  // namespace shunt::translate::class_form
