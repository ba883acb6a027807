/// Question: what does a read cost as a request and a reply? The kernels are the application's.
///
///   --variant natural   pgas::gather() of a distributed array
#include <algorithm>
#include <bale/index_gather_class.hpp>
#include <bale/index_gather_lambda.hpp>
#include <bale/index_gather_natural.hpp>

#include "../common/shunt.hpp"

int main(int argc, char** argv) {
  auto options = bench_parse(argc, argv);
  const bool natural = std::strcmp(options.variant, "natural") == 0;
  if (natural) options.variant = "lambda";
  const bool lambda = bench::lambda_form(argv[0], options);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    const auto reads = bench::places(options, me);
    shunt::pgas::symmetric<std::vector<std::int64_t>> table(me, static_cast<std::size_t>(options.table));
    shunt::pgas::symmetric<std::vector<std::int64_t>> target(me, reads.size());
    for (std::size_t s = 0; s < table->size(); ++s) {
      (*table)[s] = bench_table_value(static_cast<std::uint64_t>(me.index()), s);
    }
    std::vector<std::uint64_t> indices;
    if (natural) indices = shunt::apps::indices_of(reads, me.count());
    const auto size = static_cast<std::uint64_t>(options.table) * static_cast<std::uint64_t>(me.count());
    shunt::pgas::array<std::int64_t> dealt(me, natural ? size : 0);
    if (natural) std::copy(table->begin(), table->end(), dealt.local().begin());
    bench::rounds(
        me, options, [&] { std::fill(target->begin(), target->end(), 0); },
        [&] {
          if (natural) {
            shunt::apps::natural::index_gather(dealt, indices, *target);
          } else if (lambda) {
            shunt::apps::lambda_form::index_gather(table, target, reads);
          } else {
            shunt::apps::class_form::index_gather{{me}, *table, *target}.run(reads);
          }
        },
        [&] {
          std::uint64_t wrong = 0;
          for (std::size_t i = 0; i < reads.size(); ++i) {
            wrong += (*target)[i] != bench_table_value(static_cast<std::uint64_t>(reads[i].pe), reads[i].spot);
          }
          bench::must_be(argv[0], "entries that differ", me.sum(wrong), 0);
          return std::string();
        });
  });
}
