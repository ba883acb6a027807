// Natural loops over distributed arrays: a histogram, and the reads of an indirection. Each access is a message.
#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    namespace pgas = shunt::pgas;
    constexpr std::uint64_t buckets = 10'000;
    constexpr long updates = 100'000;  // of each PE
    const shunt::counter_random random(1, me.index());

    pgas::array<long> histogram(me, buckets);
    pgas::superstep(me, [&] {
      for (long i = 0; i < updates; ++i) ++histogram[random.below(static_cast<std::uint64_t>(i), buckets)];
    });  // every update has happened, everywhere
    const long all = histogram.sum();

    pgas::array<double> square(me, 1000);
    for (auto [i, value] : square.own()) value = static_cast<double>(i * i);
    me.barrier();
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t i = 0; i < 10; ++i) wanted.push_back((i * 97 + 13) % 1000);
    double found = 0, expected = 0;
    for (const auto& [k, value] : square | pgas::gather(wanted)) {
      found += value;
      expected += static_cast<double>(wanted[k]) * wanted[k];
    }

    const bool right = me.min(all == updates * me.count() && found == expected ? 1 : 0) == 1;
    if (me.index() == 0) std::printf("%ld updates on %d PEs: %s\n", all, me.count(), right ? "right" : "WRONG");
    if (!right) throw shunt::error("wrong");
  });
}
