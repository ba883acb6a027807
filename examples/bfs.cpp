// Breadth-first search by recursion: a handler sends to its own mailbox, so that quiesce() ends it, not finish().
#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>

#include <cstdio>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace {

constexpr unsigned vertices = 4096, degree = 6;
constexpr int far = std::numeric_limits<int>::max();

// The graph is a function: neighbour k of vertex v. Every PE can compute any part of it.
unsigned neighbour(unsigned v, unsigned k) {
  constexpr shunt::counter_random random(7);
  return static_cast<unsigned>(random.below(v * degree + k, vertices));
}

struct visit {
  unsigned local;
  int distance;
};

struct search : shunt::pgas::actor<search, visit> {
  explicit search(shunt::pgas::pe& me) : actor(me), distance(vertices / static_cast<unsigned>(me.count()) + 1, far) {}

  void reach(unsigned v, int d) {
    const auto pes = static_cast<unsigned>(me().count());
    send(static_cast<int>(v % pes), {v / pes, d});
  }
  void process(visit at) {
    if (distance[at.local] <= at.distance) return;  // a shorter way was found before
    distance[at.local] = at.distance;
    const unsigned v = at.local * static_cast<unsigned>(me().count()) + static_cast<unsigned>(me().index());
    for (unsigned k = 0; k < degree; ++k) reach(neighbour(v, k), at.distance + 1);
  }

  std::vector<int> distance;  // of vertex local * count + index
};

std::vector<int> serial() {
  std::vector<int> distance(vertices, far);
  std::queue<unsigned> next({0});
  distance[0] = 0;
  for (; !next.empty(); next.pop()) {
    for (unsigned k = 0; k < degree; ++k) {
      const unsigned w = neighbour(next.front(), k);
      if (distance[w] == far) distance[w] = distance[next.front()] + 1, next.push(w);
    }
  }
  return distance;
}

}  // namespace

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    search from_zero(me);
    if (me.index() == 0) from_zero.reach(0, 0);
    from_zero.quiesce();  // no message is under way anywhere
    const auto wanted = serial();
    const auto pes = static_cast<unsigned>(me.count());
    for (unsigned v = static_cast<unsigned>(me.index()); v < vertices; v += pes) {
      if (from_zero.distance[v / pes] != wanted[v]) throw shunt::error("a distance is wrong");
    }
    if (me.index() == 0) std::puts("bfs: right");
  });
}
