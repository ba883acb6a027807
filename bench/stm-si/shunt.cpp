/// Question: what does a transaction on one shared integer cost, whatever the number of fibers?
#include "../common/transactions_shunt.hpp"
#include "increments.hpp"

namespace {
struct counter {
  [[gnu::always_inline]] void increment() {  // as rivals' are
    shunt::atomically([&](shunt::tx& t) { t.write(x, t.read(x) + 1); });
  }
  [[nodiscard]] long value() const { return x.load(); }
  shunt::tvar<long> x{0};
};
}  // namespace

int main(int argc, char** argv) { return bench::increments<bench::shunt_fibers, counter>(argc, argv); }
