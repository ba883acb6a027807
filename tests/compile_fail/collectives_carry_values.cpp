// A collective copies bytes.
// expect: plain_value|trivially_copyable
#include <shunt/pgas.hpp>
#include <vector>

void spread(shunt::pgas::pe& me) {
#ifdef MUST_NOT_COMPILE
  (void)me.gather(std::vector<std::vector<long>>{});
#else
  (void)me.gather(1L);
#endif
}
