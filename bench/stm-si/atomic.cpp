/// Question: what does an atomic addition to one shared integer cost? Not composable; the nearest to a ceiling.
#include "increments.hpp"

namespace {
struct counter {
  void increment() { x.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] long value() const { return x.load(); }
  std::atomic<long> x{0};
};
}  // namespace

int main(int argc, char** argv) { return bench::increments<bench::plain_threads, counter>(argc, argv); }
