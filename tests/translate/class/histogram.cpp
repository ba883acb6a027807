// One mailbox: a histogram, in a function of its own and in the program's lambda.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <shunt/pgas.hpp>
#include <vector>

namespace pgas = shunt::pgas;

namespace {

#define SPOTS 100u
constexpr std::uint32_t spots = SPOTS;

using counts_of_pe = std::vector<std::int64_t>;

/// Counts numbers up.
/// \param more  how many
[[nodiscard]] std::int64_t count_up(pgas::pe& me, pgas::symmetric<counts_of_pe>& table, std::uint32_t more) {
  pgas::actor_of counter(table);
  for (std::uint32_t i = 0; i < more; ++i) {
    // to the spot's PE:
    counter.send(static_cast<int>(i % static_cast<std::uint32_t>(me.count())), [spot = i % SPOTS](auto& counts) {
      // One message, one count.
      ++counts[spot]; /* at its spot */
      if (spot % 2 == 0) {
        counts[spot] += SPOTS / 50;
      }
    });
  }
  counter.finish();
  return std::accumulate(table->begin(), table->end(), std::int64_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<counts_of_pe> table(me, spots);
    const auto sum = me.sum(count_up(me, table, 1000)) / me.count();

    pgas::symmetric<long> total(me, 0);
    pgas::actor_of<long> adder{total};
    for (long i = 1; i <= 100; ++i) adder.send(0, [i](long& t) { t += i; });
    adder.send(0, [](long& t) {
      const char* const words = R"(raw
    text)";
      t += words[4] == ' ' ? 1000 : -1;
    });
    adder.finish();
    const auto all = me.sum(*total) / me.count();
    if (sum != 2000 || all != 6050) throw shunt::error("wrong");
    if (me.index() == 0) std::printf("%ld %ld\n", static_cast<long>(sum), all);
  });
}
