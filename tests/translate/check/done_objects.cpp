// Selectors that are objects of a class, members, or handed on.
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;
constexpr auto up = [](part& mine) { ++mine[0]; };

struct shop : pgas::selector<shop, int, long> {
  explicit shop(pgas::pe& me) : selector(me) {}
  void process(int order) {
    done<1>();
    send<1>(0, order);  // a handler may
  }
  void process(long) { ++seen; }
  void run() {
    send<0>(0, 1);
    done<0>();
    send<0>(0, 2);  // wrong: send() to mailbox 0 after done()
    finish();
    send<0>(0, 3);
    done<0>();
    start_again();  // may call finish()
    send<0>(0, 4);
    finish();
  }
  void start_again() { finish(); }
  long seen = 0;
};

class owner {
 public:
  explicit owner(pgas::pe& me) : table_(me, 100), updates_(table_) {}
  void run() {
    updates_.done();
    updates_.send(0, up);  // wrong: send() to mailbox 0 after done()
    updates_.finish();
    updates_.done();
    settle();
    updates_.send(0, up);
  }
  void settle() { updates_.finish(); }

 private:
  pgas::symmetric<part> table_;
  pgas::actor_of<part> updates_;
};

void finish_it(pgas::actor_of<part>& a) { a.finish(); }

void handed_on(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  updates.done();
  finish_it(updates);
  updates.send(0, up);
  updates.done();
  const auto settle = [&] { updates.finish(); };
  settle();
  updates.send(0, up);
  updates.done();
  [&] { updates.send(0, up); }();
  auto& same = updates;
  updates.finish();
  updates.done();
  same.finish();
  updates.send(0, up);
}

// A reference is a second name of one actor.
void second_names(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of one(table), other(table);
  auto& same = one;
  auto& again = same;
  one.done();
  other.send(0, up);
  again.send(0, up);  // wrong: send() to mailbox 0 after done()
  same.finish();
  again.done();
  one.send(0, up);  // wrong: send() to mailbox 0 after done()
  one.finish();
  same.send(0, up);
  one.done();
  [&it = one] { it.finish(); }();
  one.send(0, up);
}

// Which of the two it is, is not to be known.
void either(pgas::pe& me, bool first) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of one(table), other(table);
  auto& chosen = first ? one : other;
  chosen.done();
  one.send(0, up);
  other.send(0, up);
}

void of_parameter(shop& s) {
  s.send<1>(0, 1L);
  s.done<1>();
  s.send<1>(0, 2L);  // wrong: send() to mailbox 1 after done()
  ++s.seen;
  s.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    shop s(me);
    s.run();
    of_parameter(s);
    owner(me).run();
    handed_on(me);
    second_names(me);
    either(me, true);
  });
}
