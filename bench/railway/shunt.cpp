/// Question: what do stations on a line cost over the bare hand-over?
///
/// Variants   two   stations are fibers on two workers (the default)
///            one   on one: nothing crosses between cores
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include <shunt/task.hpp>

#include "shape.hpp"

namespace {

using line = shunt::railway<long>;

/// Loads until nothing is left. \return in a circle, the sum of all results.
std::uint64_t load(line::loader& me, const bench::shape& s, long producer) {
  bench::numbers numbers(s, producer);
  std::uint64_t results = 0;
  while (numbers.left() != 0) {
    const auto room = me.board();
    if (s.circle) {
      const auto back = me.returned();
      results += bench::add_up(back.data(), static_cast<long>(back.size()));
    }
    me.depart(static_cast<std::size_t>(numbers.fill(room.data(), static_cast<long>(room.size()))));
  }
  if (!s.circle) return 0;
  while (auto train = me.await_returned()) results += bench::add_up(train.begin(), static_cast<long>(train.size()));
  return results;
}

/// \param results  where their sum goes, in a circle
bench::stopwatch move_goods(const bench::shape& s, int workers, std::vector<std::uint64_t>& sums,
                            std::uint64_t& results) {
  line on({.capacity = static_cast<std::size_t>(s.capacity), .trains = static_cast<std::size_t>(s.trains)});
  std::vector<line::cursor*> sources;
  for (long p = 0; p != s.producers; ++p) {
    auto& in = on.source("producer");
    sources.push_back(&in);
    on.operate(in, [&s, &results, p](auto& me) {
      if (const auto sum = load(me, s, p); s.circle) results = sum;
    });
  }
  for (auto& sum : sums) {
    on.operate(on.after(sources, "consumer"), [&s, &sum](auto& me) {
      std::uint64_t all = 0;
      while (auto train = me.arrive()) all += bench::unload(s, train.begin(), static_cast<long>(train.size()));
      sum = all;
    });
  }
  bench::stopwatch watch;
  watch.start();
  on.run(workers);
  watch.stop();
  return watch;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const auto s = bench::shape_of(argv[0], options);
  const int workers = std::string_view(options.variant) == "one" ? 1 : 2;
  shunt::sched::runtime runtime({.workers = workers});
  runtime.run([&] {
    for (long sample = 0; sample != options.warmup + options.samples; ++sample) {
      std::vector<std::uint64_t> sums(static_cast<std::size_t>(s.consumers));
      std::uint64_t results = 0;
      const auto took = move_goods(s, workers, sums, results);
      if (sample >= options.warmup) bench::report(argv[0], s, took, sums, results);
    }
  });
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
