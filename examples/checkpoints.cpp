// A random walk that survives its processes: walkers hop from cell to cell, over all PEs, and each cell counts its
// visits. Started with `--checkpoint DIR --every 10min --restart auto`, the job goes on where it was after a crash, and
// prints what a job prints that nothing has disturbed.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>

namespace {

namespace pgas = shunt::pgas;

constexpr std::uint32_t cells = 10'000, walkers = 1'000;
constexpr std::uint64_t steps = 100;

struct walker {
  std::uint32_t number;
  std::uint32_t cell;
};

/// A PE's walkers. Between two steps none is on its way, so `next` need not be saved.
struct crowd {
  std::vector<walker> here, next;

  void save(pgas::checkpoint_writer& to) const { to.put(here); }
  void load(pgas::checkpoint_reader& from) { from.get(here); }
};

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    const auto pes = static_cast<std::uint32_t>(me.count());
    std::uint64_t step = 0;
    pgas::array<long> visits(me, cells);
    pgas::symmetric<crowd> crowds(me);
    pgas::actor_of moves(crowds);
    for (auto w = static_cast<std::uint32_t>(me.index()); w < walkers; w += pes) crowds->here.push_back({w, w % cells});

    pgas::checkpoint saved(me, "walk", pgas::named("step", step), visits, crowds);
    if (saved.restored() && me.index() == 0) std::printf("goes on at step %lu\n", step);
    for (; step != steps; ++step) {
      saved.save_if_due();
      pgas::superstep(me, [&] {
        for (const walker& w : crowds->here) ++visits[w.cell];
      });
      for (const walker& w : crowds->here) {
        const auto to = static_cast<std::uint32_t>(shunt::counter_random(w.number).below(step, cells));
        moves.send(static_cast<int>(to % pes), [moved = walker{w.number, to}](crowd& c) { c.next.push_back(moved); });
      }
      moves.finish();
      crowds->here.swap(crowds->next);
      crowds->next.clear();
      me.barrier();  // the next step's walkers come after that
    }

    const long all = visits.sum();
    std::uint64_t print = 0;  // the same for any number of PEs, and any number of crashes
    for (const auto [i, n] : visits.own()) print += shunt::counter_random(i).at(static_cast<std::uint64_t>(n));
    print = me.sum(print);
    if (me.index() == 0) std::printf("%ld visits, fingerprint %016lx\n", all, print);
    if (all != static_cast<long>(steps) * walkers) throw shunt::error("a walker was lost");
  });
}
