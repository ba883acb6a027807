/// A few threads for calls that block whatever one does.
///
/// Invariants
///   H1  A job lies on the stack of the fiber that waits for it, so the queue needs no memory, and
///       is no longer than there are fibers.
///   H2  A job is taken out of the queue once: by a helper, which then runs it and tells the
///       fiber; or by its fiber, which then gave up before it was begun. Both under the lock.
///
/// Edge `done`, helper -> fiber: what the job wrote is visible to the fiber.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <shunt/io/detail/outcome.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/io/limit.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class helpers {
 public:
  explicit helpers(int most) noexcept : most_(most) {}
  ~helpers();
  helpers(const helpers&) = delete;
  helpers& operator=(const helpers&) = delete;

  /// A fiber. `body` must not throw.
  /// \return timed_out or cancelled if it was not begun; then it will not be.
  /// \throws io::failure if not one thread can be started.
  trouble perform(const std::function<void()>& body, const limit& how_long);

 private:
  struct job {
    const std::function<void()>* body;
    sched::waker who;
    job* next = nullptr;
    std::atomic<bool> done{false};
  };

  void enqueue(job& one);
  bool withdraw(job& one) noexcept;
  void start_one();  // under the lock
  void serve() noexcept;

  const int most_;
  std::mutex lock_;
  std::condition_variable work_;
  job* head_ = nullptr;
  job* tail_ = nullptr;  // meaningless while empty
  int queued_ = 0;
  int idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
