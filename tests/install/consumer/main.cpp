// What a user's first program might be: counts, and checks its answer.
#include <cstdio>
#include <shunt/pgas.hpp>
#include <vector>

int main(int argc, char** argv) {
  long total = 0;
  const int status = shunt::pgas::launch(argc, argv, [&total](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<std::vector<long>> counts(me, 4);
    shunt::pgas::actor_of updates(counts);
    for (int i = 0; i < 100; ++i) {
      updates.send(i % me.count(), [spot = i % 4](auto& part) { ++part[static_cast<std::size_t>(spot)]; });
    }
    updates.finish();
    long mine = 0;
    for (const long count : *counts) mine += count;
    const long all = me.sum(mine);
    if (me.index() == 0) total = all == 100L * me.count() ? all : -1;
  });
  if (status == 0 && total >= 0) std::puts("consumer: right");
  return status == 0 && total < 0 ? 1 : status;
}
