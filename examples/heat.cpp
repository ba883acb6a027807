// The heat equation as in the published study of Templet: an actor a row, a message between two rows. Whoever has both
// of its messages may compute its row; sending them on lets the neighbours.
#include <cstdio>
#include <exception>
#include <vector>

#include <shunt/actor.hpp>

namespace {

namespace actors = shunt::actors;

constexpr int H = 100, W = 200, T = 200, N = H - 2;
using field = std::vector<std::vector<double>>;
field plate(H, std::vector<double>(W));

void op(field& f, std::size_t i) {
  for (std::size_t j = 1; j < W - 1; ++j) f[i][j] = (f[i][j - 1] + f[i][j + 1] + f[i - 1][j] + f[i + 1][j]) * 0.25;
}

// [heat actor]
actors::engine e;
actors::actor as[N];
actors::message ms[N - 1];
int ts[N];

void recv(actors::message&, actors::actor& a) {
  const auto id = &a - as;
  if ((id == 0 || access(ms[id - 1], a)) && (id == N - 1 || access(ms[id], a)) && ts[id] < T) {
    op(plate, static_cast<std::size_t>(id + 1));
    if (++ts[id] == T) ended(a);
    if (id != 0) send(e, ms[id - 1], as[id - 1]);
    if (id != N - 1) send(e, ms[id], as[id + 1]);
  }
}
// [/heat actor]

}  // namespace

int main() try {
  for (std::size_t j = 0; j < W; ++j) plate[0][j] = 100;  // one side is hot
  field expected = plate;
  for (int t = 0; t < T; ++t) {
    for (std::size_t i = 1; i < H - 1; ++i) op(expected, i);
  }

  for (int i = 0; i < N; ++i) {
    as[i].recv = recv;
    must_end(e, as[i], "its sweeps");
    if (i < N - 1) give(e, ms[i], as[i]);
  }
  send(e, ms[0], as[0]);
  const auto done = run(e);
  std::printf("%llu messages; %s\n", static_cast<unsigned long long>(done.messages),
              plate == expected ? "as computed in order" : "WRONG");
  return plate == expected ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
