// A selector of two mailboxes has no third.
// expect: Mailbox < (Mailboxes|mailboxes)
#include <shunt/pgas.hpp>
#include <vector>

void send(shunt::pgas::pe& me) {
  shunt::pgas::symmetric<std::vector<long>> counts(me, 10);
  shunt::pgas::selector_of<2, std::vector<long>> updates(counts);
#ifdef MUST_NOT_COMPILE
  updates.send<2>(0, [](auto& part) { ++part[0]; });
#else
  updates.send<1>(0, [](auto& part) { ++part[0]; });
#endif
}
