/// Pointers whose memory nothing else points to: what is written through another pointer does not change it.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>

#include <map>
#include <set>

namespace shunt::translate {

/// The statement around each statement of a function; lambdas included.
class around_map {
 public:
  explicit around_map(const clang::Stmt* function) { add(function); }
  /// \return null for the function's body itself
  [[nodiscard]] const clang::Stmt* operator()(const clang::Stmt* s) const {
    const auto found = around_.find(s);
    return found == around_.end() ? nullptr : found->second;
  }
  /// Calls f for each statement but the body.
  template <class F>
  void each(const F& f) const {
    for (const auto& [s, around] : around_) f(s);
  }

 private:
  void add(const clang::Stmt* s);
  std::map<const clang::Stmt*, const clang::Stmt*> around_;
};

/// The pointers to numbers that a function gets of malloc(), calloc() or new, or as `restrict` parameters, and whose
/// value it gives to nothing but to functions that do not keep it: free, memset, memcpy, and those of OpenSHMEM.
[[nodiscard]] std::set<const clang::VarDecl*> fresh_memory(const around_map& around);

}  // namespace shunt::translate
