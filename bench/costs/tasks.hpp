/// Costs of tasks, on one worker: no thief takes anything.
#pragma once

#include <deque>
#include <shunt/task.hpp>

#include "cost.hpp"

namespace bench {

inline cost fork_join_in(long operations, bool migrates) {
  return on_one_worker(
      [operations] {
        return processor_time(operations, [](long n) {
          long left = 0, right = 0;
          for (long i = 0; i < n; ++i) {
            shunt::fork_join([&] { ++left; }, [&] { ++right; });
            use(left);
          }
          must_be("left branches", left, n);
          return right;
        });
      },
      {.worker = 0, .migrates = migrates});
}
inline cost fork_join(long operations) { return fork_join_in(operations, false); }
inline cost fork_join_migrating(long operations) { return fork_join_in(operations, true); }

inline cost parallel_for(long operations) {
  return on_one_worker([operations] {
    return processor_time(operations, [](long n) {
      long bodies = 0;
      shunt::parallel_for(0L, n, 1, [&](long) { use(++bodies); });
      return bodies;
    });
  });
}
inline cost parallel_reduce(long operations) {
  return on_one_worker([operations] {
    return processor_time(operations, [](long n) {
      const auto one = [](long i) {
        use(i);
        return 1L;
      };
      return shunt::parallel_reduce(0L, n, 1, 0L, one, [](long a, long b) { return a + b; });
    });
  });
}

inline cost finish(long operations) {
  return on_one_worker([operations] {
    return processor_time(operations, [](long n) {
      long done = 0;
      for (long i = 0; i < n; ++i) shunt::finish([&] { use(++done); });
      return done;
    });
  });
}
/// From the call to the end of a task that does nothing else but count.
inline cost async(long operations) {
  return on_one_worker([operations] {
    return processor_time(operations, [](long n) {
      long ended = 0;
      for (long made = 0; made < n;) {
        const long next = std::min(made + 100, n);
        shunt::finish([&] {
          for (; made < next; ++made) shunt::async([&ended] { ++ended; });
        });
      }
      return ended;
    });
  });
}

/// A coroutine awaits futures one after the other, none of which is ready then.
struct awaiting {
  std::vector<shunt::promise<long>> promises;
  std::vector<shunt::future<long>> futures;
  std::size_t awaited = 0;

  shunt::coroutine_task<long> all() {
    long sum = 0;
    for (const auto& f : futures) {
      ++awaited;
      sum += co_await f;
    }
    co_return sum;
  }
};
inline cost co_await_future(long operations) {
  return on_one_worker([operations] {
    awaiting it;
    it.promises.resize(static_cast<std::size_t>(operations));
    for (const auto& p : it.promises) it.futures.push_back(p.get_future());
    const double start = bench_processor_now();
    shunt::future<long> sum;
    shunt::finish([&] {
      sum = shunt::start(it.all());
      for (std::size_t i = 0; i < it.promises.size(); ++i) {
        while (it.awaited != i + 1) shunt::sched::this_fiber::yield();
        it.promises[i].set_value(1);
      }
    });
    const double seconds = bench_processor_now() - start;
    must_be("values", sum.get(), operations);
    return cost{seconds, operations};
  });
}

}  // namespace bench
