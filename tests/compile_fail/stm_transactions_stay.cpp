// A transaction is valid until its body returns, and belongs to that body: it is handed on by reference, not copied.
// expect: deleted|tx_body|no matching function
#include <shunt/stm.hpp>

int read(shunt::tvar<int>& v) {
#ifdef MUST_NOT_COMPILE
  return shunt::atomically([&v](shunt::tx t) { return t.read(v); });
#else
  return shunt::atomically([&v](shunt::tx& t) { return t.read(v); });
#endif
}
