// A handler that wants something else than its actor's parts is told what it gets.
// expect: a handler takes a reference to each part of its actor
#include <shunt/pgas.hpp>
#include <string>
#include <vector>

void send(shunt::pgas::pe& me) {
  shunt::pgas::symmetric<std::vector<long>> counts(me, 10);
  shunt::pgas::actor_of updates(counts);
#ifdef MUST_NOT_COMPILE
  updates.send(0, [](std::string& part) { part.clear(); });
#else
  updates.send(0, [](std::vector<long>& part) { part.clear(); });
#endif
}
