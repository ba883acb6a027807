// A message calls a method of the actor's class, or of a base of it.
// expect: no_method_of<counter>
#include <shunt/actor.hpp>

struct counter {
  void add(int) {}
};
struct other {
  void add(int) {}
};

void call(shunt::ref<counter> co) {
#ifdef MUST_NOT_COMPILE
  co.tell<&other::add>(1);
#else
  co.tell<&counter::add>(1);
#endif
}
