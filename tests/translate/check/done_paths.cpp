// Sends that some path reaches after done().
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;
constexpr auto up = [](part& mine) { ++mine[0]; };

void branches(pgas::pe& me, bool early) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  if (early) updates.done();
  updates.send(0, up);  // wrong: send() to mailbox 0 after done()
  updates.finish();
  if (early) {
    updates.done();
  } else {
    updates.send(0, up);
  }
  updates.finish();
  if (early) {
    updates.done();
    updates.finish();
  }
  updates.send(0, up);
  updates.finish();
  if (early) {
    updates.done();
    return;
  }
  updates.send(0, up);
}

void loops(pgas::pe& me, int rounds) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  for (int i = 0; i < rounds; ++i) {
    updates.send(0, up);  // wrong: send() to mailbox 0 after done()
    updates.done();
  }
  updates.finish();
  for (int i = 0; i < rounds; ++i) {
    updates.send(0, up);
    updates.done();
    updates.finish();
  }
  for (int i = 0;; ++i) {
    updates.send(0, up);
    if (i == rounds) {
      updates.done();
      break;
    }
  }
  updates.finish();
  bool over = false;
  for (int i = 0; !over; ++i) {
    if (i == rounds) {
      updates.done();
      over = true;
    } else {
      updates.send(0, up);
    }
  }
  updates.finish();
  for (int i = 0; i < rounds; ++i) {
    if (i == 5) updates.done();
  }
  updates.send(0, up);  // wrong: send() to mailbox 0 after done()
  updates.finish();
  for (int i = 0; i < rounds; ++i) {  // one of its own each
    pgas::actor_of inner(table);
    inner.send(0, up);
    inner.done();
  }
}

template <std::size_t Mailboxes>
void in_template(pgas::symmetric<part>& table) {
  auto stages = pgas::make_selector<Mailboxes>(table);
  stages.template done<Mailboxes - 1>();
  stages.template send<Mailboxes - 1>(0, up);  // wrong: after done() for it in line
  stages.finish();
}

void ends(pgas::symmetric<part>& table) {
  pgas::actor_of updates(table);
  updates.send(0, up);
  const auto end = updates.ending();
  updates.send(0, up);  // wrong: send() after ending() in line
  end.wait();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    branches(me, true);
    loops(me, 5);
    pgas::symmetric<part> table(me, 100);
    in_template<1>(table);
    in_template<2>(table);
    ends(table);
  });
}
