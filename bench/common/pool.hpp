/// Loops on threads: what a program that has no runtime writes by hand.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

/// Threads that stay, and run one loop at a time. A thread that is free takes the next index, so loops of uneven bodies
/// come out even.
class thread_pool {
 public:
  explicit thread_pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~thread_pool() {
    {
      const std::scoped_lock held(lock_);
      ending_ = true;
    }
    begins_.notify_all();
    for (auto& one : threads_) one.join();
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Calls body(i) for 0 <= i < count; returns when all have ended. One caller at a time.
  void loop(long count, const std::function<void(long)>& body) {
    std::unique_lock held(lock_);
    body_ = &body;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);  // relaxed: goes with the lock
    busy_ = threads_.size();
    ++number_;
    begins_.notify_all();
    ended_.wait(held, [this] { return busy_ == 0; });
  }

 private:
  void serve() {
    std::unique_lock held(lock_);
    for (unsigned long seen = 0;;) {
      begins_.wait(held, [&] { return ending_ || number_ != seen; });
      if (ending_) return;
      seen = number_;
      const auto& body = *body_;
      const long count = count_;
      held.unlock();
      // relaxed: any thread may get any index; what bodies write is seen by the lock's next owner
      for (long i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
      held.lock();
      if (--busy_ == 0) ended_.notify_one();
    }
  }

  std::mutex lock_;  // guards what follows, but next_
  std::condition_variable begins_;
  std::condition_variable ended_;
  const std::function<void(long)>* body_ = nullptr;
  long count_ = 0;
  std::size_t busy_ = 0;
  unsigned long number_ = 0;  // of loops begun
  bool ending_ = false;
  std::atomic<long> next_{0};
  std::vector<std::thread> threads_;
};

/// A system of the tables whose problems are loops: common/loops.hpp.
struct threads_system {
  template <typename Body>
  static void inside(int workers, const Body& body) {
    thread_pool pool(workers);
    body([&](long count, const std::function<void(long)>& each) { pool.loop(count, each); });
  }
};

}  // namespace bench
