#include "shmem_calls.hpp"

#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>

#include <array>

#include "vocabulary.hpp"

namespace shunt::translate {

namespace {

/// The order of a call's parameters.
enum class form { at_pe, at_value_pe, to_from_count_pe, unlike };

struct known_call {
  std::string_view end;  // of the name, behind the type
  shmem_kind kind;
  form parameters;
};

constexpr auto known_calls = std::to_array<known_call>({
    {"atomic_inc", shmem_kind::increment, form::at_pe},
    {"inc", shmem_kind::increment, form::at_pe},
    {"atomic_add", shmem_kind::add, form::at_value_pe},
    {"add", shmem_kind::add, form::at_value_pe},
    {"atomic_and", shmem_kind::bit_and, form::at_value_pe},
    {"atomic_or", shmem_kind::bit_or, form::at_value_pe},
    {"atomic_xor", shmem_kind::bit_xor, form::at_value_pe},
    {"atomic_set", shmem_kind::assign, form::at_value_pe},
    {"set", shmem_kind::assign, form::at_value_pe},
    {"p", shmem_kind::assign, form::at_value_pe},
    {"put", shmem_kind::put, form::to_from_count_pe},
    {"put_nbi", shmem_kind::put, form::to_from_count_pe},
    {"g", shmem_kind::read, form::at_pe},
    {"atomic_fetch", shmem_kind::read, form::at_pe},
    {"fetch", shmem_kind::read, form::at_pe},
    {"atomic_fetch_inc", shmem_kind::fetch_increment, form::at_pe},
    {"finc", shmem_kind::fetch_increment, form::at_pe},
    {"atomic_fetch_add", shmem_kind::fetch_add, form::at_value_pe},
    {"fadd", shmem_kind::fetch_add, form::at_value_pe},
    {"get", shmem_kind::get, form::to_from_count_pe},
    {"get_nbi", shmem_kind::get_later, form::to_from_count_pe},
    {"getmem", shmem_kind::waits, form::unlike},
    {"iget", shmem_kind::waits, form::unlike},
    {"atomic_fetch_and", shmem_kind::waits, form::unlike},
    {"atomic_fetch_or", shmem_kind::waits, form::unlike},
    {"atomic_fetch_xor", shmem_kind::waits, form::unlike},
    {"atomic_swap", shmem_kind::waits, form::unlike},
    {"swap", shmem_kind::waits, form::unlike},
    {"atomic_compare_swap", shmem_kind::waits, form::unlike},
    {"cswap", shmem_kind::waits, form::unlike},
});

/// "long_atomic_inc" is one that ends in "_atomic_inc", "p" is "p"; of several that fit the longest.
const known_call* find(std::string_view name) {
  static constexpr std::array widths{"8", "16", "32", "64", "128"};
  std::string plain(name);
  // put64_nbi is put_nbi of elements of that size.
  for (const std::string_view call : {"put", "get"}) {
    for (const std::string_view width : widths) {
      const auto both = std::string(call) + std::string(width);
      if (plain == both || plain == both + "_nbi") plain.erase(call.size(), width.size());
    }
  }
  const known_call* best = nullptr;
  for (const auto& known : known_calls) {
    const bool fits = plain == known.end || (plain.ends_with(known.end) && plain.size() > known.end.size() + 1 &&
                                             plain[plain.size() - known.end.size() - 1] == '_');
    if (fits && (!best || known.end.size() > best->end.size())) best = &known;
  }
  return best;
}

/// The type of what an argument points to, as its parameter says it; of `void*` as the argument does.
clang::QualType pointee(const clang::CallExpr* call, unsigned which) {
  const auto* f = call->getDirectCallee();
  if (which < f->getNumParams()) {
    const auto type = f->getParamDecl(which)->getType();
    if (type->isPointerType() && !type->getPointeeType()->isVoidType()) return type->getPointeeType();
  }
  const auto type = call->getArg(which)->IgnoreParenImpCasts()->getType();
  if (const auto* row = type->getAsArrayTypeUnsafe()) return row->getElementType();
  return type->isPointerType() && !type->getPointeeType()->isVoidType() ? type->getPointeeType() : clang::QualType();
}

}  // namespace

std::optional<shmem_call> shmem_call_of(const Stmt* s) {
  constexpr std::string_view begin = "shmem_";
  const auto* call = clang::dyn_cast_or_null<clang::CallExpr>(s);
  const auto* f = call ? call->getDirectCallee() : nullptr;
  if (!f || isa<clang::CXXMethodDecl>(f) || !f->getDeclName().isIdentifier()) return {};
  const std::string_view name = f->getName();
  if (!name.starts_with(begin) || !f->getDeclContext()->getRedeclContext()->isFileContext()) return {};
  shmem_call found{call, std::string(name), shmem_kind::other};
  const auto* known = find(name.substr(begin.size()));
  // A function of the program's own may have such a name; those of shmem.h stand in a header.
  if (!known || f->getASTContext().getSourceManager().isWrittenInMainFile(f->getLocation())) return found;
  found.kind = known->kind;
  const auto has = [&](unsigned arguments) { return call->getNumArgs() == arguments; };
  const auto argument = [&](unsigned which) { return call->getArg(which)->IgnoreUnlessSpelledInSource(); };
  if (known->parameters == form::at_pe && has(2)) {
    found.at = argument(0), found.pe = argument(1), found.element = pointee(call, 0);
  } else if (known->parameters == form::at_value_pe && has(3)) {
    found.at = argument(0), found.value = argument(1), found.pe = argument(2), found.element = pointee(call, 0);
  } else if (known->parameters == form::to_from_count_pe && has(4)) {
    const bool gets = known->kind == shmem_kind::get || known->kind == shmem_kind::get_later;
    found.at = argument(gets ? 1 : 0), found.local = argument(gets ? 0 : 1);
    found.count = argument(2), found.pe = argument(3), found.element = pointee(call, gets ? 1 : 0);
  } else if (known->parameters != form::unlike) {
    found.kind = shmem_kind::other;  // another library's
  }
  if (!found.element.isNull()) found.element = found.element.getUnqualifiedType();
  return found;
}

bool is_one_way(shmem_kind kind) { return kind <= shmem_kind::put; }

bool is_read(shmem_kind kind) { return kind >= shmem_kind::read && kind <= shmem_kind::get; }

const Expr* addressed(const Expr* e) {
  const auto* u = clang::dyn_cast_or_null<clang::UnaryOperator>(e ? e->IgnoreParenImpCasts() : nullptr);
  return u && u->getOpcode() == clang::UO_AddrOf ? u->getSubExpr() : nullptr;
}

}  // namespace shunt::translate
