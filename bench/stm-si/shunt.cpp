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

struct sliced_counter : counter {
  void increment() {
    bench::slices::run([this] {
      shunt::atomically([&](shunt::tx& t) {
        const long n = t.read(x);
        bench::slices::end_if_over();
        t.write(x, n + 1);
      });
    });
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::sliced(bench_parse(argc, argv)) ? bench::increments<bench::shunt_fibers, sliced_counter>(argc, argv)
                                                : bench::increments<bench::shunt_fibers, counter>(argc, argv);
}
