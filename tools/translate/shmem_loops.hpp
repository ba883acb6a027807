/// shunt-translate loops, of OpenSHMEM: calls on single elements that stand in loops become messages.
///
/// ```c
/// for (long i = 0; i < n; ++i) shmem_long_atomic_inc(&counts[spot[i]], pe[i]);
/// for (long i = 0; i < n; ++i) target[i] = shmem_long_g(&table[spot[i]], pe[i]);
/// ```
/// becomes
/// ```cpp
/// for (long i = 0; i < n; ++i) shmem::send(&counts[spot[i]], pe[i], [](long& element) { ++element; });
/// for (long i = 0; i < n; ++i) shmem::ask(&table[spot[i]], pe[i], &target[i]);
/// shmem::answered();
/// ```
///
/// What a call changes without an answer may be a message anywhere: OpenSHMEM promises it no order either. A loop that
/// reads either leaves where a value goes to its message, if nothing else looks there before the loop's end; or it
/// becomes two loops, as those over arrays do (inspector.hpp). Neither takes another PE's call, so loops may stand
/// under conditions.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "distributed.hpp"
#include "edits.hpp"
#include "finding.hpp"
#include "loop_rules.hpp"
#include "memory.hpp"
#include "shmem_calls.hpp"
#include "source.hpp"

namespace shunt::translate {

/// The calls of one file.
class shmem_loops {
 public:
  /// \param reorder  additions that return what was there may happen in another order
  shmem_loops(const source& s, bool reorder) : source_(s), reorder_(reorder) {}

  /// Plans what becomes of the loops of a function. \param is_template  its types are not known yet
  void look_at(const clang::Stmt* body, bool is_template);

  [[nodiscard]] const edits& changes() const noexcept { return changes_; }
  [[nodiscard]] const std::vector<finding>& findings() const noexcept { return findings_; }

 private:
  /// A call in a loop.
  struct use {
    shmem_call what;
    bool conditional;         // behind &&, || or ?:
    const clang::Stmt* loop;  // the innermost one around it
  };
  struct function {
    const clang::Stmt* body;
    around_map around;
    std::set<const clang::VarDecl*> escaped, fresh;
  };

  void find_loops(const function& f, const clang::Stmt* s);
  void look_at_loop(const function& f, const clang::Stmt* loop);
  void look_at_reads(const function& f, const clang::Stmt* loop, const std::vector<use>& all);
  void collect(const clang::Stmt* s, const clang::Stmt* loop, bool conditional, std::vector<use>& into) const;
  void send(const use& u);
  void ask_later(const use& u);
  [[nodiscard]] verdict must_be_plain(const use& u) const;
  [[nodiscard]] verdict must_stay_alone(const function& f, const clang::Stmt* loop, const std::vector<use>& all) const;
  [[nodiscard]] bool stream(const function& f, const clang::Stmt* loop, const std::vector<use>& all);
  [[nodiscard]] verdict inspect(const function& f, const clang::Stmt* loop, const std::vector<use>& all);
  void wait_behind(const function& f, const clang::Stmt* loop);
  void refuse(const refusal& why) { findings_.push_back(source_.say(why.at, why.reason)); }

  /// The bytes of a piece as it is written here, a macro's name included; none for a piece of another file.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> written(const clang::Expr* e) const;
  [[nodiscard]] std::string letters(const clang::Expr* e) const;
  [[nodiscard]] std::string type_name(clang::QualType type) const;
  [[nodiscard]] std::string target_of(const shmem_call& c) const;

  const source& source_;
  bool reorder_;
  edits changes_;
  std::vector<finding> findings_;
  std::deque<distributed_array> places_;  // what a read looks like to the inspector
};

}  // namespace shunt::translate
