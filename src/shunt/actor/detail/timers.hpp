/// Messages that will be sent when their time has come, and the clock: the fiber that sends them.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class actor_system;

/// One of them. At most one message of a timer is under way.
struct timed {
  virtual ~timed() = default;
  /// The clock. Sends, exempt from the mailbox's bound, unless the last message is still under way.
  virtual void fire(const std::shared_ptr<timed>& self) = 0;
  std::chrono::nanoseconds period{0};  // 0: once
  std::atomic<bool> cancelled{false};  // any thread's
  std::atomic<bool> under_way{false};
};

class timers {
 public:
  explicit timers(actor_system& of) noexcept : of_(of) {}

  /// Any thread. Does nothing once this is closed.
  void schedule(const std::shared_ptr<timed>& what, std::chrono::steady_clock::time_point when);
  /// The clock's fiber, on worker 0. Reports to the actor system that it has begun, or could not, and that it has
  /// ended.
  void run_clock();
  /// Forgets all timers, and ends the clock.
  void close() noexcept;

 private:
  [[nodiscard]] bool take_due(std::vector<std::shared_ptr<timed>>& due, std::chrono::steady_clock::time_point& next);

  actor_system& of_;
  std::mutex lock_;  // guards what follows
  std::multimap<std::chrono::steady_clock::time_point, std::shared_ptr<timed>> waiting_;
  sched::waker clock_;
  bool closed_ = false;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
