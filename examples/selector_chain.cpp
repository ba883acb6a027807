// A selector has several mailboxes. A handler of one may send to later ones; finish() ends them in order.
#include <shunt/pgas.hpp>

#include <array>
#include <cstdio>

namespace {

struct order {
  int item;
};
struct parcel {
  int item, weight;
};
struct receipt {
  int weight;
};

// order -> the stock's PE -> parcel -> a carrier's PE -> receipt -> PE 0
struct shop : shunt::pgas::selector<shop, order, parcel, receipt> {
  explicit shop(shunt::pgas::pe& me) : selector(me) {}

  void process(order o) {
    ++seen[0];
    send<1>((o.item / 10) % me().count(), {o.item, o.item % 7});
  }
  void process(parcel p) {
    ++seen[1];
    send<2>(0, {p.weight});
  }
  void process(receipt r) {
    ++seen[2];
    weight += r.weight;
  }

  std::array<long, 3> seen{};
  long weight = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    constexpr int orders = 10'000;
    shop s(me);
    long wanted = 0;
    for (int i = 0; i < orders; ++i) {
      s.send<0>(i % me.count(), {i});
      wanted += i % 7;
    }
    s.done<0>();  // this program orders nothing more; optional: mailbox 0 can end while the program does other things
    s.finish();   // says done() for all mailboxes, waits for all that handlers sent on
    wanted = me.sum(wanted);
    for (const long n : s.seen) {
      if (me.sum(n) != long{orders} * me.count()) throw shunt::error("a message was lost or doubled");
    }
    if (me.index() == 0 && s.weight != wanted) throw shunt::error("a receipt is wrong");

    // The same with lambdas: `auto& here` is where a handler runs, and how it sends on.
    shunt::pgas::symmetric<long> total(me, 0L);
    {
      auto stages = shunt::pgas::make_selector<2>(total);
      for (int i = 0; i < orders; ++i) {
        stages.send<0>(i % me.count(), [i](long&, auto& here) {
          here.template send<1>((i / 10) % here.count(), [i](long& sum) { sum += i; });
        });
      }
      stages.finish();
    }
    if (me.sum(*total) != me.count() * (long{orders} * (orders - 1) / 2)) throw shunt::error("a sum is wrong");
    if (me.index() == 0) std::puts("selector chain: right");
  });
}
