/// Which statement stands around another one.
#pragma once

#include <clang/AST/Stmt.h>

#include <map>

namespace shunt::translate {

/// The statement around each statement of a function; lambdas, and what the compiler adds, included.
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

}  // namespace shunt::translate
