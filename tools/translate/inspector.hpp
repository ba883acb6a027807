/// Loops that read elements: first a loop that only collects the indices, then one gather(), then the loop itself,
/// which takes the values in the same order.
///
/// Source: Saltz, Crowley, Mirchandaney, Berryman, Run-time scheduling and execution of loops on message passing
/// machines, doi:10.1016/0743-7315(90)90129-D: inspector and executor.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accesses.hpp"
#include "edits.hpp"
#include "effects.hpp"
#include "loop_rules.hpp"

namespace shunt::translate {

/// The loop that collects, for one loop.
class inspector {
 public:
  /// \param unit  of indentation \param fresh  see effects
  inspector(const source& s, const clang::Stmt* loop, const accesses& all,
            const std::set<const clang::VarDecl*>& escaped, std::string unit,
            const std::set<const clang::VarDecl*>* fresh = nullptr);

  /// Why the indices cannot be known before the loop runs; none if they can.
  [[nodiscard]] const verdict& problem() const noexcept { return problem_; }

  /// The loop that calls `NAME.push_back(index)` for each read; of OpenSHMEM `NAME.push_back({address, pe})`.
  /// \param names   of the vectors of indices, by read
  /// \param indent  of its first line
  [[nodiscard]] std::string text(const std::vector<std::string>& names, const std::string& indent) const;

  /// Marks what the loop itself then declares and no longer uses.
  void mark_unused(edits& into) const;

 private:
  void judge();
  [[nodiscard]] bool only_indexes(const clang::VarDecl* v) const;
  void look_at(const clang::Stmt* s);
  void look_at_loop(const clang::Stmt* s);
  void look_at_for(const clang::ForStmt* loop);
  void look_at_branch(const clang::IfStmt* branch);
  void keep(const clang::Stmt* e);
  void keep_read(std::size_t i);
  void keep_declarations();
  void refuse(clang::SourceLocation at, std::string reason);
  [[nodiscard]] std::vector<std::size_t> reads_in(const clang::Stmt* s) const;
  [[nodiscard]] std::string place(std::size_t i) const;
  [[nodiscard]] std::string emit(const clang::Stmt* s, const std::vector<std::string>& names,
                                 const std::string& indent) const;

  const source& source_;
  const clang::Stmt* loop_;
  const accesses& all_;
  effects bodies_;
  std::string unit_;
  verdict problem_;
  std::vector<const clang::Stmt*> kept_;                              // expressions that the collecting loop evaluates
  std::map<const clang::VarDecl*, const clang::DeclStmt*> declared_;  // variables of the loop's bodies
  std::set<const clang::DeclStmt*> kept_declarations_;
};

}  // namespace shunt::translate
