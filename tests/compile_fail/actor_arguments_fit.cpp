// A message has as many arguments as the method has parameters, each convertible to its own.
// expect: argument<1>::given<int>::but_the_method_takes<std::
#include <shunt/actor.hpp>
#include <string>

struct shelf {
  void put(std::string, int) {}
};

void call(shunt::ref<shelf> s) {
#ifdef MUST_NOT_COMPILE
  s.tell<&shelf::put>(1, "one");
#else
  s.tell<&shelf::put>("one", 1);
#endif
}
