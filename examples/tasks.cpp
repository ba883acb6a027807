// Tasks without PEs: async and finish, futures. Waiting parks the fiber; no thread blocks.
#include <shunt/sched.hpp>
#include <shunt/task.hpp>

#include <cstdio>
#include <exception>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

long fibonacci(int n) {
  if (n < 12) return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
  auto left = shunt::async_value([n] { return fibonacci(n - 1); });
  const long right = fibonacci(n - 2);
  return left.get() + right;
}

}  // namespace

int main() try {
  bool right = true;
  shunt::sched::runtime workers;
  workers.run([&right] {
    std::vector<long> values(100'000);
    std::iota(values.begin(), values.end(), 1L);
    std::vector<long> sums(10);
    shunt::finish([&] {
      const std::span<const long> all(values);
      for (std::size_t b = 0; b < sums.size(); ++b) {
        shunt::async([&sums, b, block = all.subspan(b * 10'000, 10'000)] {
          sums[b] = std::accumulate(block.begin(), block.end(), 0L);
        });
      }
    });  // all blocks are summed, and what they wrote is visible
    right = right && std::accumulate(sums.begin(), sums.end(), 0L) == 5'000'050'000L;
    right = right && fibonacci(24) == 46'368;

    // A promise, for a value that comes from elsewhere.
    shunt::promise<int> later;
    const auto reads = later.get_future();
    shunt::async([p = std::move(later)]() mutable { p.set_value(7); });
    right = right && reads.get() == 7;

    // An exception leaves the finish that waits for the task.
    try {
      shunt::finish([] { shunt::async([] { throw std::runtime_error("no such file"); }); });
      right = false;
    } catch (const std::runtime_error&) {
    }
  });
  std::puts(right ? "tasks: right" : "tasks: WRONG");
  return right ? 0 : 1;
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
