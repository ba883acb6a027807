// A handler cannot hand anything back through its parameters: the sender's variable is far away by then.
// expect: parameter<1>::is_a_reference_to_what_belongs_to_the_sender<int ?&>
#include <shunt/actor.hpp>

struct shelf {
  void take(int& out) { out = 1; }
  void give(const int& in) { static_cast<void>(in); }
};

void call(shunt::ref<shelf> s) {
  int i = 0;
#ifdef MUST_NOT_COMPILE
  s.tell<&shelf::take>(i);
#else
  s.tell<&shelf::give>(i);
#endif
}
