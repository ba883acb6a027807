// Reads that some path reaches before finish(); and correct loops.
#include <shunt/pgas.hpp>

#include <algorithm>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

using part = std::vector<long>;

void branches(pgas::pe& me, bool more) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  long x = 0;
  for (int i = 0; i < 10; ++i) updates.send(0, [i](auto& counts) { counts[0] += i; });
  if (more) updates.finish();
  x += (*table)[0];  // wrong: part of `table` is read before finish()
  updates.finish();
  if (more) {
    updates.send(0, [](auto& counts) { ++counts[0]; });
    updates.finish();
  }
  x += (*table)[0];
  if (more) {
    updates.send(0, [](auto& counts) { ++counts[0]; });
    return;
  }
  x += (*table)[0];
  static_cast<void>(x);
}

// A round reads what the last one has left; finish() ends each.
void rounds(pgas::pe& me) {
  pgas::symmetric<part> distances(me, 100);
  pgas::actor_of relax(distances);
  for (long more = 1; more != 0;) {
    const long before = (*distances)[0];
    for (std::size_t i = 0; i < 100; ++i) {
      // Reads what has come so far, on purpose: a later message improves it.
      relax.send(0, [i, d = (*distances)[i]](auto& all) { all[i] = std::min(all[i], d + 1); });
    }
    relax.finish();
    more = me.sum((*distances)[0] - before);
  }
}

void handles(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::symmetric<part> other(me, 100);
  const auto counts = table.local();
  pgas::actor_of updates(me);
  long x = 0;
  updates.send(0, [=] { counts[5]++; });
  x += (*other)[0];
  x += (*table)[0];  // wrong: part of `table` is read before finish()
  updates.finish();
  x += (*table)[0];
}

void selectors(pgas::symmetric<part>& table, pgas::symmetric<part>& found) {
  auto stages = pgas::make_selector<2>(table, found);
  long x = 0;
  stages.send<0>(0, [](part&, part&, auto& here) { here.template send<1>(0, [](part&, part& f) { f[0] = 1; }); });
  x += (*table)[0];
  stages.send<1>(0, [](part& t, part&) { t[0] = 1; });
  x += (*table)[0];  // wrong: part of `table` is read before finish()
  stages.finish();
  x += (*table)[0] + (*found)[0];
}

// An actor that a lambda or a function may finish is not followed.
void handed_on(pgas::pe& me) {
  pgas::symmetric<part> table(me, 100);
  pgas::actor_of updates(table);
  const auto settle = [&] { updates.finish(); };
  const auto each = [](auto f) { f(); };
  updates.send(0, [](auto& counts) { ++counts[0]; });
  settle();
  long x = (*table)[0];
  updates.send(0, [](auto& counts) { ++counts[0]; });
  each([&] { updates.finish(); });
  x += (*table)[0];
  pgas::actor_of others(table);
  others.send(0, [](auto& counts) { ++counts[0]; });
  updates.finish();
  x += (*table)[0];  // wrong: part of `table` is read before finish()
  others.finish();
  x += (*table)[0];
  others.send(0, [](auto& counts) { ++counts[0]; });
  const auto end = others.ending();
  end.wait();
  x += (*table)[0];
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    branches(me, true);
    rounds(me);
    handles(me);
    pgas::symmetric<part> table(me, 100), found(me, 100);
    selectors(table, found);
    handed_on(me);
  });
}
