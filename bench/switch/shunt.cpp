/// Question: what does it cost to go from one fiber to the next, by yielding and by waking?
#include <cstdio>
#include <exception>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/runtime.hpp>
#include <vector>

#include "ring.hpp"

namespace {

using namespace shunt::sched;

void by_yielding(bench::ring& ring, std::size_t me) {
  auto turn = ring.first_turn(me);
  while (ring.take(turn)) this_fiber::yield();
}

struct waking {
  explicit waking(bench::ring& r) : ring(r), wakers(r.size()) {}

  void operator()(std::size_t me) {
    auto turn = ring.first_turn(me);
    wakers[me] = this_fiber::self();
    if (++started == wakers.size()) wakers[ring.first()].wake();
    while (started < wakers.size()) this_fiber::park();
    await(turn);
    const waker next = wakers[ring.next(me)];
    while (ring.take(turn)) {
      next.wake();
      await(turn);
    }
    next.wake();
  }

  void await(std::uint64_t turn) const {
    while (!ring.has_come(turn)) this_fiber::park();
  }

  bench::ring& ring;
  std::vector<waker> wakers;
  std::size_t started = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::ring ring(argv[0], options);
  waking awake(ring);
  runtime one({.workers = 1});
  one.run([&] {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      one.spawn([&, i] { ring.random() ? awake(i) : by_yielding(ring, i); }, {.worker = 0});
    }
  });
  return ring.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
