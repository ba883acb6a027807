// A call through a ref needs a proxy of the class, and the message says how to write one.
// expect: needs a proxy of this class
#include <shunt/actor.hpp>

struct counter {
  void add(int by) { sum += by; }
  int sum = 0;
};

void call(const shunt::ref<counter>& co) {
#ifdef MUST_NOT_COMPILE
  co->add(1);
#else
  co.tell<&counter::add>(1);
#endif
}
