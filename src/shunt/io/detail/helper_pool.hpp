/// A few threads for calls that block their thread whatever the caller does.
///
/// Invariants
///   helper_pool.H1  A job lies on the stack of the fiber that waits for it. So the queue needs no memory, and is no
///                   longer than there are fibers.
///   helper_pool.H2  A job leaves the queue once: a helper takes it, runs it and wakes the fiber; or its fiber
///                   withdraws it before a helper has begun it. Both happen under the lock.
///
/// Edge `ran`, helper -> fiber: what the job wrote is visible to the fiber.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <shunt/io/deadline.hpp>
#include <shunt/io/detail/outcome.hpp>
#include <shunt/io/io_error.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class helper_pool {
 public:
  /// \param max_threads  at least 1. A thread is started when a job finds no idle one.
  explicit helper_pool(int max_threads) noexcept : max_threads_(max_threads) {}
  ~helper_pool();
  helper_pool(const helper_pool&) = delete;
  helper_pool& operator=(const helper_pool&) = delete;

  /// A fiber: a helper calls `body`, which must not throw; this fiber waits for its end.
  /// \return timed_out or cancelled if no helper had begun `body` by then; then none will.
  /// \throws io_error if not one thread can be started.
  error perform(const std::function<void()>& body, const deadline& until);

 private:
  struct job {
    const std::function<void()>* body;
    sched::waker fiber;
    job* next = nullptr;
    std::atomic<bool> ran{false};
  };

  void enqueue(job& one);
  bool withdraw(job& one) noexcept;
  static void wait_for(const job& one);
  void start_thread();  // under the lock
  void serve() noexcept;

  const int max_threads_;
  std::mutex lock_;
  std::condition_variable work_;
  job* head_ = nullptr;
  job* tail_ = nullptr;  // meaningless while the queue is empty
  int queued_ = 0;
  int idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
