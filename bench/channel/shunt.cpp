/// Question: what does a channel cost between fibers of one worker and of two, and a mutex that is free?
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <shunt/sched.hpp>
#include <shunt/sync.hpp>

#include "work.hpp"

namespace {

namespace sched = shunt::sched;

/// Fibers that stay where they are: senders on the first worker, receivers on the last.
sched::spawn_options on(int worker) {
  sched::spawn_options there;
  there.worker = worker;
  return there;
}

long queue(const bench::channel_work& work, sched::runtime& workers) {
  shunt::channel<long> items(work.room());
  std::atomic<long> sum = 0;
  shunt::latch sent(work.ends());
  shunt::latch received(work.ends());
  for (int end = 0; end < work.ends(); ++end) {
    workers.spawn(
        [&] {
          for (long i = 1; i <= work.each(); ++i) static_cast<void>(items.send(i));
          sent.count_down();
        },
        on(0));
    workers.spawn(
        [&] {
          long mine = 0;
          for (const long item : items) mine += item;
          sum += mine;
          received.count_down();
        },
        on(work.workers() - 1));
  }
  sent.wait();
  items.close();
  received.wait();
  return sum;
}

long handoff(const bench::channel_work& work, sched::runtime& workers) {
  shunt::channel<long> there(1), back(1);
  shunt::latch ended(1);
  long sum = 0;
  workers.spawn(
      [&] {
        for (const long item : there) static_cast<void>(back.send(item));
        ended.count_down();
      },
      on(work.workers() - 1));
  for (long i = 1; i <= work.each(); ++i) {
    static_cast<void>(there.send(i));
    sum += back.receive().value_or(0);
  }
  there.close();
  ended.wait();
  return sum;
}

long lock(const bench::channel_work& work) {
  shunt::mutex guard;
  volatile long held = 0;
  for (long i = 0; i < work.each(); ++i) {
    const std::lock_guard in(guard);
    held = held + 1;
  }
  return held;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::channel_work work(argc, argv);
  sched::options o;
  o.workers = work.workers();
  o.stuck_after = {};
  sched::runtime workers(o);
  workers.run([&] {
    for (long sample = 0; sample < work.samples(); ++sample) {
      const double start = bench_now();
      const long sum = work.what() == "lock"      ? lock(work)
                       : work.what() == "handoff" ? handoff(work, workers)
                                                  : queue(work, workers);
      work.report(sample, bench_now() - start, sum);
    }
  });
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  return 1;
}
