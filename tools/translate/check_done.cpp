/// A send to a mailbox after done() for it: the library throws there. ending() says done() for all mailboxes.
///
/// Reported if the flow of one function leads from done() to the send, on some path, without finish() or quiesce()
/// between. A path that goes round a loop counts if each round says done(). Conditions are not compared: where one `if`
/// guards done(), and a later one the send, both are thought to happen. Not looked at: mailboxes whose number is not a
/// constant, and handlers, which may send to mailboxes for which their program has said done().
#include <clang/AST/ASTContext.h>

#include <map>

#include "check_flow.hpp"

namespace shunt::translate::checks {

namespace {

constexpr int most_passes = 20;                             // a pass for each loop in another one, and two
constexpr std::uint64_t all_mailboxes = ~std::uint64_t{0};  // after ending()

/// A mailbox that is done.
struct said {
  const clang::Stmt* by;
  bool always;                   ///< on each path that leads here
  std::set<std::size_t> rounds;  ///< loops that it went around in some of their rounds: there it is not reported

  friend bool operator==(const said&, const said&) = default;
};
using mailbox = std::pair<actor_key, std::uint64_t>;
using state = std::map<mailbox, said>;

class done_before_send {
 public:
  done_before_send(program& p, const flow& f) : program_(p), flow_(f), ends_(f.blocks().size()) {}

  void look() {
    for (int pass = 0; pass != most_passes && walk();) ++pass;
    says_ = true;
    walk();
  }

 private:
  /// \return whether some block's end has become another one
  bool walk() {
    bool is_more = false;
    for (std::size_t i = 0; i != ends_.size(); ++i) {
      here_ = &flow_.blocks()[i];
      auto now = joined(here_->from);
      for (const auto before : here_->back) add_round(now, ends_[before], i);
      for (const auto& e : here_->events) apply(now, e);
      is_more |= now != ends_[i];
      ends_[i] = std::move(now);
    }
    return is_more;
  }

  /// Of two ways to the same place, the one that is reported in more places.
  static void add(state& now, const mailbox& key, said how) {
    const auto [at, is_new] = now.try_emplace(key, how);
    if (!is_new && how.rounds.size() < at->second.rounds.size()) at->second = std::move(how);
  }
  [[nodiscard]] state joined(const std::vector<std::size_t>& from) const {
    state all;
    for (const auto i : from) {
      for (const auto& [key, how] : ends_[i]) add(all, key, how);
    }
    for (auto& [key, how] : all) {
      for (const auto i : from) {
        const auto at = ends_[i].find(key);
        how.always &= at != ends_[i].end() && at->second.always;
      }
    }
    return all;
  }
  static void add_round(state& now, const state& end, std::size_t loop) {
    for (auto [key, how] : end) {
      if (!how.always) how.rounds.insert(loop);
      how.always = false;
      add(now, key, std::move(how));
    }
  }

  void apply(state& now, const event& e) const {
    switch (e.what) {
      case event::sent: return look_at(now, e);
      case event::done:
        if (e.mailbox) now[{e.actor, *e.mailbox}] = {e.at, true, {}};
        return;
      case event::ended: now[{e.actor, all_mailboxes}] = {e.at, true, {}}; return;
      case event::finished:
      case event::lost: std::erase_if(now, [&](const auto& one) { return one.first.first == e.actor; }); return;
      case event::all_lost: now.clear(); return;
      case event::evaluated: return;
    }
  }

  [[nodiscard]] bool holds(const state& now, state::const_iterator at) const {
    return at != now.end() && !lies_in(*here_, at->second.rounds);
  }
  void look_at(const state& now, const event& e) const {
    if (!says_) return;
    const auto* call = e.message->call;
    if (const auto at = now.find({e.actor, all_mailboxes}); holds(now, at)) {
      return say(call, e.message->name + "() after ending() in line " + line(at->second) +
                           ", which says done() for every mailbox: send before it");
    }
    if (!e.mailbox) return;
    if (const auto at = now.find({e.actor, *e.mailbox}); holds(now, at)) {
      say(call, e.message->name + "() to mailbox " + std::to_string(*e.mailbox) + " after done() for it in line " +
                    line(at->second) + ": send before done(), or call finish() between");
    }
  }
  [[nodiscard]] std::string line(const said& s) const { return std::to_string(program_.line(s.by->getBeginLoc())); }
  void say(const clang::CallExpr* at, const std::string& text) const { program_.say("done", at->getExprLoc(), text); }

  program& program_;
  const flow& flow_;
  std::vector<state> ends_;  // of the blocks
  const flow::block* here_ = nullptr;
  bool says_ = false;
};

}  // namespace

void check_done(program& p) {
  each_flow(p, [&p](const flow& f) { done_before_send(p, f).look(); });
}

}  // namespace shunt::translate::checks
