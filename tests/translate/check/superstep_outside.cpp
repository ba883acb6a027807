// Changes outside of any superstep.
#include <shunt/pgas.hpp>
#include <shunt/pgas/containers.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

void change(pgas::pe& me, pgas::array<long>& given) {
  pgas::array<long> h(me, 1000);
  pgas::array<double, pgas::blocked> d(me, 1000);
  pgas::map<std::uint64_t, long> counts(me);
  pgas::set<std::uint64_t> seen(me);
  h[5] += 3;                                      // wrong: `h` is changed outside of a superstep
  ++h[6];                                         // wrong: `h` is changed outside of a superstep
  h[7] = 3;                                       // wrong: `h` is changed outside of a superstep
  h[8].min(3);                                    // wrong: `h` is changed outside of a superstep
  d[9].update([](double& at) { at = 1; });        // wrong: `d` is changed outside of a superstep
  for (std::uint64_t i = 0; i < 10; ++i) h[i]--;  // wrong: `h` is changed outside of a superstep
  ++counts[5];                                    // wrong: `counts` is changed outside of a superstep
  counts.visit(5, [](long& at) { ++at; });        // wrong: `counts` is changed outside of a superstep
  seen.insert(5);                                 // wrong: `seen` is changed outside of a superstep

  // Right, or not to be known: inside of one, a lambda that one may call, an object of the caller's.
  pgas::superstep(me, [&] {
    h[5] += 3;
    seen.insert(5);
  });
  const auto body = [&] { ++h[6]; };
  pgas::superstep(me, body);
  ++given[5];
  // A PE's own elements are no messages.
  h.local()[0] = 5;
  for (auto [i, v] : h.own()) v = static_cast<long>(i);
  h.fill(3);
  counts.clear();
  auto& same = given;
  ++same[3];
  std::vector<long> plain(10);
  plain[5] += 3;
  pgas::bag<long> work(me);
  work.add(5);
  work.drain([&](long item) { work.insert(item); });
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::array<long> own(me, 10);
    ++own[3];                                       // wrong: `own` is changed outside of a superstep
    pgas::superstep(me, [&] { change(me, own); });  // wrong: change() is called inside of a superstep, in which line 27
  });
}
