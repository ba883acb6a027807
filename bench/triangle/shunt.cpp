/// Question: what does a wedge cost as a message? The kernels are the application's.
#include <bale/triangle_class.hpp>
#include <bale/triangle_lambda.hpp>

#include "../common/shunt.hpp"
#include "input.hpp"

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const bool lambda = bench::lambda_form(argv[0], options);
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
          mine = lambda ? shunt::apps::lambda_form::triangle(me, lower, silent)
                        : shunt::apps::class_form::triangle{{me}, *lower}.run(silent);
        },
        [&] {
          const bench::answer got{me.sum(mine.found), me.sum(mine.asked)};
          bench::must_be(argv[0], "triangles", got.triangles, expected.triangles);
          bench::must_be(argv[0], "wedges", got.wedges, expected.wedges);
          return got.members();
        });
  });
}
