// A handler may run for several messages: it is called as const.
// expect: the lambda must not be mutable
#include <shunt/pgas.hpp>
#include <vector>

void send(shunt::pgas::pe& me) {
  shunt::pgas::symmetric<std::vector<long>> counts(me, 10);
  shunt::pgas::actor_of updates(counts);
#ifdef MUST_NOT_COMPILE
  updates.send(0, [calls = 0](auto& part) mutable { part[0] += ++calls; });
#else
  updates.send(0, [calls = 1](auto& part) { part[0] += calls; });
#endif
}
