/// Question: what does a read cost as a request and a reply? The kernels are the application's.
///
///   --variant natural   pgas::gather() of a distributed array
#include <algorithm>
#include <bale/index_gather_class.hpp>
#include <bale/index_gather_lambda.hpp>
#include <bale/index_gather_natural.hpp>

#include "../common/shunt.hpp"

namespace {

using part = std::vector<std::int64_t>;
using symmetric_part = shunt::pgas::symmetric<part>;

// Apart from one another: what stands beside a kernel's loop changes how it is compiled.
[[gnu::noinline]] void gather_by_lambdas(symmetric_part& table, symmetric_part& target,
                                         const std::vector<shunt::apps::place>& reads) {
  shunt::apps::lambda_form::index_gather(table, target, reads);
}
[[gnu::noinline]] void gather_by_class(shunt::pgas::pe& me, part& table, part& target,
                                       const std::vector<shunt::apps::place>& reads) {
  shunt::apps::class_form::index_gather{{me}, table, target}.run(reads);
}
[[gnu::noinline]] void gather_by_nature(shunt::pgas::array<std::int64_t>& table,
                                        const std::vector<std::uint64_t>& indices, part& target) {
  shunt::apps::natural::index_gather(table, indices, target);
}

}  // namespace

int main(int argc, char** argv) {
  auto options = bench_parse(argc, argv);
  const bool natural = std::strcmp(options.variant, "natural") == 0;
  if (natural) options.variant = "lambda";
  const bool lambda = bench::lambda_form(argv[0], options);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    const auto reads = bench::places(options, me);
    symmetric_part table(me, static_cast<std::size_t>(options.table));
    symmetric_part target(me, reads.size());
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
            gather_by_nature(dealt, indices, *target);
          } else if (lambda) {
            gather_by_lambdas(table, target, reads);
          } else {
            gather_by_class(me, *table, *target, reads);
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
