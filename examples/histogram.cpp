// Counts up random spots of a distributed table. README.md shows the part between the marks; a test holds them
// together.
// [readme]
#include <cstdio>
#include <numeric>
#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<std::vector<long>> table(me, 1000);  // 1,000 counters on every PE
    shunt::pgas::actor_of counter(table);
    const shunt::counter_random random(1, me.index());
    for (int i = 0; i < 1'000'000; ++i) {
      const auto number = random.at(i);
      counter.send(int(number % me.count()),  // to that PE, to be run beside its counters:
                   [spot = unsigned(number >> 32) % 1000](auto& counts) { ++counts[spot]; });
    }
    counter.finish();  // every update has happened, everywhere
    const long sum = me.sum(std::accumulate(table->begin(), table->end(), 0L));
    if (me.index() == 0) std::printf("%ld updates on %d PEs\n", sum, me.count());
  });
}
// [/readme]
