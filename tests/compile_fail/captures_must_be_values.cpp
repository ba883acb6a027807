// A message's captures are copied as bytes: what owns memory cannot travel so.
// expect: captures what is not copied as bytes
#include <shunt/pgas.hpp>
#include <string>
#include <vector>

void send(shunt::pgas::pe& me, const std::string& name) {
  shunt::pgas::symmetric<std::vector<long>> counts(me, 10);
  shunt::pgas::actor_of updates(counts);
#ifdef MUST_NOT_COMPILE
  updates.send(0, [name](auto& part) { part[name.size()] = 1; });
#else
  updates.send(0, [size = name.size()](auto& part) { part[size] = 1; });
#endif
}
