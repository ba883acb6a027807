// How actors end: by finish(), by the destructor of the lambda form, by ending(); in branches and loops.
#include <cstdio>
#include <shunt/pgas.hpp>

namespace pgas = shunt::pgas;

static void by_destructor(pgas::pe& me, pgas::symmetric<long>& sums) {
  if (me.count() > 0) {
    pgas::actor_of first(sums);
    pgas::actor_of second(sums);
    for (int to = 0; to < me.count(); ++to) {
      first.send(to, [](long& s) { s += 1; });
      second.send(to, [](long& s) { s += 10; });
    }
  }  // here both end
  // clang-format off
  { pgas::actor_of third(sums); third.send(0, [](long& s) { s += 100; }); }
  // clang-format on
  me.barrier();
}

static long by_finish(pgas::pe& me, pgas::symmetric<long>& sums, int rounds) {
  pgas::actor_of a(sums);
  const auto put = [&](int to, long value) { a.send(to, [value](long& s) { s += value; }); };
  for (int round = 0;; ++round) {
    if (round == rounds) return *sums;
    for (int to = 0; to < me.count(); ++to) {
      if (round % 2 == 0) continue;
      put(to, 1000);
    }
    a.finish();
  }
}

static void by_ending(pgas::symmetric<long>& sums) {
  pgas::actor_of a(sums);
  a.send(0, [](long& s) { s += 100'000; });
  a.ending().get();
  pgas::actor_of b(sums);
  b.send(0, [](long& s) { s += 100'000; });
  auto end = b.ending();
  end.get();
}

static void by_local_lambda(pgas::pe& me, pgas::symmetric<long>& sums) {
  pgas::actor_of a(sums);
  const auto put = [&](int to) { a.send(to, [](long& s) { s += 1'000'000; }); };
  a.finish();
  switch (me.index()) {
    case 0: put(0); break;
    default: break;
  }
}

// A lambda that sends and finishes; one that does so now and then.
static void by_lambdas(pgas::pe& me, pgas::symmetric<long>& sums) {
  pgas::actor_of a(sums);
  const auto all = [&](bool none) {
    if (none) return;
    for (int to = 0; to < me.count(); ++to) a.send(to, [](long& s) { s += 0; });
    a.finish();
  };
  for (int round = 0;; ++round) {
    all(round == 0);
    if (me.max(round) == 3) return;
  }
}
static bool perhaps(pgas::symmetric<long>& sums, bool now) {
  pgas::actor_of a(sums);
  a.send(0, [](long& s) { s += 0; });
  const bool did = now && (a.finish(), true);
  // refused: the actor is left with messages under way: the destructor of the lambda form waits for them, that of a
  //   class does not; call finish() before
  return did;
}
static void perhaps(pgas::pe& me, pgas::symmetric<long>& sums) {
  pgas::actor_of a(sums);
  if (me.count() > 1) a.send(0, [](long& s) { s += 0; });
  me.count() > 2 ? a.finish() : a.finish();
  pgas::actor_of b(sums);
  b.send(0, [](long& s) { s += 0; });
  if (me.count() > 1) b.finish();
}

static void early(pgas::symmetric<long>& sums, bool leave) {
  pgas::actor_of a(sums);
  a.send(0, [](long& s) { s += 0; });
  // refused: the actor is left with messages under way: the destructor of the lambda form waits for them, that of a
  //   class does not; call finish() before
  if (leave) return;
  a.finish();
}

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<long> sums(me, 0);
    by_destructor(me, sums);
    by_finish(me, sums, 4);
    by_ending(sums);
    by_local_lambda(me, sums);
    by_lambdas(me, sums);
    perhaps(me, sums);
    if (perhaps(sums, true) == perhaps(sums, false)) throw shunt::error("wrong");
    early(sums, true);
    early(sums, false);
    const long all = (me.sum(*sums) - 1'000'000) / me.count();
    if (all != 200'100 + 2011 * me.count()) throw shunt::error("wrong: " + std::to_string(all));
    if (me.index() == 0) std::printf("%ld\n", all);
  });
}
