#include "class_types.hpp"

#include <clang/AST/ASTLambda.h>
#include <clang/AST/QualTypeNames.h>
#include <clang/AST/RecursiveASTVisitor.h>

#include <cctype>
#include <vector>

#include "class_text.hpp"
#include "vocabulary.hpp"

namespace shunt::translate::class_form {

namespace {

using clang::QualType;

bool known(QualType t) {
  return !t.isNull() && !t->isDependentType() && !t->isUndeducedType() && !t->containsUnexpandedParameterPack();
}

QualType value_type(QualType t) { return t.getNonReferenceType().getUnqualifiedType(); }

/// The first one, if all are the same; null otherwise.
QualType one_of(const clang::ASTContext& context, const std::vector<QualType>& all) {
  if (all.empty()) return {};
  for (const auto t : all) {
    if (!context.hasSameType(t, all.front())) return {};
  }
  return all.front();
}

/// Whether a lambda stands in a function template, or in what belongs to a class template.
bool in_template(const clang::LambdaExpr* l) {
  for (const auto* around = l->getLambdaClass()->getDeclContext(); around; around = around->getParent()) {
    const auto* f = llvm::dyn_cast<clang::FunctionDecl>(around);
    if (f && !clang::isLambdaCallOperator(f) && f->isTemplated()) return true;
    if (const auto* c = llvm::dyn_cast<clang::CXXRecordDecl>(around); c && !c->isLambda() && c->isTemplated()) {
      return true;
    }
  }
  return false;
}

/// What the return statements of a lambda return, those of lambdas inside of it excluded.
class returns final : public clang::RecursiveASTVisitor<returns> {
 public:
  std::vector<QualType> all;
  bool unclear = false;
  bool TraverseLambdaExpr(clang::LambdaExpr*) { return true; }
  bool VisitReturnStmt(clang::ReturnStmt* r) {
    if (!r->getRetValue()) return true;
    const auto t = value_type(r->getRetValue()->getType());
    known(t) ? all.push_back(t) : void(unclear = true);
    return true;
  }
};

/// Whether an alias belongs to a function or class, or is none that programs use.
bool inner(const clang::TypedefNameDecl* alias) {
  return !alias->getDeclContext()->getRedeclContext()->isFileContext() || alias->getName().starts_with("__");
}

/// Whether a type is spelled with a name that another place may not know: of a function, or of a class.
class inner_names final : public clang::RecursiveASTVisitor<inner_names> {
 public:
  bool any = false;
  bool VisitTypedefType(clang::TypedefType* t) {
    any = any || inner(t->getDecl());
    return true;
  }
  bool VisitTemplateTypeParmType(clang::TemplateTypeParmType*) { return !(any = true); }
  bool VisitAutoType(clang::AutoType*) { return !(any = true); }
  bool VisitDecltypeType(clang::DecltypeType*) { return !(any = true); }
  bool VisitSubstTemplateTypeParmType(clang::SubstTemplateTypeParmType*) { return !(any = true); }
};

/// Takes off what hides a name that can be written anywhere: `auto`, aliases in functions and classes.
QualType peeled(const clang::ASTContext& context, QualType t) {
  for (;;) {
    const clang::Type* type = t.getTypePtr();
    if (const auto* e = llvm::dyn_cast<clang::ElaboratedType>(type)) type = e->getNamedType().getTypePtr();
    const auto* alias = llvm::dyn_cast<clang::TypedefType>(type);
    if (!(alias && inner(alias->getDecl())) &&
        !llvm::isa<clang::AutoType, clang::DecltypeType, clang::SubstTemplateTypeParmType, clang::TypeOfType,
                   clang::DeducedTemplateSpecializationType>(type)) {
      break;
    }
    const auto quals = t.getLocalFastQualifiers();
    t = QualType(type, 0).getSingleStepDesugaredType(context).withFastQualifiers(quals);
  }
  inner_names hidden;
  hidden.TraverseType(t);
  return hidden.any ? t.getCanonicalType() : t;
}

/// A type as it can be spelled anywhere, aliases kept. Clang's own TypeName looks through aliases of `std::uint32_t`.
class speller {
 public:
  explicit speller(const clang::ASTContext& context) : context_(context), policy_(context.getLangOpts()) {
    policy_.SuppressUnwrittenScope = true;
    policy_.SuppressTagKeyword = true;
  }

  [[nodiscard]] std::string spell(QualType t) const {
    if (const auto* p = llvm::dyn_cast<clang::PointerType>(t.getTypePtr())) {
      return spell(p->getPointeeType()) + (t.isConstQualified() ? "* const" : "*");
    }
    return (t.isConstQualified() ? "const " : "") + unqualified(QualType(t.getTypePtr(), 0));
  }

 private:
  [[nodiscard]] std::string unqualified(QualType t) const {
    const auto* type = t.getTypePtr();
    if (const auto* e = llvm::dyn_cast<clang::ElaboratedType>(type)) return spell(e->getNamedType());
    if (const auto* a = llvm::dyn_cast<clang::TypedefType>(type)) return full_name(a->getDecl());
    if (const auto* u = llvm::dyn_cast<clang::UsingType>(type)) {
      const bool anywhere = u->getFoundDecl()->getDeclContext()->getRedeclContext()->isFileContext();
      return anywhere ? full_name(u->getFoundDecl()) : spell(u->desugar());
    }
    const auto* special = llvm::dyn_cast<clang::TemplateSpecializationType>(type);
    const auto* name = special ? special->getTemplateName().getAsTemplateDecl() : nullptr;
    const bool types_only = name && llvm::all_of(special->template_arguments(), [](const clang::TemplateArgument& a) {
                              return a.getKind() == clang::TemplateArgument::Type;
                            });
    if (!types_only) return clang::TypeName::getFullyQualifiedName(t, context_, policy_);
    std::string all;
    for (const auto& a : special->template_arguments()) all += (all.empty() ? "" : ", ") + spell(a.getAsType());
    return full_name(name) + '<' + all + '>';
  }

  const clang::ASTContext& context_;
  clang::PrintingPolicy policy_;
};

/// Why a type cannot be named at namespace scope; "" if it can.
std::string unnameable(QualType t) {
  t = t.getCanonicalType().getUnqualifiedType();
  if (const auto* p = t->getAs<clang::PointerType>()) return unnameable(p->getPointeeType());
  if (t->isReferenceType()) return unnameable(t.getNonReferenceType());
  if (t->isBuiltinType()) return t->isNullPtrType() ? "is nullptr's" : "";
  const auto* tag = t->getAsTagDecl();
  if (!tag) return t->isArrayType() ? "is an array" : "is no plain value's";
  if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(tag); record && record->isLambda()) {
    return "is that of a lambda";
  }
  if (!tag->getIdentifier() && !tag->getTypedefNameForAnonDecl()) return "has no name";
  if (tag->getParentFunctionOrMethod()) return "is local to a function";
  if (tag->getAccess() == clang::AS_private || tag->getAccess() == clang::AS_protected) return "is a private one";
  if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(tag)) {
    for (const auto& a : special->getTemplateArgs().asArray()) {
      if (a.getKind() != clang::TemplateArgument::Type) continue;
      if (auto why = unnameable(a.getAsType()); !why.empty() && !a.getAsType()->isArrayType()) return why;
    }
  }
  return {};
}

/// The namespaces around a declaration, the outermost first; inline and unnamed ones excluded.
std::vector<const clang::NamespaceDecl*> namespaces_around(const clang::Decl* d) {
  std::vector<const clang::NamespaceDecl*> all;
  for (const auto* c = d->getDeclContext(); c; c = c->getParent()) {
    const auto* n = llvm::dyn_cast<clang::NamespaceDecl>(c);
    if (n && !n->isInline() && !n->isAnonymousNamespace()) all.insert(all.begin(), n);
  }
  return all;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// `shunt::apps::rows` becomes `rows` inside of shunt::apps, if no namespace further in knows another `rows`.
std::string shortened(const clang::ASTContext& context, std::string text, const clang::Decl* outer) {
  const auto around = namespaces_around(outer);
  for (std::size_t known = around.size(); known > 0; --known) {
    std::string prefix;
    for (std::size_t i = 0; i < known; ++i) prefix += around[i]->getNameAsString() + "::";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
      auto end = at + prefix.size();
      while (end < text.size() && is_letter(text[end])) ++end;
      const auto first = text.substr(at + prefix.size(), end - at - prefix.size());
      bool hidden = at > 0 && (is_letter(text[at - 1]) || text[at - 1] == ':');
      for (std::size_t i = known; i < around.size(); ++i) {
        hidden = hidden || !around[i]->lookup(&context.Idents.get(first)).empty();
      }
      hidden ? void(at = end) : void(text.erase(at, prefix.size()));
    }
  }
  return text;
}

bool in_std(const clang::ASTContext& context, const std::string& name) {
  const auto space = context.getTranslationUnitDecl()->lookup(&context.Idents.get("std"));
  const auto* std = space.empty() ? nullptr : llvm::dyn_cast<clang::NamespaceDecl>(space.front());
  return std && !std->lookup(&context.Idents.get(name)).empty();
}

/// `uint32_t` becomes `std::uint32_t`, unless the file spells it without `std::`: of names that C has, too, the tree
/// knows C's.
std::string as_in_std(const source& s, std::string text) {
  const auto& context = s.context();
  const auto here = free_identifiers(s.text());
  for (std::size_t at = 0; at < text.size();) {
    auto end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    const auto name = text.substr(at, end - at);
    const bool whole = !name.empty() && (at == 0 || text[at - 1] != ':');
    if (whole && !here.contains(name)) {
      const auto found = context.getTranslationUnitDecl()->lookup(&context.Idents.get(name));
      const bool alias = !found.empty() && llvm::isa<clang::TypedefNameDecl>(found.front());
      if (alias && in_std(context, name)) text.insert(at, "std::"), end += 5;
    }
    at = end == at ? at + 1 : end;
  }
  return text;
}

}  // namespace

bool same(const source& s, QualType a, QualType b) { return s.context().hasSameType(a, b); }

QualType types::captured(const clang::LambdaExpr* l, unsigned capture) const {
  const auto of = [capture](const clang::LambdaExpr* one) {
    return value_type((one->capture_begin() + capture)->getCapturedVar()->getType());
  };
  if (known(of(l))) return of(l);
  if (in_template(l)) return {};
  std::vector<QualType> all;
  for (const auto* one : made_->of(l)) {
    if (known(of(one))) all.push_back(of(one));
  }
  return one_of(s_->context(), all);
}

QualType types::argument(const clang::CallExpr* call, unsigned number) const {
  const auto of = [number](const clang::CallExpr* one) {
    return value_type(translate::bare(one->getArg(number))->getType());
  };
  if (known(of(call))) return of(call);
  std::vector<QualType> all;
  for (const auto* one : made_->of(call)) {
    if (number < one->getNumArgs() && known(of(one))) all.push_back(of(one));
  }
  return one_of(s_->context(), all);
}

QualType types::result(const clang::LambdaExpr* l) const {
  if (const auto t = l->getCallOperator()->getReturnType(); known(t)) return value_type(t);
  if (in_template(l)) {
    if (l->hasExplicitResultType()) return {};
    returns r;
    r.TraverseStmt(l->getBody());
    if (r.unclear) return {};
    return r.all.empty() ? s_->context().VoidTy : one_of(s_->context(), r.all);
  }
  std::vector<QualType> all;
  for (const auto* one : made_->of(l)) {
    if (const auto t = one->getCallOperator()->getReturnType(); known(t)) all.push_back(value_type(t));
    const auto* made = one->getCallOperator()->getDescribedFunctionTemplate();
    if (!made) continue;
    for (const auto* f : made->specializations()) {
      if (known(f->getReturnType())) all.push_back(value_type(f->getReturnType()));
    }
  }
  return one_of(s_->context(), all);
}

std::string types::name(QualType type, const clang::NamedDecl* outer, clang::SourceLocation at,
                        const std::string& what) const {
  if (type.isNull() || type->isDependentType()) {
    throw refusal{at, "the type of " + what + " depends on a template parameter, which a class before the function " +
                          "does not know: convert it to a type with a name"};
  }
  const auto& context = s_->context();
  const auto bare = peeled(context, type);
  if (const auto why = unnameable(bare); !why.empty()) {
    throw refusal{at, "the type of " + what + ' ' + why +
                          ", and has no name before the function: use a type of "
                          "a namespace"};
  }
  return as_in_std(*s_, shortened(context, speller(context).spell(bare), outer));
}

}  // namespace shunt::translate::class_form
