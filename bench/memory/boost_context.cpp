/// Question: how much memory does a parked context of Boost.Context take?
///
/// A stack and a pointer; main() jumps into each, which jumps back to park.
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <exception>
#include <vector>

#include "../common/stacks.hpp"
#include "parked.hpp"

namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

void body(transfer_t came) {
  auto& fibers = *static_cast<bench::parked_fibers*>(came.data);
  fibers.parks();
  came = jump_fcontext(came.fctx, nullptr);
  fibers.wakes();
  jump_fcontext(came.fctx, nullptr);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::parked_fibers fibers(argv[0], options);
  fibers.start();
  const bench::stacks stacks(fibers.size());
  std::vector<fcontext_t> all(fibers.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto fresh = make_fcontext(stacks.top(i), bench::stacks::usable, &body);
    all[i] = jump_fcontext(fresh, &fibers).fctx;
  }
  fibers.measure();
  for (const auto one : all) jump_fcontext(one, nullptr);
  return fibers.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
