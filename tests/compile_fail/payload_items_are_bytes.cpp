// A payload's items are copied as bytes: strings are not.
// expect: the payload's items must be trivially copyable
#include <shunt/pgas.hpp>
#include <string>
#include <vector>

void send(shunt::pgas::pe& me, const std::vector<std::string>& names) {
  shunt::pgas::symmetric<std::vector<long>> counts(me, 10);
  shunt::pgas::actor_of updates(counts);
#ifdef MUST_NOT_COMPILE
  updates.send(0, std::span(names), [](auto& part, auto received) { part[0] += long(received.size()); });
#else
  updates.send(0, names[0], [](auto& part, auto received) { part[0] += long(received.size()); });
#endif
}
