// A reference or a const object cannot be assigned.
// expect: tvar_value
#include <shunt/stm.hpp>

#ifdef MUST_NOT_COMPILE
using value = const int;
#else
using value = int;
#endif
shunt::tvar<value> one;
