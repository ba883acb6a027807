/// Question: what does an update cost as a message, termination included? The kernels are the application's.
///
///   --variant tasks     all messages are sent by tasks of the PE, which run on any worker
///   --variant natural   a loop over a distributed array
///   --variant indices   messages as in the lambda form; the PE and the spot of each index are found in the loop
#include <algorithm>
#include <bale/histogram_class.hpp>
#include <bale/histogram_lambda.hpp>
#include <bale/histogram_natural.hpp>
#include <shunt/task.hpp>

#include "../common/shunt.hpp"

namespace {

using counts = shunt::pgas::symmetric<std::vector<std::int64_t>>;

// Apart from one another: what stands beside a kernel's loop changes how it is compiled.
[[gnu::noinline]] void histogram_by_lambdas(counts& table, const std::vector<shunt::apps::place>& updates) {
  shunt::apps::lambda_form::histogram(table, updates);
}
[[gnu::noinline]] void histogram_by_class(shunt::pgas::pe& me, counts& table,
                                          const std::vector<shunt::apps::place>& updates) {
  shunt::apps::class_form::histogram{{me}, *table}.run(updates);
}
[[gnu::noinline]] void histogram_by_tasks(counts& table, const std::vector<shunt::apps::place>& updates) {
  shunt::pgas::actor_of increments(table);
  shunt::parallel_for(0L, static_cast<long>(updates.size()), [&](long i) {
    const auto& u = updates[static_cast<std::size_t>(i)];
    increments.send(u.pe, [spot = u.spot](auto& there) { ++there[spot]; });
  });
  increments.finish();
}
[[gnu::noinline]] void histogram_by_indices(counts& table, const std::vector<std::uint64_t>& indices, int pes) {
  shunt::pgas::cyclic dealt_out;
  dealt_out.place_on(~std::uint64_t{0}, pes);
  shunt::pgas::actor_of increments(table);
  for (const auto i : indices) {
    const auto at = dealt_out.where(i);
    increments.send(at.pe, [spot = at.spot](auto& there) { ++there[spot]; });
  }
  increments.finish();
}
[[gnu::noinline]] void histogram_by_nature(shunt::pgas::pe& me, shunt::pgas::array<std::int64_t>& table,
                                           const std::vector<std::uint64_t>& indices) {
  shunt::apps::natural::histogram(me, table, indices);
}

}  // namespace

int main(int argc, char** argv) {
  auto options = bench_parse(argc, argv);
  const bool tasks = std::strcmp(options.variant, "tasks") == 0;
  const bool natural = std::strcmp(options.variant, "natural") == 0;
  const bool by_indices = std::strcmp(options.variant, "indices") == 0;
  if (tasks || natural || by_indices) options.variant = "lambda";
  const bool lambda = bench::lambda_form(argv[0], options);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    const auto updates = bench::places(options, me);
    std::uint64_t expected = 0;
    for (const auto& u : updates) expected += bench_weight(static_cast<std::uint64_t>(u.pe), u.spot);
    counts table(me, static_cast<std::size_t>(options.table));
    std::vector<std::uint64_t> indices;
    if (natural || by_indices) indices = shunt::apps::indices_of(updates, me.count());
    const auto size = static_cast<std::uint64_t>(options.table) * static_cast<std::uint64_t>(me.count());
    shunt::pgas::array<std::int64_t> dealt(me, natural ? size : 0);
    bench::rounds(
        me, options,
        [&] {
          std::fill(table->begin(), table->end(), 0);
          dealt.fill(0);
        },
        [&] {
          if (natural) {
            histogram_by_nature(me, dealt, indices);
          } else if (by_indices) {
            histogram_by_indices(table, indices, me.count());
          } else if (tasks) {
            histogram_by_tasks(table, updates);
          } else if (lambda) {
            histogram_by_lambdas(table, updates);
          } else {
            histogram_by_class(me, table, updates);
          }
        },
        [&] {
          if (natural) table->assign(dealt.local().begin(), dealt.local().end());
          std::uint64_t sum = 0, weighted = 0;
          for (std::size_t s = 0; s < table->size(); ++s) {
            const auto count = static_cast<std::uint64_t>((*table)[s]);
            sum += count;
            weighted += count * bench_weight(static_cast<std::uint64_t>(me.index()), s);
          }
          bench::must_be(argv[0], "sum", me.sum(sum), static_cast<std::uint64_t>(me.count()) * updates.size());
          bench::must_be(argv[0], "weighted sum", me.sum(weighted), me.sum(expected));
          return bench::memory();
        });
  });
}
