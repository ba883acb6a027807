#include "distributed.hpp"

#include <clang/AST/DeclTemplate.h>

#include <string_view>

#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// Of `// shunt: distributed(blocked)` behind a declaration, on its line: "blocked". None: there is no such comment.
std::optional<std::string> mark_of(const source& s, const clang::ValueDecl* declaration) {
  if (!s.is_here(declaration->getSourceRange())) return {};
  const auto end = s.bytes(declaration->getSourceRange()).second;
  std::string_view line = s.text();
  line = line.substr(end, line.find('\n', end) - end);
  const auto slashes = line.find("//");
  if (slashes == std::string_view::npos) return {};
  line.remove_prefix(slashes + 2);
  constexpr std::string_view words = "shunt: distributed";
  const auto at = line.find(words);
  if (at == std::string_view::npos || line.find_first_not_of(" \t") != at) return {};
  line.remove_prefix(at + words.size());
  if (!line.starts_with('(')) return std::string();
  return std::string(line.substr(1, line.find(')') - 1));
}

/// The first template argument of a class, as the program writes it where that can be seen.
clang::QualType first_argument(clang::QualType type) {
  type = type.getNonReferenceType();
  if (const auto* written = type->getAs<clang::TemplateSpecializationType>()) {
    const auto arguments = written->template_arguments();
    if (!arguments.empty() && arguments[0].getKind() == clang::TemplateArgument::Type) return arguments[0].getAsType();
  }
  const auto* special = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(class_of(type));
  return special ? special->getTemplateArgs()[0].getAsType() : clang::QualType();
}

}  // namespace

const distributed_array* distributed_arrays::of(const clang::ValueDecl* declaration) {
  if (!declaration || !llvm::isa<clang::VarDecl, clang::FieldDecl>(declaration)) return nullptr;
  if (const auto found = known_.find(declaration); found != known_.end()) {
    return found->second.name ? &found->second : nullptr;
  }
  auto& entry = known_[declaration];
  entry = {nullptr, {}, false, {}};
  const auto type = declaration->getType();
  if (is_a(type, "pgas::array")) {
    entry = {declaration, first_argument(type), false, {}};
  } else if (const auto layout = mark_of(*source_, declaration); layout && llvm::isa<clang::VarDecl>(declaration)) {
    const auto plain = type.getNonReferenceType();
    if (const auto* row = source_->context().getAsArrayType(plain)) {
      entry = {declaration, row->getElementType(), true, *layout};
    } else if (full_name(class_of(plain)) == "std::vector") {
      entry = {declaration, first_argument(type), true, *layout};
    }
  }
  return entry.name ? &entry : nullptr;
}

const distributed_array* distributed_arrays::named_by(const clang::Expr* expression) {
  const auto* e = expression ? expression->IgnoreUnlessSpelledInSource() : nullptr;
  if (const auto* name = llvm::dyn_cast_or_null<clang::DeclRefExpr>(e)) return of(name->getDecl());
  const auto* member = llvm::dyn_cast_or_null<clang::MemberExpr>(e);
  // Of this object only: two objects' members of the same name are two arrays.
  if (!member || !llvm::isa<clang::CXXThisExpr>(member->getBase()->IgnoreUnlessSpelledInSource())) return nullptr;
  return of(member->getMemberDecl());
}

}  // namespace shunt::translate
