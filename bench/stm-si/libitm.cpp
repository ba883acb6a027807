/// Question: what does the compiler's transactional memory (gcc -fgnu-tm, libitm) take for one shared integer?
#include "increments.hpp"

namespace {
struct counter {
  void increment() {
    __transaction_atomic { x = x + 1; }
  }
  [[nodiscard]] long value() const { return x; }
  long x = 0;
};
}  // namespace

int main(int argc, char** argv) { return bench::increments<bench::plain_threads, counter>(argc, argv); }
