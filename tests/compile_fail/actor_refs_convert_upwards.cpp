// A reference to a base is none to a derived class.
// expect: no viable conversion|conversion from .* to non-scalar type
#include <shunt/actor.hpp>

struct animal {
  void eat() {}
};
struct dog : animal {};

shunt::ref<animal> upwards(shunt::ref<dog> d) { return d; }
#ifdef MUST_NOT_COMPILE
shunt::ref<dog> downwards(shunt::ref<animal> a) {
  shunt::ref<dog> d = a;
  return d;
}
#endif
