// A class has a public process() for each type of message that its mailboxes carry.
// expect: the class needs a public process
#include <shunt/pgas.hpp>

struct edge {
  int from, to;
};

struct counter : shunt::pgas::selector<counter, edge> {
#ifdef MUST_NOT_COMPILE
  void process(int, int) {}
#else
  void process(edge, int) {}
#endif
};

void send(shunt::pgas::pe& me) {
  counter edges{{me}};
  edges.send(0, edge{1, 2});
}
