/// Many threads of the operating system, on small stacks without guard pages, and a futex to wait
/// on.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "program.h"
#include "stacks.hpp"

namespace bench {

/// A token for one thread, or a gate for many.
class futex {
 public:
  /// Until a thread has opened it.
  void wait() noexcept {
    while (word_.load(std::memory_order_acquire) == 0) {  // pairs with open()
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }
  /// By its only waiter, before it hands on: no thread opens it again before that.
  void close() noexcept { word_.store(0, std::memory_order_relaxed); }
  void open(int waiters) noexcept {
    word_.store(1, std::memory_order_release);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

/// Starts `body(i)` for i in 0..count-1, each on a thread. Ends the program as absent if the system
/// gives fewer.
template <typename Body>
class threads {
 public:
  threads(const char* program, std::size_t count, Body& body) : stacks_(count), starts_(count), all_(count) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    for (std::size_t i = 0; i < count; ++i) {
      starts_[i] = {&body, i};
      pthread_attr_setstack(&small, stacks_.low(i), stacks::bytes);
      const int refused = pthread_create(&all_[i], &small, &threads::run, &starts_[i]);
      if (refused != 0) {
        bench_absent(program,
                     (std::to_string(count) + " threads wanted, the system gives " + std::to_string(i)).c_str());
      }
    }
    pthread_attr_destroy(&small);
  }
  void join() {
    for (const auto thread : all_) pthread_join(thread, nullptr);
  }

 private:
  struct start {
    Body* body;
    std::size_t number;
  };
  static void* run(void* data) {
    const auto& mine = *static_cast<start*>(data);
    (*mine.body)(mine.number);
    return nullptr;
  }

  stacks stacks_;
  std::vector<start> starts_;
  std::vector<pthread_t> all_;
};

}  // namespace bench
