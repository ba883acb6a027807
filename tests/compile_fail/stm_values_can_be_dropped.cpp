// An old value is destroyed when no transaction can see it any more, by whichever thread finds that: it must not throw.
// expect: tvar_value
#include <shunt/stm.hpp>

struct quiet {
  ~quiet() = default;
  int n = 0;
};
struct loud {
  ~loud() noexcept(false) {}
  int n = 0;
};

#ifdef MUST_NOT_COMPILE
using value = loud;
#else
using value = quiet;
#endif
shunt::tvar<value> one;
