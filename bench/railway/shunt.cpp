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

double move_goods(const bench::shape& s, int workers, std::vector<std::uint64_t>& sums) {
  shunt::railway<long> line(
      {.capacity = static_cast<std::size_t>(s.capacity), .trains = static_cast<std::size_t>(s.trains)});
  std::vector<shunt::railway<long>::cursor*> sources;
  for (long p = 0; p != s.producers; ++p) {
    auto& in = line.source("producer");
    sources.push_back(&in);
    line.operate(in, [&s, p](auto& me) {
      bench::numbers numbers(s, p);
      while (numbers.left() != 0) {
        const auto room = me.board();
        me.depart(static_cast<std::size_t>(numbers.fill(room.data(), static_cast<long>(room.size()))));
      }
    });
  }
  for (auto& sum : sums) {
    line.operate(line.after(sources, "consumer"), [&sum](auto& me) {
      std::uint64_t all = 0;
      while (auto train = me.arrive()) all += bench::add_up(train.begin(), static_cast<long>(train.size()));
      sum = all;
    });
  }
  const double start = bench_now();
  line.run(workers);
  return bench_now() - start;
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
      const double seconds = move_goods(s, workers, sums);
      if (sample >= options.warmup) bench::report(argv[0], s, seconds, sums);
    }
  });
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
