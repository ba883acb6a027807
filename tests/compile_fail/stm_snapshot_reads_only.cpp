// A snapshot keeps no log, so it cannot write.
// expect: no member named .write.
#include <shunt/stm.hpp>

int total(shunt::tvar<int>& a, shunt::tvar<int>& b) {
  return shunt::snapshot([&](shunt::ro_tx& t) {
#ifdef MUST_NOT_COMPILE
    t.write(a, 0);
#endif
    return t.read(a) + t.read(b);
  });
}
