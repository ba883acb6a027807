// An address means nothing on another PE.
// expect: is_pointer_v|message
#include <shunt/pgas.hpp>

#ifdef MUST_NOT_COMPILE
using sent = long*;
#else
using sent = long;
#endif

struct counter : shunt::pgas::selector<counter, sent> {
  void process(sent, int) {}
};
