// or_else() returns what the branch returns that ran: both return one type.
// expect: same_as
#include <shunt/stm.hpp>

int first_of(shunt::tvar<int>& a, shunt::tvar<int>& b) {
  return shunt::atomically([&](shunt::tx& t) {
    return t.or_else(
        [&](shunt::tx& u) {
          u.check(u.read(a) != 0);
          return u.read(a);
        },
#ifdef MUST_NOT_COMPILE
        [](shunt::tx&) { return "none"; }
#else
        [&](shunt::tx& u) { return u.read(b); }
#endif
    );
  });
}
