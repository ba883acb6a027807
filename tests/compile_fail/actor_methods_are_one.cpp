// Of overloaded methods a message names one.
// expect: no matching (member )?function for call
#include <shunt/actor.hpp>
#include <string>

struct shelf {
  void put(int) {}
  void put(const std::string&) {}
};

void call(shunt::ref<shelf> s) {
#ifdef MUST_NOT_COMPILE
  s.tell<&shelf::put>(1);
#else
  s.tell<static_cast<void (shelf::*)(int)>(&shelf::put)>(1);
#endif
}
