/// What a function does with its actors, in the order in which it may happen: sends, done(), finish().
///
/// An actor is known by its variable, by the member of `this` that it is, or is `this`. A local reference that is made
/// of one of these is a second name of it. Where the function hands it on, to a function or a lambda that is called,
/// anything may happen to it: then it is `lost`, and nothing is known of it until it is used again. A variable that
/// gets another second name, by a pointer or by `first ? a : b`, is left out altogether.
#pragma once

#include <clang/Analysis/CFG.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "check_program.hpp"

namespace shunt::translate::checks {

/// A VarDecl, a FieldDecl of `this`, or the class of `this`.
using actor_key = const clang::Decl*;

/// Something that happens.
struct event {
  enum kind {
    sent,      ///< a message, or a request
    done,      ///< to `mailbox`
    finished,  ///< by finish() or quiesce(), or it ends, or begins
    ended,     ///< by ending()
    lost,      ///< anything may have happened to it
    all_lost,  ///< to every actor
    evaluated  ///< another statement or expression
  } what;
  actor_key actor = nullptr;
  mailbox_number mailbox;
  const clang::Stmt* at = nullptr;
  std::optional<sending> message;
};

/// A function's control flow, with events.
class flow {
 public:
  /// One straight piece of it.
  struct block {
    std::vector<event> events;
    std::vector<std::size_t> from;  ///< blocks that lead here, by forward edges
    std::vector<std::size_t> back;  ///< blocks that lead back here: this one begins a loop
    std::set<std::size_t> loops;    ///< the first blocks of the loops in which it lies
  };

  flow(program& p, const body& b);
  /// In an order in which forward edges lead forward; the first one is the entry. Empty: nothing to look at.
  [[nodiscard]] const std::vector<block>& blocks() const noexcept { return blocks_; }

 private:
  void find_aliases(const clang::Stmt* code);
  [[nodiscard]] actor_key key_of(const clang::Expr* e) const;
  [[nodiscard]] actor_key key_of(const clang::VarDecl* v) const;
  void order_blocks();
  void find_loops();
  void add_events(block& b, const clang::CFGElement& element);
  void add_call(block& b, const clang::CallExpr* call);
  void lose(block& b, const clang::Expr* handed_on);
  void lose_captured(block& b, const clang::CXXRecordDecl* closure, int depth = 0);
  void lose_this(block& b);
  void add(block& b, event e);

  program& program_;
  const body& body_;
  std::set<actor_key> known_;    // actors that the function uses
  std::set<actor_key> aliased_;  // of them, those with two names
  std::unique_ptr<clang::CFG> graph_;
  std::vector<block> blocks_;
};

/// Calls f with the flow of each function of a program that is no handler and no reply: of what programs of PEs run.
void each_flow(program& p, const std::function<void(const flow&)>& f);

/// Whether a block lies in one of some loops.
[[nodiscard]] bool lies_in(const flow::block& b, const std::set<std::size_t>& loops);

/// Whether a type is an actor or selector, or a class that derives from one.
[[nodiscard]] bool is_actor(clang::QualType type);

}  // namespace shunt::translate::checks
