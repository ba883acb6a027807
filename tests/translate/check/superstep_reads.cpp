// Reads of arrays inside of supersteps.
#include <shunt/pgas.hpp>

#include <algorithm>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

void read_in_supersteps(pgas::pe& me) {
  pgas::array<long> h(me, 1000);
  pgas::array<long> b(me, 1000);
  std::vector<std::uint64_t> indices{1, 2};
  std::vector<long> values(2);
  pgas::superstep(me, [&] {
    const long x = h[5];                       // wrong: an array's element is read inside of a superstep
    h[6] += b[7];                              // wrong: an array's element is read inside of a superstep
    h[6].max(b[7]);                            // wrong: an array's element is read inside of a superstep
    if (b[3] > x) ++h[8];                      // wrong: an array's element is read inside of a superstep
    for (const long v : h.local()) h[9] += v;  // wrong: local() reads `h` inside of a superstep that changes it
    for (auto [i, v] : h.own()) v = 0;         // wrong: own() reads `h` inside of a superstep that changes it
    values[0] = h.sum();                       // wrong: sum() reads `h` inside of a superstep that changes it
    b.gather(std::span<const std::uint64_t>(indices), std::span<long>(values));  // wrong: gather() is called inside
    pgas::gather(b, indices, values);                             // wrong: gather() is called inside of a superstep
    pgas::scatter(b, indices, values);                            // wrong: scatter() is called inside of a superstep
    for (auto [k, v] : b | pgas::gather(indices)) values[k] = v;  // wrong: gather() is called inside of a superstep
    pgas::superstep(me, [&] { ++h[1]; });  // wrong: superstep() begins a superstep inside of another
    std::for_each(values.begin(), values.end(), [&](long v) {
      h[static_cast<std::uint64_t>(v)] += b[2];  // wrong: an array's element is read inside of a superstep
    });
  });

  // Right: changes, what the array knows without a message, parts of arrays that this superstep does not change.
  pgas::superstep(me, [&] {
    for (auto [i, v] : b.own()) h[i] += v;
    for (const long v : b.local()) ++h[static_cast<std::uint64_t>(v) % h.size()];
    h[static_cast<std::uint64_t>(h.owner(5))].update([](long& at) { at *= 2; });
    h[6] += values[0];
  });
  const long x = h[5];
  h.local()[0] = x + h.sum();
  pgas::gather(b, indices, values);
  for (auto [k, v] : b | pgas::gather(indices)) values[k] = v;
}

template <class T>
void in_template(pgas::pe& me, pgas::array<T>& a) {
  pgas::superstep(me, [&] {
    const T x = a[1];  // wrong: an array's element is read inside of a superstep
    a[2] += x;
  });
  const auto body = [&] {
    const T x = a[1];  // wrong: an array's element is read inside of a superstep
    a[2] += x;
  };
  pgas::superstep(me, body);
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    read_in_supersteps(me);
    pgas::array<long> a(me, 10);
    pgas::array<double> b(me, 10);
    in_template(me, a);
    in_template(me, b);
  });
}
