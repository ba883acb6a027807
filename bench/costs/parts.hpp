/// Costs of what the runtime is made of: the processor, executions, stacks, trains.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/clock.hpp>
#include <shunt/base/futex.hpp>
#include <shunt/base/random.hpp>
#include <shunt/context/backtrace.hpp>
#include <shunt/context/stack_pool.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/wire/batch.hpp>
#include <thread>
#include <vector>

#include "cost.hpp"

namespace bench {

inline cost ticks(long operations) {
  return processor_time(operations, [](long n) {
    long forward = 0;
    for (std::uint64_t last = 0; forward < n;) {
      const std::uint64_t present = shunt::ticks();
      forward += present >= last ? 1 : 0;  // one processor's clock; another one's may be a little behind
      last = present;
    }
    return forward;
  });
}

inline cost counter_random_at(long operations) {
  return processor_time(operations, [](long n) {
    const shunt::counter_random numbers(7);
    std::uint64_t sum = 0;
    for (long i = 0; i < n; ++i) {
      sum += numbers.at(static_cast<std::uint64_t>(i));
      use(sum);
    }
    return sum != 0 ? n : 0;
  });
}

inline cost head_check(long operations) {
  std::array<shunt::wire::batch_head, 256> heads;
  for (std::uint32_t i = 0; auto& head : heads) head = {.bytes = 8 * i, .count = i++, .handler = 3, .stride = 8};
  return processor_time(operations, [&](long n) {
    std::uint32_t check = 0;
    for (long i = 0; i < n; ++i) {
      check += shunt::wire::head_check(heads[static_cast<std::size_t>(i) % heads.size()], 0, 1);
      use(check);
    }
    return check != 0 ? n : 0;
  });
}

/// The other end of a switch: an execution that goes back at once, as often as it is visited.
class other_end {
 public:
  /// \param depth  frames below its visits
  explicit other_end(long depth = 0) : depth_(depth), stack_(pool_.take(std::size_t{64} << 10)) {
    adopt_thread(here_);
    prepare(there_, stack_.low, stack_.bytes, run, this);
    visit();
  }
  ~other_end() {
    ends_ = true;
    visit();
    retire(there_);
    pool_.give(stack_);
  }
  other_end(const other_end&) = delete;
  other_end& operator=(const other_end&) = delete;

  void visit() { switch_to(here_, there_); }
  [[nodiscard]] long visits() const { return visits_; }
  [[nodiscard]] const shunt::context::execution& stopped() const { return there_; }

 private:
  static void run(void* self) {
    auto& me = *static_cast<other_end*>(self);
    me.go_back(me.depth_);
    finish_to(me.there_, me.here_);
  }
  [[gnu::noinline]] void go_back(long deeper) {
    if (deeper > 0) return below(deeper);
    while (!ends_) {
      ++visits_;
      switch_to(there_, here_);
    }
  }
  [[gnu::noinline]] void below(long deeper) {
    go_back(deeper - 1);
    use(deeper);  // after the call: the frame stays
  }

  const long depth_;
  shunt::context::stack_pool pool_;
  const shunt::context::stack_pool::stack stack_;
  shunt::context::execution here_, there_;
  long visits_ = 0;
  bool ends_ = false;
};

inline cost switch_to_and_back(long operations) {
  return processor_time(operations, [](long n) {
    other_end other;
    for (long i = 1; i < n / 2; ++i) other.visit();
    return 2 * other.visits() + n % 2;
  });
}

inline cost backtrace_a_frame(long operations) {
  constexpr long depth = 32;
  const other_end other(depth);
  return processor_time(operations, [&](long n) {
    std::array<const void*, 2 * depth> found{};
    long frames = 0;
    while (frames < n) frames += static_cast<long>(backtrace(other.stopped(), found));
    must_be("whether there are all frames", backtrace(other.stopped(), found) > depth ? 1 : 0, 1);
    return std::min(frames, n);
  });
}

inline cost trim_with_nothing_to_do(long operations) {
  shunt::context::stack_pool pool;
  pool.give(pool.take(std::size_t{256} << 10));
  return processor_time(operations, [&](long n) {
    long done = 0;
    for (long i = 0; i < n; ++i) done += pool.trim() ? 0 : 1;
    return done;
  });
}

/// Stacks that were used are given back, and their memory to the system, `most` stacks a call.
inline cost trim_of(long stacks, std::size_t most) {
  constexpr std::size_t bytes = std::size_t{256} << 10;
  constexpr std::size_t kept = (std::size_t{4} << 20) / bytes;
  shunt::context::stack_pool pool;
  std::vector<shunt::context::stack_pool::stack> taken(static_cast<std::size_t>(stacks) + kept);
  for (auto& one : taken) {
    one = pool.take(bytes);
    static_cast<char*>(one.low)[one.bytes - 1] = 1;
  }
  for (const auto& one : taken) pool.give(one);
  for (int i = 0; i < 127; ++i) static_cast<void>(pool.trim(0));  // from the 128th call on they count as idle
  const double start = bench_processor_now();
  long calls = 0;
  while (pool.trim(most)) ++calls;
  const double seconds = bench_processor_now() - start;
  must_be("calls", calls, (stacks - 1) / static_cast<long>(most));
  return {seconds, stacks};
}
inline cost trim_in_runs(long operations) { return trim_of(operations, 64); }
inline cost trim_one_by_one(long operations) { return trim_of(operations, 1); }

/// CPU time of the calling thread.
inline double thread_now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// While another thread of the process runs.
inline cost heavy_fence(long operations) {
  if (!shunt::asymmetric_fence::usable()) bench_absent(costs_program, "the kernel has no membarrier");
  std::atomic<bool> over{false};
  std::thread other([&over] {
    while (!over.load(std::memory_order_relaxed)) shunt::relax();  // relaxed: says nothing but that it is over
  });
  const cost found = timed(thread_now, operations, [](long n) {
    long calls = 0;
    for (; calls < n; ++calls) shunt::asymmetric_fence::heavy();
    return calls;
  });
  over.store(true, std::memory_order_relaxed);  // relaxed: as above
  other.join();
  return found;
}

inline cost futex_wake(long operations) {
  return processor_time(operations, [](long n) {
    const std::atomic<std::uint32_t> word{0};
    long calls = 0;
    while (calls < n) {
      shunt::futex_wake(word);
      ++calls;
    }
    return calls;
  });
}

}  // namespace bench
