// An address means nothing in the process that reads it.
// expect: a part of a checkpoint is a plain value
#include <shunt/pgas.hpp>

void keep(shunt::pgas::pe& me, long& number) {
#ifdef MUST_NOT_COMPILE
  long* part = &number;
#else
  long& part = number;
#endif
  shunt::pgas::checkpoint saved(me, "state", part);
}
