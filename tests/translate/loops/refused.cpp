// Loops that `shunt-translate loops` leaves as they are, each with the reason on its line.
#include <algorithm>
#include <cstdint>
#include <shunt/pgas.hpp>
#include <span>
#include <vector>

namespace pgas = shunt::pgas;

long anything(long);
bool next(int&);

struct pair {
  long a, b;
  friend pair operator+(pair x, pair y) { return {x.a + y.a, x.b + y.b}; }
};

#define COUNT(h, i) ++h[i]

void changes(pgas::pe& me, pgas::array<long>& h, pgas::array<double>& d, pgas::array<pair>& p,
             const std::vector<std::uint64_t>& idx) {
  for (const auto i : idx) h[i] = 3;         // refused: an assignment to `h` whose index may be the same twice
  for (int i = 0; i < 9; ++i) h[i % 3] = i;  // refused: whose index may be the same twice
  for (int i = 0; next(i); ++i) h[i] = 7;    // refused: whose index may be the same twice
  for (std::uint8_t i = 0; anything(me.index()) != 0; ++i) h[i] = 7;      // refused: whose index may be the same twice
  for (std::uint16_t i = 0; static_cast<int>(i) < 70'000; ++i) h[i] = 7;  // refused: whose index may be the same twice
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 9; ++i) h[i] = k;  // refused: whose index may be the same twice
  for (int i = 0; i < 9; ++i) {
    h[i] = i;  // refused: are assigned to at two places
    h[i + 1] = i;
  }
  for (const auto i : idx) {
    h[i] += 2;  // refused: are changed in two ways, whose order matters
    h[i] *= 3;
  }
  for (const auto i : idx) d[i] += 0.5;                                  // refused: --reorder allows that
  for (const auto i : idx) h[i] += 0.5;                                  // refused: floating-point values are rounded
  for (const auto i : idx) h[i].update([](long& x) { x = 2 * x + 1; });  // refused: update() of `h`
  for (const auto i : idx) p[i] += pair{1, 2};                           // refused: are no numbers
  for (const auto i : idx) {
    if (i == 7) return;  // refused: left in the middle
    ++h[i];
  }
  for (const auto i : idx) COUNT(h, i);  // refused: from a macro
  if (me.index() == 0) {                 // refused: under a condition
    for (const auto i : idx) ++h[i];
  }
  const auto add = [&h](long i) { ++h[i]; };
  for (int i = 0; i < 3; ++i) {
    ++h[i];
    [&h](long k) { ++h[k]; }(i);  // refused: a lambda names a distributed array
  }
  add(3);
}

void without_pe(pgas::array<long>& h) {
  for (int i = 0; i < 9; ++i) ++h[i];  // refused: no pgas::pe
}

long reads(pgas::pe& me, pgas::array<long>& h, pgas::array<long>& same, std::span<long> idx, std::vector<long> own) {
  long s = 0;
  std::vector<long> t(9);
  for (int i = 0; i < 9; ++i) h[i] = 1 + h[i + 1];             // refused: read and changed in one loop
  for (int i = 0; i < 9; ++i) h[i] += same[i];                 // refused: both may be the same array
  for (int i = 0; i < 9; ++i) s += h[anything(i)];             // refused: it calls anything()
  for (int i = 0; i < 9; ++i) s += h[s % 9];                   // refused: depends on `s`, which the loop may change
  for (int i = 0; i < 9; ++i) s += h[0 + h[i]];                // refused: depends on an element of a distributed array
  for (int i = 0; i < 9; ++i) s += i > 3 && h[i] > 2 ? 1 : 0;  // refused: behind &&, || or ?:
  for (int i = 0; i < 9; ++i) {
    if (s > 9) break;  // refused: ends or goes on early
    s += h[i];
  }
  for (int i = 0; i < 9; ++i) idx[static_cast<std::size_t>(i)] = h[idx[static_cast<std::size_t>(i)]];  // refused: `idx`
  long* where = own.data();
  for (std::size_t i = 0; i < 9; ++i) {
    *where = 3;
    s += h[own[i]];  // refused: depends on `own`, which the loop may change
  }
  int i = 0;
  while (i < 9) {  // refused: no `for`, no `if` and no expression
    s += h[i];
    ++i;
  }
  for (; i < 20; ++i) s += h[i];  // refused: the loop's head does not declare what it counts
  (void)me, (void)t;
  return s;
}

void views(pgas::pe& me, pgas::array<long>& h, pgas::array<long>& g, const std::vector<std::uint64_t>& idx) {
  const auto mine = h.local();
  long s = 0;
  for (const auto i : idx) {  // refused: `mine` is a view
    ++h[i];
    s += mine[0];
  }
  for (const auto i : idx) {
    h[i] += 1;  // refused: are changed in two ways
    g[i] *= 2;
  }
  for (int i = 0; i < 9; ++i) h[i + anything(s)] = i;  // refused: whose index may be the same twice
  for (const auto i : idx) {                           // refused: the preprocessor decides
#ifdef NEVER
    h[i] *= 2;
#else
    ++h[i];
#endif
  }
  (void)me;
}

void leaves(pgas::pe& me, pgas::array<long>& h, const std::vector<std::uint64_t>& idx) {
  const auto all = me.sum(idx.size());
  if (all == 0) return;  // all PEs decide alike
  for (int round = 0; round < 3; ++round) {
    if (me.sum(round) > 2) break;
    if (idx.empty()) return;  // refused: a PE that leaves here does not come to the superstep
    for (const auto i : idx) ++h[i];
  }
}

void called_inside(pgas::pe& me, pgas::array<long>& h) {
  for (int i = 0; i < 9; ++i) ++h[i];  // stays: the caller's superstep is around it
  (void)me;
}

void calls(pgas::pe& me, pgas::array<long>& h) {
  pgas::superstep(me, [&] { called_inside(me, h); });
}

long counted(pgas::pe& me) {
  std::vector<long> a(10);  // shunt: distributed
  long s = me.index();
  for (std::size_t k = 0; k < 9; ++k) s += a[k]++;  // refused: no statement on one element
  return s;
}

void declarations(pgas::pe& me) {
  std::vector<long> one(10), two(10);       // shunt: distributed  // refused: declared together with other
  static std::vector<long> always(10);      // shunt: distributed  // refused: no local variable
  std::vector<long> listed{1, 2, 3};        // shunt: distributed  // refused: not made by its size
  long started[3] = {1, 2, 3};              // shunt: distributed  // refused: has initial values
  const auto made = std::vector<long>(10);  // shunt: distributed  // refused: not made by its size
  (void)me;
}

long marked(pgas::pe& me) {
  std::vector<long> a(10);  // shunt: distributed
  std::vector<long> b(10);  // shunt: distributed
  for (int i = 0; i < 10; ++i) a[i] += b[i];
  b.push_back(3);  // refused: no statement on one element
  return a[3] + me.index();
}
