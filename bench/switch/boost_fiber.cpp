/// Question: what does it cost in Boost.Fiber to go from one fiber to the next?
///
/// By this_fiber::yield(), and by what its own mutexes and condition variables are made of:
/// context::schedule() and context::suspend().
#include "../common/boost_fiber.hpp"

#include <boost/fiber/all.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "ring.hpp"

namespace {

using boost::fibers::context;

/// All wait until main() wakes them, in the order of their turns.
struct yielding {
  explicit yielding(bench::ring& r) : ring(r), contexts(r.size()) {}

  void operator()(std::size_t me) {
    contexts[me] = context::active();
    ++started;
    contexts[me]->suspend();
    const auto turn = ring.turn_of(me);
    auto& all = ring;
    while (all.take(turn)) boost::this_fiber::yield();
  }
  void begin() const {
    while (started < contexts.size()) boost::this_fiber::yield();
    for (std::size_t p = 0; p < ring.size(); ++p) context::active()->schedule(contexts[ring.at(p)]);
  }

  bench::ring& ring;
  std::vector<context*> contexts;
  std::size_t started = 0;
};

struct waking {
  explicit waking(bench::ring& r) : ring(r), contexts(r.size()) {}

  void operator()(std::size_t number) {
    const auto turn = ring.turn_of(number);
    context* const me = contexts[number] = context::active();
    context* const first = contexts[ring.first()];
    const bool last = ++started == contexts.size();
    if (last && first != me) me->schedule(first);
    if (!last || first != me) me->suspend();
    context* const next = contexts[ring.next(number)];
    while (ring.take(turn)) {
      me->schedule(next);
      me->suspend();
    }
    if (!ring.all_left()) me->schedule(next);
  }

  bench::ring& ring;
  std::vector<context*> contexts;
  std::size_t started = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::ring ring(argv[0], options);
  waking awake(ring);
  yielding in_turn(ring);
  std::vector<boost::fibers::fiber> all;
  all.reserve(ring.size());
  auto stacks = bench::boost_fiber_stacks();
  for (std::size_t i = 0; i < ring.size(); ++i) {
    all.emplace_back(boost::fibers::launch::post, std::allocator_arg, stacks,
                     [&, i] { ring.chain() ? awake(i) : in_turn(i); });
  }
  if (!ring.chain()) in_turn.begin();
  for (auto& one : all) one.join();
  return ring.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
