/// Question: what does a std::mutex around one shared integer cost?
#include <mutex>

#include "increments.hpp"

namespace {
struct counter {
  void increment() {
    const std::scoped_lock held(lock);
    x = x + 1;
  }
  [[nodiscard]] long value() const { return x; }
  std::mutex lock;
  volatile long x = 0;  // each increment is one
};
}  // namespace

int main(int argc, char** argv) { return bench::increments<bench::plain_threads, counter>(argc, argv); }
