// An actor is made with arguments that its constructor takes.
// expect: no public constructor that takes these arguments
#include <shunt/actor.hpp>
#include <string>

struct shelf {
  shelf(std::string, int) {}
};

void make(shunt::manager& m) {
#ifdef MUST_NOT_COMPILE
  m.spawn<shelf>({}, 1, "one");
#else
  m.spawn<shelf>({}, "one", 1);
#endif
}
