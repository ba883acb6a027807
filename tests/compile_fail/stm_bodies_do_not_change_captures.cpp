// A body may be called any number of times, so it is called through a const reference: what it counts in a capture
// would count attempts.
// expect: tx_body|no matching function
#include <shunt/stm.hpp>

int next(shunt::tvar<int>& v) {
#ifdef MUST_NOT_COMPILE
  return shunt::atomically([&v, calls = 0](shunt::tx& t) mutable { return t.read(v) + ++calls; });
#else
  return shunt::atomically([&v, calls = 1](shunt::tx& t) { return t.read(v) + calls; });
#endif
}
