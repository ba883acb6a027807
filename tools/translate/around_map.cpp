#include "around_map.hpp"

#include <clang/AST/ExprCXX.h>

namespace shunt::translate {

void around_map::add(const clang::Stmt* s) {
  for (const auto* part : s->children()) {
    if (part && around_.emplace(part, s).second) add(part);
  }
  const auto* l = clang::dyn_cast<clang::LambdaExpr>(s);
  if (l && around_.emplace(l->getBody(), s).second) add(l->getBody());
}

}  // namespace shunt::translate
