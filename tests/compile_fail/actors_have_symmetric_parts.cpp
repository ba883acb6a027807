// An actor's parts are symmetric objects: every PE has one.
// expect: an actor is made of symmetric objects
#include <shunt/pgas.hpp>
#include <vector>

void make(shunt::pgas::pe& me) {
#ifdef MUST_NOT_COMPILE
  std::vector<long> counts(10);
#else
  shunt::pgas::symmetric<std::vector<long> > counts(me, 10);
#endif
  shunt::pgas::actor_of updates(counts);
}
