/// Pointers whose memory nothing else points to: what is written through another pointer does not change it.
#pragma once

#include <clang/AST/Decl.h>

#include <set>

#include "around_map.hpp"

namespace shunt::translate {

/// The pointers to numbers that a function gets of malloc(), calloc() or new, or as `restrict` parameters, and whose
/// value it gives to nothing but to functions that do not keep it: free, memset, memcpy, and those of OpenSHMEM.
[[nodiscard]] std::set<const clang::VarDecl*> fresh_memory(const around_map& around);

}  // namespace shunt::translate
