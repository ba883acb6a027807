// A reference means nothing on another PE.
// expect: captures a reference
#include <shunt/pgas.hpp>
#include <vector>

void send(shunt::pgas::pe& me) {
  shunt::pgas::symmetric<std::vector<long>> counts(me, 10);
  shunt::pgas::actor_of updates(counts);
  long weight = 3;
#ifdef MUST_NOT_COMPILE
  updates.send(0, [&](auto& part) { part[0] += weight; });
#else
  updates.send(0, [=](auto& part) { part[0] += weight; });
#endif
}
