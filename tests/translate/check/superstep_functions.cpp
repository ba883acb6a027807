// Supersteps that call functions, and second names of what they change.
#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

void add(pgas::array<long>& to, pgas::array<long>& from, std::uint64_t i) { to[i] += from[i]; }
void add_twice(pgas::array<long>& to, pgas::array<long>& from) {
  for (std::uint64_t i = 0; i != 2; ++i) add(to, from, i);
}
void count(pgas::array<long>& h, std::uint64_t i) { ++h[i]; }
long own_sum(const pgas::array<long>& h) {
  long sum = 0;
  for (const long v : h.local()) sum += v;
  return sum;
}
void look_up(pgas::array<long>& h, const std::vector<std::uint64_t>& indices, std::vector<long>& values) {
  pgas::gather(h, indices, values);
}
void settle(pgas::pe& me, pgas::array<long>& h) {
  pgas::superstep(me, [&] { ++h[0]; });
}
template <class F>
void each(const std::vector<std::uint64_t>& indices, F f) {
  for (const auto i : indices) f(i);
}

void call_functions(pgas::pe& me) {
  pgas::array<long> h(me, 1000), b(me, 1000);
  const std::vector<std::uint64_t> indices{1, 2};
  std::vector<long> values(2);
  const auto outer = [&] { values[0] = b[3]; };
  pgas::superstep(me, [&] {
    add(h, b, 5);     // wrong: add() is called inside of a superstep, in which line 13 reads an array's
    add_twice(h, b);  // wrong: add_twice() is called inside of a superstep, which calls add(), in which line
    look_up(b, indices, values);  // wrong: look_up() is called inside of a superstep, in which line 24 calls gather()
    settle(me, b);                // wrong: settle() is called inside of a superstep, in which line 27 calls superstep()
    outer();                      // wrong: a lambda is called inside of a superstep, in which line 38 reads an array's
    count(h, 5);
    h[1] += own_sum(b);
    const auto inner = [&] { h[1] += b[1]; };  // wrong: an array's element is read inside of a superstep
    inner();
    each(indices, [&](std::uint64_t i) { ++h[i]; });
    each(indices, [&](std::uint64_t i) {
      if (b[i] > 0) ++h[i];  // wrong: an array's element is read inside of a superstep
    });
  });
  look_up(b, indices, values);
  settle(me, b);
}

struct held {
  explicit held(pgas::pe& me) : words(me), others(me) {}
  pgas::map<std::string, long> words, others;
};

void second_names(pgas::pe& me) {
  pgas::array<long> h(me, 1000), b(me, 1000);
  auto& same = h;
  held two(me);
  auto& [words, others] = two;
  auto& first = two.words;
  pgas::superstep(me, [&] {
    for (const long v : same.local()) h[9] += v;  // wrong: local() reads `h` inside of a superstep that changes it
    ++words["x"];
    for (auto [word, n] : words.local()) h[1] += n;  // wrong: local() reads `words` inside of a superstep that changes
    for (auto [word, n] : first.local()) h[1] += n;  // wrong: local() reads `words` inside of a superstep that changes
    for (auto [word, n] : others.local()) h[1] += n;
  });
  pgas::superstep(me, [&] {
    for (const long v : h.local()) ++same[8 + static_cast<std::uint64_t>(v)];  // wrong: local() reads `h` inside of a
    for (const long v : b.local()) ++same[static_cast<std::uint64_t>(v)];
  });
  ++same[3];  // wrong: `h` is changed outside of a superstep
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    call_functions(me);
    second_names(me);
  });
}
