/// A process to look at with tools/gdb/shunt.py: 1,000 fibers on two workers have parked, each in
/// one of four functions, when all_are_parked() is called.
///
/// Every fifth of them is compact: the frames of most of these have been put aside.
///
/// Beside them, by name: `root` runs; on its worker `yields`, and those whose names begin with `in_ring_`, are ready,
/// and `late` has not started. The latter have done nothing but yield, together with root, for many rounds.
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <shunt/sched.hpp>

namespace {

using namespace shunt::sched;

constexpr int workers = 2;
constexpr int fibers_a_worker = 500;
constexpr int in_ring = 8;

std::atomic<bool> open{false};
std::atomic<int> workers_parked{0};

/// Not inlined, and not left by a jump: each has a frame of its own.
[[gnu::noinline]] void wait_until_open() {
  while (!open.load(std::memory_order_acquire)) this_fiber::park();  // pairs with the store in main
  asm volatile("");
}

}  // namespace

extern "C" {

// Names that check.py looks for.
[[gnu::noinline]] void parks_in_the_north() {
  wait_until_open();
  asm volatile("");
}
[[gnu::noinline]] void parks_in_the_east() {
  wait_until_open();
  asm volatile("");
}
[[gnu::noinline]] void parks_in_the_south() {
  wait_until_open();
  asm volatile("");
}
[[gnu::noinline]] void parks_in_the_west() {
  wait_until_open();
  asm volatile("");
}

[[gnu::noinline]] void yields_in_the_ring() {
  while (!open.load(std::memory_order_relaxed)) this_fiber::yield();  // relaxed: root's thread
  asm volatile("");
}

[[gnu::noinline]] void all_are_parked() { asm volatile(""); }

}  // extern "C"

int main() {
  constexpr void (*where[])() = {parks_in_the_north, parks_in_the_east, parks_in_the_south, parks_in_the_west};
  runtime both({.workers = workers, .pin = false});
  std::vector<waker> wakers(workers * fibers_a_worker);
  both.run([&] {
    for (int w = 0; w < workers; ++w) {
      both.spawn(
          [&, w] {
            int started = 0;
            for (int i = 0; i < fibers_a_worker; ++i) {
              const int number = w * fibers_a_worker + i;
              both.spawn(
                  [&, number] {
                    wakers[static_cast<std::size_t>(number)] = this_fiber::self();
                    ++started;
                    where[number % 4]();
                  },
                  {.worker = w,
                   .name = "fiber_" + std::to_string(number),
                   .stack_bytes = 16 * 1024,
                   .compact = number % 5 == 0});
            }
            // On their worker: when this fiber runs, those that have started are parked.
            while (started < fibers_a_worker) this_fiber::yield();
            workers_parked.fetch_add(1, std::memory_order_release);  // pairs with root's load
          },
          {.worker = w, .name = "foreman"});
    }
    while (workers_parked.load(std::memory_order_acquire) < workers) this_fiber::yield();
    bool yields_runs = false;
    both.spawn(
        [&] {
          yields_runs = true;
          while (!open.load(std::memory_order_relaxed)) this_fiber::yield();  // relaxed: root's thread
        },
        {.worker = 0, .name = "yields"});
    while (!yields_runs) this_fiber::yield();
    for (int i = 0; i < in_ring; ++i) {
      both.spawn([] { yields_in_the_ring(); }, {.worker = 0, .name = "in_ring_" + std::to_string(i)});
    }
    for (int i = 0; i < 100 * in_ring; ++i) this_fiber::yield();
    both.spawn([] {}, {.worker = 0, .name = "late"});
    all_are_parked();
    open.store(true, std::memory_order_release);  // pairs with the loads in wait_until_open
    for (const auto& one : wakers) one.wake();
  });
  std::printf("all have ended\n");
}
