/// Question: what does a wedge cost as a message, or as a part of one? The kernels are the application's.
///
///   --variant lambda, class, natural   the kind of message that the application takes for this graph
///   --variant wedge                    a message a wedge, as published, in the lambda form
#include <bale/triangle_count.hpp>

#include "../common/shunt.hpp"
#include "input.hpp"

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const bool by_wedge = std::strcmp(options.variant, "wedge") == 0;
  using shunt::apps::form;
  const auto which = by_wedge ? form::lambda : bench::form_of(argv[0], options);
  const auto whole =
      bench::make_graph(argv[0], options, static_cast<std::uint64_t>(options.pes == 0 ? 2 : options.pes));
  const auto expected = bench::expected_answer(whole);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<shunt::apps::rows> lower(me, shunt::apps::deal(whole, me.index(), me.count()));
    shunt::apps::tally mine;
    const auto silent = [](std::uint32_t) {};
    bench::rounds(
        me, options, [&] { mine = {}; },
        [&] {
          const auto how = by_wedge ? shunt::apps::ask_by::wedge : shunt::apps::better_for(me, *lower);
          mine = shunt::apps::count_triangles(me, lower, which, how, silent);
        },
        [&] {
          const bench::answer got{me.sum(mine.found), me.sum(mine.asked)};
          bench::must_be(argv[0], "triangles", got.triangles, expected.triangles);
          bench::must_be(argv[0], "wedges", got.wedges, expected.wedges);
          return got.members();
        });
  });
}
