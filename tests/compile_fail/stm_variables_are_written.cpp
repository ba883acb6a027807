// A variable is written by a transaction, not assigned.
// expect: a tvar is not assigned
#include <shunt/stm.hpp>

void add(shunt::tvar<int>& v) {
  shunt::atomically([&](shunt::tx& t) {
#ifdef MUST_NOT_COMPILE
    v = t.read(v) + 1;
#else
    t.write(v, t.read(v) + 1);
#endif
  });
}
