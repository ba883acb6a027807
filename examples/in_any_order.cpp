// Is the program right in any order? The first guest that finds the seat free shall book it. The wrong way looks, lets
// others go on (as every wait does), and books. explore() finds the order in which two get the seat, and repeats it by
// its schedule.
#include <cstdio>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <stdexcept>

struct seat {
  int owner = 0;
  int owners = 0;

  void book(int guest) {
    if (owner != 0) return;
    shunt::sched::this_fiber::interleave();  // say, a card is charged
    owner = guest;
    ++owners;
  }
};

void evening() {
  seat s;
  shunt::finish([&] {
    for (int guest : {1, 2, 3}) shunt::async([&s, guest] { s.book(guest); });
  });
  if (s.owners != 1) throw std::logic_error(std::to_string(s.owners) + " have it");
}

int main() {
  const auto found = shunt::test::explore(evening, 1000);
  const auto again = shunt::test::explore(evening, 1, {.schedule = found.schedule});
  std::printf("found: %s\nagain: %s\n", found.failure.c_str(), again.failure.c_str());
  return !found.failure.empty() && again.failure == found.failure ? 0 : 1;
}
