// Waits that a handler reaches through a function or a lambda.
#include <shunt/pgas.hpp>
#include <shunt/sched.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;
using namespace std::chrono_literals;

void pause(long x) {
  if (x > 5) shunt::sched::this_fiber::sleep_for(1ms);
}
long twice(long x) { return 2 * x; }

void linger(long x) { pause(x); }
struct pausing {
  explicit pausing(long x) : left(x) { linger(x); }
  long left;
};
struct holding {
  explicit holding(long x) : left(twice(x)) {}
  long left;
};
void down(long x);
void up(long x) {
  if (x < 5) down(x + 1);
}
void down(long x) {
  if (x > 5) up(x - 1);
}
template <class F>
void each(part& mine, F f) {
  for (long& x : mine) f(x);
}

template <class T>
void step_back(T& x) {
  shunt::sched::this_fiber::yield();
  --x;
}

struct counter : pgas::actor<counter, long> {
  explicit counter(pgas::pe& me) : actor(me) {}
  void process(long x) {
    if (x > 9) settle();  // wrong: a handler calls settle(), in which line
    add(x);
  }
  void settle() { all = me().sum(mine); }
  void add(long x) { mine += x; }
  long mine = 0, all = 0;
};

void reach(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  updates.send(0, [](part& mine) { pause(mine[0]); });      // wrong: a handler calls pause(), in which line
  updates.send(0, [](auto& mine) { step_back(mine[0]); });  // wrong: a handler calls step_back(), in which line
  updates.send(0, [](part& mine) {
    std::for_each(mine.begin(), mine.end(), [](long& x) {
      x = twice(x);
      shunt::sched::this_fiber::yield();  // wrong: a handler calls yield()
    });
    const auto rest = [] { shunt::sched::this_fiber::sleep_for(1ms); };
    rest();  // wrong: a handler calls a lambda, in which line
  });
  updates.send(0, [](part& mine) {
    linger(mine[0]);            // wrong: a handler calls linger(), which calls pause(), in which line
    mine[0] = pausing(1).left;  // wrong: the constructor of pausing, which calls linger(), which calls pause()
    mine[0] += holding(1).left;
    up(mine[0]);
    each(mine, [](long& x) {
      x = twice(x);
      shunt::sched::this_fiber::yield();  // wrong: a handler calls yield()
    });
  });

  updates.send(0, [](part& mine) {
    mine[0] = twice(mine[0]);
    std::for_each(mine.begin(), mine.end(), [](long& x) { x = twice(x); });
    const auto later = [] { shunt::sched::this_fiber::yield(); };  // which is not called
    static_cast<void>(later);
  });
  updates.finish();
  pause(me.sum((*table)[0]));
  counter c(me);
  c.send(0, 5);
  c.finish();
  c.settle();
}

}  // namespace

int main(int argc, char** argv) { return pgas::launch(argc, argv, reach); }
