/// Calls of OpenSHMEM, as shmem.h declares them: which element of which PE a call names, and what it does with it.
#pragma once

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <optional>
#include <string>
#include <string_view>

namespace shunt::translate {

/// What a call does.
enum class shmem_kind {
  increment,  ///< `_atomic_inc`: nothing is answered
  add,        ///< `_atomic_add`
  bit_and,
  bit_or,
  bit_xor,
  assign,           ///< `_p`, `_atomic_set`
  put,              ///< `_put`, `_put_nbi`, of a number of elements
  read,             ///< `_g`, `_atomic_fetch`: its value is the element
  fetch_increment,  ///< `_atomic_fetch_inc`
  fetch_add,        ///< `_atomic_fetch_add`
  get,              ///< `_get`, of a number of elements
  get_later,        ///< `_get_nbi`: what it reads has come when a barrier or shmem_quiet() returns
  waits,            ///< something else that waits for an answer of one PE, such as `_atomic_compare_swap`
  other,            ///< all else: barriers, reductions, memory, `putmem`
};

/// One call. What a kind does not have is null.
struct shmem_call {
  const clang::CallExpr* call;
  std::string name;  ///< "shmem_long_p"
  shmem_kind kind;
  const clang::Expr* at = nullptr;     ///< the address of the element
  const clang::Expr* pe = nullptr;     ///< the PE that has it
  const clang::Expr* value = nullptr;  ///< what is added, or assigned
  const clang::Expr* local = nullptr;  ///< the address on the calling PE, of `put` and `get`
  const clang::Expr* count = nullptr;  ///< how many elements
  clang::QualType element{};           ///< without const; null: the call names none, or not by its type
};

/// A statement that is a call of OpenSHMEM; none for everything else.
[[nodiscard]] std::optional<shmem_call> shmem_call_of(const clang::Stmt* s);

/// Whether a call changes one element, and nothing answers.
[[nodiscard]] bool is_one_way(shmem_kind kind);
/// Whether a call waits for one element.
[[nodiscard]] bool is_read(shmem_kind kind);

/// The `x` of `&x`, with its parentheses; null for another expression.
[[nodiscard]] const clang::Expr* addressed(const clang::Expr* e);

}  // namespace shunt::translate
