/// Question: what does HPC Challenge's RandomAccess cost as messages? The kernels are the application's.
///
/// --table: updates that a process may hold back; 0: any number, which the rules do not allow.
#include <random_access/random_access_class.hpp>
#include <random_access/random_access_lambda.hpp>

#include "../common/shunt.hpp"

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const bool lambda = bench::lambda_form(argv[0], options);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    using namespace shunt;
    const auto scale = static_cast<unsigned>(options.scale);
    const std::uint64_t updates = std::uint64_t{4} << scale;
    pgas::symmetric<apps::access_table> table(me, me, scale);
    const auto plan = apps::access_plan::of(me, updates, static_cast<std::uint64_t>(options.table));
    bench::rounds(
        me, options, [&] { *table = apps::access_table(me, scale); },
        [&] {
          const auto silent = [](std::uint64_t) {};
          if (lambda) {
            apps::lambda_form::random_access(table, plan, silent);
          } else {
            apps::class_form::random_access{{me}, *table}.run(plan, silent);
          }
        },
        [&] {
          bench::must_be(argv[0], "errors", me.sum(table->errors_after(updates, me.index())), 0);
          return ", \"operations\": " + std::to_string(updates);
        });
  });
}
