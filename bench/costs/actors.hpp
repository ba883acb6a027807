/// Costs of messages between actors of one worker.
#pragma once

#include <algorithm>
#include <shunt/actor.hpp>
#include <shunt/templet.hpp>
#include <vector>

#include "cost.hpp"

namespace bench {

struct answering {
  void add() { ++sum; }
  long next(long number) const { return number + 1; }
  long get() const { return sum; }
  long sum = 0;
};

struct asking {
  explicit asking(shunt::ref<answering> other) : to(other) {}

  void tell_all(shunt::ref<asking> me, long left) {
    const long now = std::min(left, 500L);  // the mailbox has room for them
    for (long i = 0; i < now; ++i) to.tell<&answering::add>();
    if (left > now) me.tell<&asking::tell_all>(me, left - now);
  }
  void ask_together(long count) {
    std::vector<shunt::future<long>> answers(100);
    for (right = 0; right < count;) {
      for (auto& answer : answers) answer = to.ask<&answering::next>(right);
      for (auto& answer : answers) right += answer.get() > 0 ? 1 : 0;
    }
  }
  void ask_in_turn(long count) {
    for (right = 0; right < count;) right = to.ask<&answering::next>(right).get();
  }
  long get() const { return right; }

  shunt::ref<answering> to;
  long right = 0;
};

/// What one actor does to another one until no message is on its way.
template <typename Begin>
cost between_actors(long operations, Begin&& begin) {
  shunt::manager all(shunt::sched::options{.workers = 1, .stuck_after = {}});
  const auto to = all.spawn<answering>();
  const auto from = all.spawn<asking>({}, to);
  return processor_time(operations, [&](long n) { return begin(all, to, from, n); });
}
inline cost tell(long operations) {
  long before = 0;
  return between_actors(operations, [&before](auto& all, auto to, auto from, long n) {
    from.template tell<&asking::tell_all>(from, n);
    all.drain();
    const long sum = all.await(to.template ask<&answering::get>());
    return sum - std::exchange(before, sum);
  });
}
inline cost ask_together(long operations) {
  return between_actors(operations, [](auto& all, auto, auto from, long n) {
    from.template tell<&asking::ask_together>(n);
    all.drain();
    return std::min(all.await(from.template ask<&asking::get>()), n);
  });
}
inline cost ask_in_handler(long operations) {
  return between_actors(operations, [](auto& all, auto, auto from, long n) {
    from.template tell<&asking::ask_in_turn>(n);
    all.drain();
    return all.await(from.template ask<&asking::get>());
  });
}
inline cost ask_in_fiber(long operations) {
  shunt::sched::runtime one({.workers = 1});
  cost found;
  one.run([&] {
    shunt::manager all(one);
    const auto to = all.spawn<answering>();
    found = processor_time(operations, [&](long n) {
      long right = 0;
      while (right < n) right = to.ask<&answering::next>(right).get();
      return right;
    });
  });
  return found;
}

/// Two actors with many messages, which each sends back.
class game {
 public:
  explicit game(long sends) : left_(sends) {
    for (auto& a : players_) a.recv = hit;
    now_ = this;
    for (auto& m : balls_) send(engine_, m, players_[0]);
    handled_ = static_cast<long>(run(engine_, 1).messages);
  }
  [[nodiscard]] long handled() const { return handled_; }

 private:
  static void hit(shunt::templet::message& m, shunt::templet::actor& at) {
    game& g = *now_;
    if (g.left_ <= most) return;
    --g.left_;
    send(g.engine_, m, &at == &g.players_[0] ? g.players_[1] : g.players_[0]);
  }

  static constexpr long most = 64;
  static inline game* now_ = nullptr;
  long left_;
  long handled_ = 0;
  shunt::templet::engine engine_;
  shunt::templet::actor players_[2];
  shunt::templet::message balls_[most];
};
inline cost templet_send(long operations) {
  return processor_time(operations, [](long n) { return game(n).handled(); });
}

}  // namespace bench
