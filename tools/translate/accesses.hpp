/// What the statements of a loop do with the elements of distributed arrays.
#pragma once

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <functional>
#include <string>
#include <vector>

#include "distributed.hpp"

namespace shunt::translate {

/// What a statement does with an element. Changes of one kind may be done in any order: see commute().
enum class change_kind { add, multiply, bit_or, bit_and, bit_xor, least, greatest, assign, update };

/// One place of the text where an element is changed.
struct element_change {
  const distributed_array* array;
  const clang::Expr* index;
  const clang::Expr* value;  ///< null for `++h[i]`
  const clang::Expr* whole;  ///< `h[i] += v`
  change_kind kind;
  bool spelled_out;  ///< `h[i] = h[i] + v`, `h[i] = std::min(h[i], v)`: to be written as a change
};

/// One place of the text where an element is read.
struct element_read {
  const distributed_array* array;
  const clang::Expr* index;
  const clang::Expr* whole;            ///< `h[i]`
  bool conditional;                    ///< behind &&, || or ?:
  const clang::Expr* pe = nullptr;     ///< of OpenSHMEM: `index` is the element's address there
  const clang::Expr* value = nullptr;  ///< of OpenSHMEM: what is added to the element
  bool counted = false;                ///< of OpenSHMEM: 1 is added
};

/// One place of the text that names an array in another way, but for size() and the like.
struct other_use {
  const distributed_array* array;
  const clang::Expr* whole;
};

/// All of them in a statement, in the order of the text.
struct accesses {
  std::vector<element_change> changes;
  std::vector<element_read> reads;
  std::vector<other_use> others;
};

/// \param s  a statement, or null. Lambdas and supersteps within are left out.
[[nodiscard]] accesses accesses_of(const source& of, const clang::Stmt* s, distributed_arrays& arrays);

/// The index of `h[index]`, where h is a distributed array: null for other expressions.
[[nodiscard]] const clang::Expr* element_index(const clang::Expr* e, distributed_arrays& arrays,
                                               const distributed_array** array);

/// Calls f for each statement that is spelled within `s`, itself included. f returns whether to go on below it.
void each_spelled(const clang::Stmt* s, const std::function<bool(const clang::Stmt*)>& f);

/// The parts of a statement that are spelled in the source.
[[nodiscard]] std::vector<const clang::Stmt*> spelled_parts(const clang::Stmt* s);

/// Whether the letters of two expressions are equal.
[[nodiscard]] bool same_letters(const source& of, const clang::Expr* a, const clang::Expr* b);

}  // namespace shunt::translate
