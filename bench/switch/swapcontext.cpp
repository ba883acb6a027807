/// Question: what does the C library's own switch cost?
///
/// swapcontext over an array of contexts, each to its successor: it saves the signal mask, hence a
/// system call a switch. No queue, so all orders are the same program.
#include <cstdio>
#include <exception>
#include <vector>

#include "../common/stacks.hpp"
#include "../common/ucontext.hpp"
#include "ring.hpp"

namespace {

struct member {
  ucontext_t context;
  member* next;
  bench::turn turn;
};

bench::ring* ring = nullptr;
member* starting = nullptr;  // makecontext's arguments are ints, so a pointer does not fit
ucontext_t outside;          // main()'s

void body() {
  member& me = *starting;
  const auto turn = me.turn;
  while (ring->take(turn)) {
    starting = me.next;  // read in the first lap only
    swapcontext(&me.context, &me.next->context);
  }
  swapcontext(&me.context, ring->all_left() ? &outside : &me.next->context);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::ring order(argv[0], options);
  ring = &order;
  const bench::stacks stacks(order.size());
  std::vector<member> all(order.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].next = &all[order.next(i)];
    all[i].turn = order.turn_of(i);
    bench::prepare(all[i].context, stacks.low(i), stacks.top(i), &body);
  }
  starting = &all[order.first()];
  swapcontext(&outside, &starting->context);
  return order.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
