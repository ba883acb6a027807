// Natural loops, as one writes them. loops_test.py translates them, and runs the result on several numbers of PEs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <shunt/pgas.hpp>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

constexpr std::uint64_t size = 1000;

/// What a PE counts and reads: the same on every run.
std::vector<std::uint64_t> some_indices(const pgas::pe& me) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 5000; ++i)
    all.push_back((i * 7919 + static_cast<std::uint64_t>(me.index()) * 13) % size);
  return all;
}

void histogram(pgas::pe& me, pgas::array<std::int64_t>& table, const std::vector<std::uint64_t>& indices) {
  for (const auto i : indices) ++table[i];  // a comment that stays
}

void index_gather(pgas::array<std::int64_t>& table, const std::vector<std::uint64_t>& index,
                  std::vector<std::int64_t>& target, pgas::pe& me) {
  for (std::size_t i = 0; i < index.size(); ++i) target[i] = table[index[i]];
  (void)me;
}

/// Triangles of a graph whose rows are sorted, vertex by vertex: every wedge of a row is looked for in the row of its
/// greater end. \param offsets  of vertex v, its columns are columns[offsets[v]] … columns[offsets[v + 1] - 1]
long triangles(pgas::pe& me, const std::vector<long>& offsets, const std::vector<long>& columns,
               pgas::array<char>& adjacent, long vertices) {
  long found = 0;
  for (long v = me.index(); v < vertices; v += me.count()) {
    for (long a = offsets[static_cast<std::size_t>(v)]; a < offsets[static_cast<std::size_t>(v) + 1]; ++a) {
      const auto j = columns[static_cast<std::size_t>(a)];
      for (long b = offsets[static_cast<std::size_t>(v)]; b < a; ++b) {
        // is j-k an edge?
        found += adjacent[j * vertices + columns[static_cast<std::size_t>(b)]];
      }
    }
  }
  return found;
}

long marked(pgas::pe& me, const std::vector<std::uint64_t>& indices) {
  std::vector<long> sums(100, 1);  // shunt: distributed
  int least[100];                  // shunt: distributed(blocked)
  for (int i = 0; i < 100; ++i) {
    least[i] = 1000;
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto at = indices[i] % 100;
    if (at != 50) {
      sums[at] = sums[at] + 2;
      least[at] = std::min(least[at], static_cast<int>(i));
    } else {
      sums[at] -= 1;
    }
  }
  long all = 0;
  for (int i = 0; i < 100; ++i) {
    all += sums[i];
    if (i % 2 == 0) all += 3 * least[i];
  }
  return all + sums[50];
}

}  // namespace

int main(int argc, char** argv) {
  pgas::run({.pes = argc > 1 ? std::atoi(argv[1]) : 1}, [](pgas::pe& me) {
    pgas::array<std::int64_t> table(me, size);
    const auto indices = some_indices(me);
    histogram(me, table, indices);
    const auto counted = table.sum();
    std::vector<std::int64_t> target(indices.size());
    index_gather(table, indices, target, me);
    std::int64_t gathered = 0;
    for (const auto value : target) gathered += value;
    // A complete graph of 12 vertices has 220 triangles.
    std::vector<long> offsets{0}, columns;
    pgas::array<char> adjacent(me, 144);
    for (long v = 0; v < 12; ++v) {
      for (long u = 0; u < v; ++u) columns.push_back(u);
      offsets.push_back(static_cast<long>(columns.size()));
    }
    for (long p = 0; p < 144; ++p) adjacent[p] = static_cast<char>(p % 12 < p / 12 ? 1 : 0);
    const auto found = me.sum(triangles(me, offsets, columns, adjacent, 12));
    const auto sums = marked(me, indices);
    const auto all = me.sum(gathered);
    if (me.index() == 0)
      std::printf("%lld %lld %ld %ld\n", static_cast<long long>(counted) / me.count(),
                  static_cast<long long>(all) / (me.count() * me.count()), found, sums);
  });
}
