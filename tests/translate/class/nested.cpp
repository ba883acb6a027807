// Nested messages with captures, in a function template; several lambdas a mailbox; a chain that ends by quiesce().
#include <cstdint>
#include <cstdio>
#include <shunt/pgas.hpp>
#include <utility>
#include <vector>

namespace shunt::published {

struct rows {
  std::vector<std::uint32_t> left;
  void drop(std::uint32_t row, std::uint32_t column) { left[row] += column; }
};
struct order {
  long placed = 0;
  bool place(std::uint32_t row) { return ++placed, row % 3 != 0; }
};
struct home {
  [[nodiscard]] std::pair<int, std::uint32_t> where(std::uint32_t i) const {
    return {static_cast<int>(i % pes), i / pes};
  }
  std::uint32_t pes;
};

/*
 * Places rows.
 */
template <class EachLevel>
std::uint64_t sort(pgas::pe& me, const home& at, EachLevel each_level) {
  pgas::symmetric<home> homes(me, at);
  pgas::symmetric<rows> left(me);
  pgas::symmetric<order> found(me);
  left->left.resize(1000);
  me.barrier();
  auto sorter = pgas::make_selector<2>(homes, left, found);
  for (std::uint32_t level = 0; level < 3; ++level) {
    for (std::uint32_t i = 0; i < 300; ++i) {
      const auto [pe, spot] = at.where(i);
      sorter.template send<1>(pe, [spot](auto&, rows& rows, auto&) { rows.drop(spot, 1); });
      sorter.template send<0>(pe, [i](home& h, auto&, order& o, auto& here) {  // the outer one
        if (!o.place(i)) return;
        for (const auto further : {i + 1, i + 2}) {
          const auto [owner, local] = h.where(further);
          here.template send<1>(owner,
                                [local, column = further % 7](auto&, rows& rows, auto&) { rows.drop(local, column); });
        }
      });
      sorter.template send<0>(pe, [](auto&, auto&, order& o) { ++o.placed; });
    }
    sorter.template done<0>();
    sorter.template done<1>();
    sorter.finish();
    each_level(level);
  }
  std::uint64_t sum = 0;
  for (const auto l : left->left) sum += l;
  return me.sum(sum) / static_cast<std::uint64_t>(me.count()) * 100 +
         static_cast<std::uint64_t>(me.sum(found->placed) / me.count()) % 100;
}

}  // namespace shunt::published

using namespace shunt;

// Without parts: a handler that takes nothing, and one that sends to its own mailbox.
static long chain(pgas::pe& me) {
  pgas::symmetric<long> hops(me, 0L);
  const auto mine = hops.local();
  pgas::actor_of runner(me);
  runner.send(0, [=](auto& here) {
    ++*mine;
    here.send((here.index() + 1) % here.count(), [mine](auto& here) {
      *mine += 10;
      here.send(0, [mine, me = here.index()] { *mine += 100 + 0 * me; });
    });
  });
  runner.quiesce();
  return me.sum(*hops);
}

// Mailboxes whose order the program gives; a lambda in a handler.
static long merge(pgas::pe& me) {
  pgas::symmetric<long> sum(me, 0L);
  auto merger = pgas::make_selector<4>(pgas::mailbox_order{{2, {0}}, {3, {1}}}, sum);
  merger.send<0>(0, [](long&, auto& here) { here.template send<2>(here.from(), [](long& s) { s += 1; }); });
  merger.done<0>();
  merger.send<1>(0, [](long& own, auto& here) {
    const auto on = [&](long more) { here.template send<3>(0, [more](long& s) { s += more; }), own += 100; };
    on(10);
    on(20);
  });
  merger.finish();
  return me.sum(*sum);
}

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    std::uint32_t levels = 0;
    const auto pes = static_cast<std::uint32_t>(me.count());
    const auto first = published::sort(me, published::home{pes}, [&levels](std::uint32_t l) { levels += l; });
    if (first != 451500) throw shunt::error(std::to_string(first));
    if (chain(me) != 111 * me.count() || merge(me) != 231 * me.count() || levels != 3) throw shunt::error("wrong");
    if (me.index() == 0) std::printf("%lu\n", static_cast<unsigned long>(first));
  });
}
