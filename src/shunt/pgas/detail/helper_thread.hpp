/// A thread that does, one after the other, what may wait for a disk.
///
/// Fibers hand work to it. One that waits for its work parks, so that its worker goes on: other PEs run, and trains are
/// unloaded.
///
/// Invariants
///   helper_thread.H1  Work that a fiber waits for lies on its stack, and the fiber stays until it is done.
///   helper_thread.H2  Under the lock: the queue, what is done, and the wakers of those that wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class helper_thread {
 public:
  /// \param inlined  there is no thread, and the caller does the work: for explored runs
  explicit helper_thread(bool inlined) noexcept : inlined_(inlined) {}
  /// Returns when all work is done.
  ~helper_thread();
  helper_thread(const helper_thread&) = delete;
  helper_thread& operator=(const helper_thread&) = delete;

  /// A fiber. Calls work(), which must not throw, on the thread, some time. The thread is made when it is needed.
  /// \throws error where no thread can be made; std::bad_alloc
  void begin(std::function<void()> work);
  /// A fiber. The same, and waits for its end. \throws what `work` throws, and what begin() throws
  void perform(const std::function<void()>& work);
  /// A fiber. Waits until ready(), which is called under a lock, after each piece of work.
  /// \param what  for reports; static text
  void wait_until(const char* what, const std::function<bool()>& ready);

 private:
  void start();  // under the lock
  void serve() noexcept;

  const bool inlined_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::vector<sched::waker> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
