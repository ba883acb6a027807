// A pipeline with a branch: numbers go in trains from a source through two stations beside each other to one that has
// both results, and nothing is copied on the way.
#include <cstdio>
#include <shunt/task.hpp>

struct sample {
  long value = 0;
  long square = 0;
  bool odd = false;
};

int main() {
  constexpr long count = 1'000'000;
  shunt::railway<sample> line({.stamp_every = 16});
  auto& in = line.source("in");
  auto& squares = line.after({&in}, "squares");
  auto& parities = line.after({&in}, "parities");
  auto& out = line.after({&squares, &parities}, "out");
  long sum = 0;
  line.operate(in, [](auto& s) {
    for (long i = 0; i != count; ++i) s.put({.value = i});
  });
  line.operate(squares, [](auto& s) {
    while (auto train = s.arrive()) {
      for (sample& one : train) one.square = one.value * one.value;
    }
  });
  line.operate(parities, [](auto& s) {
    while (auto train = s.arrive()) {
      for (sample& one : train) one.odd = one.value % 2 != 0;
    }
  });
  line.operate(out, [&](auto& s) {
    while (auto train = s.arrive()) {
      for (const sample& one : train) sum += one.odd ? one.square : 0;
    }
  });
  line.run();
  for (const auto& c : line.counts()) {
    std::fprintf(stderr, "%-9s %llu samples in %llu trains, waited %llu times\n", c.name.c_str(),
                 static_cast<unsigned long long>(c.goods), static_cast<unsigned long long>(c.trains),
                 static_cast<unsigned long long>(c.waits));
  }
  std::printf("%ld\n", sum);
  return sum == count / 2 * (count * count - 1) / 3 ? 0 : 1;  // 1 + 9 + 25 + ... below 10^6
}
