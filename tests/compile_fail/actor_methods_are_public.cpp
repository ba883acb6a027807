// What a message calls is public.
// expect: is private|is a private member
#include <shunt/actor.hpp>

class shelf {
#ifndef MUST_NOT_COMPILE
 public:
#endif
  void put(int) {}
};

void call(shunt::ref<shelf> s) { s.tell<&shelf::put>(1); }
