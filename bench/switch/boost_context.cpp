/// Question: what does Boost.Context's switch cost, without a scheduler?
///
/// jump_fcontext, the assembly below boost::context::fiber, over an array of contexts: each jumps
/// to its successor. No queue, so all orders are the same program.
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "../common/stacks.hpp"
#include "ring.hpp"

namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

struct member {
  fcontext_t context;  // while it does not run
  member* next;
  bench::turn turn;
};

bench::ring* ring = nullptr;
member outside;  // main()

void jump(member& from, member& to) {
  const transfer_t came = jump_fcontext(to.context, &from);
  static_cast<member*>(came.data)->context = came.fctx;
}

void body(transfer_t came) {
  auto& before = *static_cast<member*>(came.data);
  before.context = came.fctx;
  member& me = *before.next;  // its first turn was handed over by its predecessor
  const auto turn = me.turn;
  while (ring->take(turn)) jump(me, *me.next);
  jump(me, ring->all_left() ? outside : *me.next);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::ring order(argv[0], options);
  ring = &order;
  const bench::stacks stacks(order.size());
  std::vector<member> all(order.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {make_fcontext(stacks.top(i), bench::stacks::usable, &body), &all[order.next(i)], order.turn_of(i)};
  }
  outside.next = &all[order.first()];
  jump(outside, *outside.next);
  return order.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
