// Reading a distributed table: ask() for many entries, fetch() for one.
#include <shunt/pgas.hpp>

#include <cstdio>
#include <vector>

namespace {
using part = std::vector<long>;
}

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    constexpr unsigned entries = 1000, reads = 50'000;
    shunt::pgas::symmetric<part> table(me, entries);
    shunt::pgas::symmetric<part> gathered(me, reads);
    for (unsigned i = 0; i < entries; ++i) (*table)[i] = 1000L * me.index() + i;

    shunt::pgas::actor_of reader(table, gathered);
    for (unsigned i = 0; i < reads; ++i) {
      const int pe = static_cast<int>(i % static_cast<unsigned>(me.count()));
      reader.ask(
          pe, [spot = i % entries](const part& there, part&) { return there[spot]; },  // there
          [i](part&, part& here, long value) { here[i] = value; });                    // then here
    }
    reader.finish();  // every reply has been stored
    for (unsigned i = 0; i < reads; ++i) {
      if ((*gathered)[i] != 1000L * (i % static_cast<unsigned>(me.count())) + i % entries) {
        throw shunt::error("a reply went astray");
      }
    }

    // One value, now. Costs a round trip; the program waits, other programs and handlers go on.
    const int next = (me.index() + 1) % me.count();
    const long last = reader.fetch(next, [](const part& there, part&) { return there.back(); });
    if (last != 1000L * next + entries - 1) throw shunt::error("fetch() returned another value");
    if (me.index() == 0) std::puts("request and reply: right");
  });
}
