// Waits in process() and replied().
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct visit {
  int vertex;
};
struct question {
  int spot;
};

struct search : pgas::selector<search, visit, pgas::asking<question, int, long>> {
  explicit search(pgas::pe& me) : selector(me), values(100) {}

  void process(visit at) {
    ++values[static_cast<std::size_t>(at.vertex)];
    if (at.vertex > 5) finish();   // wrong: a handler calls finish()
    if (at.vertex > 6) quiesce();  // wrong: a handler calls quiesce()
    send<0>(me().index(), {at.vertex - 1});
    me().barrier();  // wrong: a handler calls barrier()
  }
  long process(question q) {
    static_cast<void>(me().max(q.spot));  // wrong: a handler calls max()
    return values[static_cast<std::size_t>(q.spot)];
  }
  void replied(int spot, long value) {
    values[static_cast<std::size_t>(spot)] = value;
    total = me().sum(value);  // wrong: a handler calls sum()
  }

  // The program calls these, no message does.
  void run() {
    send<0>(0, {3});
    ask<1>(0, question{1}, 5);
    quiesce();
    me().barrier();
    finish();
  }
  void process_all() { me().barrier(); }

  std::vector<long> values;
  long total = 0;
};

// Not a selector: its process() is the program's own.
struct other {
  void process(pgas::pe& me) { me.barrier(); }
};

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    search s(me);
    s.run();
    s.process_all();
    other().process(me);
  });
}
