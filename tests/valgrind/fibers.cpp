/// Fibers for Valgrind to watch: stacks that are switched between, left in the middle of a frame,
/// unwound by exceptions, and used again by fibers that go deeper or less deep.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <shunt/sched.hpp>

#include <support/expect.hpp>

namespace {

using namespace shunt::sched;
using shunt::testing::expect;

/// Waits at the bottom of frames that are written before and read after.
[[gnu::noinline]] long deep(int depth) {
  volatile char frame[700];
  for (auto& c : frame) c = static_cast<char>(depth);
  if (depth == 0) {
    this_fiber::yield();
  } else if (deep(depth - 1) < 0) {
    return -1;
  }
  long sum = 0;
  for (const auto& c : frame) sum += c;
  return sum;
}

[[gnu::noinline]] void throw_after_yield(int depth) {
  if (depth > 0) throw_after_yield(depth - 1);
  this_fiber::yield();
  throw std::runtime_error("thrown on a fiber's stack " + std::to_string(depth));
}

}  // namespace

int main() {
  constexpr int rounds = 4;
  constexpr int fibers = 50;
  long sum = 0;
  int caught = 0;
  runtime both({.workers = 2, .pin = false});
  for (int round = 0; round < rounds; ++round) {
    std::vector<long> sums(fibers);
    std::vector<int> catches(fibers);
    both.run([&] {
      for (int i = 0; i < fibers; ++i) {
        both.spawn(
            [&, i, round] {
              sums[static_cast<std::size_t>(i)] = deep((i * 7 + round * 11) % 30);
              try {
                throw_after_yield(i % 5);
              } catch (const std::exception&) {
                this_fiber::yield();  // with the exception in flight
                ++catches[static_cast<std::size_t>(i)];
              }
            },
            {.worker = i % 2, .stack_bytes = 64 * 1024});
      }
    });
    for (const auto s : sums) sum += s;
    for (const auto c : catches) caught += c;
  }
  long expected = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < fibers; ++i) expected += 700L * ((i * 7 + round * 11) % 30);
  }
  return shunt::testing::status_of([&] {
    expect(sum == expected, std::to_string(sum) + ", not " + std::to_string(expected));
    expect(caught == rounds * fibers, std::to_string(caught) + " caught");
    std::printf("right\n");
    return 0;
  });
}
