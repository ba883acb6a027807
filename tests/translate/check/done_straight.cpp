// Sends after done(), one after the other.
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;

void straight(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  const auto up = [](part& mine) { ++mine[0]; };
  updates.send(0, up);
  updates.done();
  updates.send(0, up);  // wrong: send() to mailbox 0 after done() for it in line 17
  const auto first = [](const part& there) { return there[0]; };
  updates.ask(0, first, [](part&, long) {});   // wrong: ask() to mailbox 0 after done()
  static_cast<void>(updates.fetch(0, first));  // wrong: fetch() to mailbox 0 after done()
  updates.finish();
  updates.send(0, up);  // the next epoch
  updates.finish();
}

void several(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  auto stages = pgas::make_selector<3>(table);
  auto others = pgas::make_selector<3>(table);
  const auto up = [](part& mine) { ++mine[0]; };
  stages.done<0>();
  stages.send<1>(0, up);
  others.send<0>(0, up);
  stages.done(1);
  stages.send<1>(0, up);          // wrong: send() to mailbox 1 after done()
  stages.send_through(1, 0, up);  // wrong: send_through() to mailbox 1 after done()
  stages.send_through(2, 0, up);
  stages.send<0>(0, up);  // wrong: send() to mailbox 0 after done()
  stages.finish();
  others.finish();
}

// A mailbox that is chosen while running may be any, or another one.
void chosen(pgas::pe& me, std::size_t which) {
  pgas::symmetric<part> table(me, 100);
  auto stages = pgas::make_selector<3>(table);
  const auto up = [](part& mine) { ++mine[0]; };
  stages.done(which);
  stages.send<0>(0, up);
  stages.done<1>();
  stages.send_through(which, 0, up);
  stages.finish();
}

// A handler of an earlier mailbox may send: the program's done() does not concern it.
void in_handlers(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  auto stages = pgas::make_selector<2>(table);
  stages.send<0>(0, [](part&, auto& here) { here.template send<1>(0, [](part& mine) { ++mine[0]; }); });
  stages.done<1>();
  stages.send<0>(0, [](part&, auto& here) { here.template send<1>(0, [](part& mine) { ++mine[0]; }); });
  stages.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    straight(me);
    several(me);
    chosen(me, 1);
    in_handlers(me);
  });
}
