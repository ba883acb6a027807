// Reads before finish(), one after the other.
#include <shunt/pgas.hpp>

#include <numeric>
#include <string>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;

void of_vector(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  long x = (*table)[0];
  updates.send(0, [](auto& counts) { ++counts[5]; });
  x += (*table)[0];                                                   // wrong: part of `table` is read before finish()
  x += table->front();                                                // wrong: part of `table` is read before finish()
  const long sum = std::accumulate(table->begin(), table->end(), x);  // wrong: of line 18 change it: call finish()
  const part copy = *table;                                           // wrong: part of `table` is read before finish()
  for (const long one : *table) x += one;                             // wrong: part of `table` is read before finish()
  x += static_cast<long>(table->size());                              // which no message changes
  (*table)[1] += sum;                                                 // adds, as messages do
  updates.finish();
  x += (*table)[0] + copy[0];
  updates.send(0, [x](part& counts) { counts[0] = x; });
  updates.quiesce();
  x += (*table)[0];
  updates.send(0, [x](part& counts) { counts[0] = x; });
  updates.done();
  x += (*table)[0];  // wrong: part of `table` is read before finish()
  updates.finish();
}

void of_scalar(pgas::pe& me) {
  pgas::symmetric<long> total(me, 0L);
  {
    pgas::actor_of adder(total);
    adder.send(0, [](long& t) { t += 5; });
    if (me.sum(*total) > 3) return;        // wrong: part of `total` is read before finish()
    if (std::max(*total, 3L) > 3) return;  // wrong: part of `total` is read before finish()
    const long now = *total;               // wrong: part of `total` is read before finish()
    adder.send(0, [now](long& t) { t += now; });
  }  // the actor ends: finish()
  if (me.sum(*total) > 3) return;
  if (*total > 3) return;
}

// Handlers that only read, or get a copy, or change what they have made.
void readers(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::symmetric<part> found(me, 100);
  pgas::actor_of reader(table, found);
  reader.ask(
      0, [](const part& there, part&) { return there[0]; }, [](part&, part& here, long value) { here[0] = value; });
  long x = (*table)[0];
  x += (*found)[0];  // wrong: part of `found` is read before finish()
  reader.finish();
  reader.send(0, [](part& there, part&) {
    auto copy = there;
    copy[0] = 5;
    static_cast<void>(there[0] == 5);
  });
  x += (*table)[0] + (*found)[0];
  reader.finish();
  static_cast<void>(x);
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    of_vector(me);
    of_scalar(me);
    readers(me);
  });
}
