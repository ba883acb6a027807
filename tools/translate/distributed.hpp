/// The distributed arrays of a file: those of type pgas::array, and plain ones that the program marks.
///
/// ```cpp
/// std::vector<long> histogram(1000);  // shunt: distributed
/// double field[4096];                 // shunt: distributed(blocked)
/// ```
#pragma once

#include <clang/AST/Decl.h>

#include <map>
#include <string>

#include "source.hpp"

namespace shunt::translate {

/// A variable, parameter or member that is a distributed array, or shall become one.
struct distributed_array {
  const clang::ValueDecl* name;
  clang::QualType element;
  bool plain;          ///< marked: a std::vector, or an array of the language
  std::string layout;  ///< of a plain one: "", "blocked", "cyclic"
};

/// All distributed arrays that a file's functions name.
class distributed_arrays {
 public:
  explicit distributed_arrays(const source& s) : source_(&s) {}
  /// The array that an expression names; null for everything else.
  const distributed_array* named_by(const clang::Expr* expression);
  /// The array that a declaration is; null for everything else.
  const distributed_array* of(const clang::ValueDecl* declaration);

 private:
  const source* source_;
  std::map<const clang::ValueDecl*, distributed_array> known_;
};

}  // namespace shunt::translate
