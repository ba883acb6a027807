// A program with a mistake: it adds up what the messages count, and has not waited for the messages.
#include <cstdio>
#include <vector>

#include <shunt/pgas.hpp>

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<std::vector<long>> histogram(me, 10);
    shunt::pgas::actor_of updates(histogram);
    for (int i = 0; i < 1000; ++i) {
      updates.send(i % me.count(),
                   [spot = i % 10](std::vector<long>& counts) { ++counts[static_cast<std::size_t>(spot)]; });
    }
    long mine = 0;
    for (const long n : *histogram) mine += n;
    const long all = me.sum(mine);
    if (me.index() == 0) std::printf("%ld updates\n", all);
  });
}
