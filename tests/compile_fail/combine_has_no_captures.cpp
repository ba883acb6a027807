// A reduction's function runs for other PEs too: it cannot see this one's variables.
// expect: combine must be a lambda without captures
#include <shunt/pgas.hpp>

long total(shunt::pgas::pe& me, long bias) {
#ifdef MUST_NOT_COMPILE
  return me.reduce(1L, [bias](long a, long b) { return a + b + bias; });
#else
  return me.reduce(1L, [](long a, long b) { return a + b; }) + bias;
#endif
}
