// Two mailboxes: requests, and replies that handlers send back through `here`.
#include <cstdio>
#include <shunt/pgas.hpp>
#include <vector>

namespace shunt::published {

using part = std::vector<long>;

void gather(pgas::pe& me, pgas::symmetric<part>& table, pgas::symmetric<part>& target) {
  auto reader = pgas::make_selector<2>(table, target);
  for (unsigned i = 0; i < target->size(); ++i) {
    const unsigned pe = i % static_cast<unsigned>(me.count());
    // Half of the replies go where the message says, half where it came from.
    if (i % 2 == 0) {
      reader.send<0>(static_cast<int>(pe), [spot = i % 50, i, back = me.index()](part& there, part&, auto& here) {
        here.template send<1>(back, [i, value = there[spot]](part&, part& gathered) { gathered[i] = value; });
      });
    } else {
      reader.send<0>(static_cast<int>(pe), [spot = i % 50, i](const part& there, auto&, auto& here) {
        // the reply
        here.template send<1>(here.from(), [i, value = there[spot]](part&, part& gathered, auto& here) {
          gathered[i] = here.count() > here.index() ? value : -1;
        });
      });
    }
  }
  reader.done<0>();
  reader.done<1>();
  reader.finish();
}

}  // namespace shunt::published

int main(int argc, char** argv) {
  using namespace shunt::published;  // of names that no handler uses
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    shunt::pgas::symmetric<part> table(me, 50u), target(me, 500u);
    for (unsigned i = 0; i < 50; ++i) (*table)[i] = 1000L * me.index() + i;
    me.barrier();
    gather(me, table, target);
    long wrong = 0;
    for (unsigned i = 0; i < 500; ++i)
      wrong += (*target)[i] != 1000L * (i % static_cast<unsigned>(me.count())) + i % 50;
    if (me.sum(wrong) != 0) throw shunt::error("wrong");
    if (me.index() == 0) std::puts("gathered");
  });
}
