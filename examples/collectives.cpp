// Every PE calls the same collectives in the same order.
#include <shunt/pgas.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {
void require(bool good) {
  if (!good) throw shunt::error("a collective returned another value");
}
}  // namespace

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    const long n = me.count();
    require(me.sum(long{me.index()}) == n * (n - 1) / 2);
    require(me.min(me.index()) == 0 && me.max(me.index()) == me.count() - 1);

    // Combined in PE order, so that a sum of floating point numbers does not depend on timing.
    struct range {
      int low, high;
    };
    const auto all = me.reduce(range{me.index(), me.index()}, [](range a, range b) {
      return range{std::min(a.low, b.low), std::max(a.high, b.high)};
    });
    require(all.low == 0 && all.high == me.count() - 1);

    // Exclusive: of the PEs before this one. With x itself it is the inclusive prefix sum.
    const long x = me.index() + 1;
    require(me.scan(x) == x * (x - 1) / 2 && me.scan(x) + x == x * (x + 1) / 2);

    const std::vector<int> squares = me.gather(me.index() * me.index());
    for (int p = 0; p < me.count(); ++p) require(squares[static_cast<std::size_t>(p)] == p * p);

    const std::vector<long> mine(static_cast<std::size_t>(me.index() % 3), 5);  // their number may differ
    const auto everybodys = me.gather(std::span<const long>(mine));
    for (int p = 0; p < me.count(); ++p)
      require(everybodys[static_cast<std::size_t>(p)].size() == static_cast<std::size_t>(p % 3));
    const auto names = me.gather("PE " + std::to_string(me.index()));
    require(names.back() == "PE " + std::to_string(me.count() - 1));

    require(me.broadcast(me.index() == 0 ? 42 : 0, 0) == 42);
    me.barrier();  // says nothing about messages: that is finish()
    if (me.index() == 0) std::puts("collectives: right");
  });
}
