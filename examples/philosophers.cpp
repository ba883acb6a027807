// Dining philosophers: one that takes both forks in one transaction never holds one and waits for the other. So there
// is no order of forks to agree on, and no deadlock.
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <shunt/stm.hpp>

int main() try {
  constexpr std::size_t seats = 5;
  constexpr int meals = 1000;
  std::array<shunt::tmvar<std::size_t>, seats> forks;  // full: it lies on the table
  for (std::size_t f = 0; f < seats; ++f) forks[f].put(f);
  std::array<std::atomic<bool>, seats> eats{};
  shunt::tcounter eaten;
  std::atomic<int> wrong{0};

  shunt::sched::runtime workers({.workers = 2});
  workers.run([&] {
    for (std::size_t me = 0; me < seats; ++me) {
      workers.spawn([&, me] {
        const std::size_t next = (me + 1) % seats, previous = (me + seats - 1) % seats;
        for (int meal = 0; meal < meals; ++meal) {
          shunt::atomically([&](shunt::tx& t) {
            static_cast<void>(forks[me].take(t));
            static_cast<void>(forks[next].take(t));
          });
          eats[me] = true;
          if (eats[next] || eats[previous]) ++wrong;
          shunt::sched::this_fiber::yield();  // neighbours would like to eat as well
          eats[me] = false;
          shunt::atomically([&](shunt::tx& t) {
            forks[me].put(t, me);
            forks[next].put(t, next);
            eaten.add(t);  // all five add, and none of them conflicts by it
          });
        }
      });
    }
  });
  const bool right = wrong == 0 && eaten.value() == meals * static_cast<long>(seats);
  std::puts(right ? "philosophers: right" : "philosophers: WRONG");
  return right ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
