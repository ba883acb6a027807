/// Breadth-first search, kernel 2 of Graph500: a superstep a level, top down or bottom up.
#pragma once
#include <graph/bfs.hpp>
namespace shunt::apps::lambda_form {
class bfs {
 public:
  /// Collective.
  bfs(pgas::pe& me, pgas::symmetric<adjacency>& a)
      : me_(me), a_(a), state_(me, me, *a), frontier_(me, a->at.size(me.count())), whole_(me.sum(state_->whole)) {}
  /// Collective. Leaves the tree in parents(). \return levels
  std::uint64_t operator()(address root) {
    state_->begin();
    if (a_->at.owner(root) == me_.index()) state_->start(*a_, a_->at.row(root));
    direction next;
    extent left = whole_;
    for (std::uint64_t levels = 0;; ++levels) {
      const auto now = me_.sum(state_->advance());
      if (now.vertices == 0) return levels;
      left = left - now;
      if (next.bottom_up(now, left)) {
        graph::share(me_, bits_, state_->bits().words());
        state_->look_up(*a_, *frontier_);
      } else {
        top_down();
      }
    }
  }
  /// Local. Of each row of this PE: the root's is its own address.
  [[nodiscard]] const std::vector<address>& parents() const noexcept { return state_->parents; }

 private:
  void top_down() {
    for (const auto row : state_->rows())
      for (const auto neighbour : a_->row(row)) {
        if (!state_->name(neighbour)) continue;
        neighbours_.send(a_->at.owner(neighbour), [to = a_->at.row(neighbour), from = a_->at.of_row(row)](
                                                      adjacency& a, search& s) { s.reach(a, to, from); });
      }
    neighbours_.finish();
  }

  pgas::pe& me_;
  pgas::symmetric<adjacency>& a_;
  pgas::symmetric<search> state_;
  pgas::symmetric<bitmap> frontier_;
  pgas::actor_of<adjacency, search> neighbours_{a_, state_};
  pgas::actor_of<bitmap> bits_{frontier_};
  extent whole_;
};
}  // namespace shunt::apps::lambda_form
