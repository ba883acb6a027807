/// Question: what does it cost to go from one fiber to the next, by yielding and by waking?
///
///   --variant compact   compact fibers: their frames are put aside while others use their place
#include <cstdio>
#include <cstring>
#include <exception>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/runtime.hpp>
#include <vector>

#include "ring.hpp"

namespace {

using namespace shunt::sched;

/// All wait until all have started: a fiber that starts does so between others' turns.
struct yielding {
  explicit yielding(bench::ring& r) : ring(r), wakers(r.size()) {}

  void operator()(std::size_t me) {
    wakers[me] = this_fiber::self();
    ++started;
    while (!begun) this_fiber::park();
    const auto turn = ring.turn_of(me);
    auto& all = ring;
    while (all.take(turn)) this_fiber::yield();
  }
  /// The last one woken would run first: that is a fiber without a turn.
  void begin() {
    while (started < wakers.size()) this_fiber::yield();
    waker bystander;
    this_worker::current().spawn(
        [&bystander] {
          bystander = this_fiber::self();
          this_fiber::park();
        },
        {.worker = 0});
    while (!bystander) this_fiber::yield();
    begun = true;
    for (std::size_t p = 0; p < ring.size(); ++p) wakers[ring.at(p)].wake();
    bystander.wake();
  }

  bench::ring& ring;
  std::vector<waker> wakers;
  std::size_t started = 0;
  bool begun = false;
};

struct waking {
  explicit waking(bench::ring& r) : ring(r), wakers(r.size()) {}

  void operator()(std::size_t me) {
    const auto turn = ring.turn_of(me);
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

  void await(bench::turn turn) const {
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
  const bool compact = std::strcmp(options.variant, "compact") == 0;
  if (!compact && *options.variant != '\0') bench_bad_option(argv[0], "--variant", options.variant);
  waking awake(ring);
  yielding in_turn(ring);
  runtime one({.workers = 1, .stack_bytes = 64 * 1024});  // the rivals' have as much
  one.run([&] {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      one.spawn([&, i] { ring.chain() ? awake(i) : in_turn(i); }, {.worker = 0, .compact = compact});
    }
    if (!ring.chain()) in_turn.begin();
  });
  return ring.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
