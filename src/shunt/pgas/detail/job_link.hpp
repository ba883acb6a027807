/// What a worker's parts ask of their job: whether it has failed, to fail it, and where trains go.
///
/// The job owns its workers, and includes them; they know it by this class alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <shunt/base/error.hpp>
#include <shunt/rail/train.hpp>
#include <shunt/transport.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Thrown through a PE's program to unwind it when the job has failed elsewhere. Not an error of its own: the job's
/// message says what happened.
struct job_over {};

class task_sends;

class job_link {
 public:
  /// What a job that has failed ends with: an error, or a usage_error, and its exit status.
  enum class fault : std::uint8_t { failure = 1, usage = 2 };

  explicit job_link(transport::carrier& carrier) noexcept : carrier_(carrier) {}
  job_link(const job_link&) = delete;
  job_link& operator=(const job_link&) = delete;

  /// Any thread. The first message counts, and its `kind`.
  virtual void fail(const std::string& message, fault kind = fault::failure) noexcept = 0;
  /// Any thread. Cost: a load.
  [[nodiscard]] bool failed() const noexcept {
    return failed_.load(std::memory_order_relaxed);  // relaxed: the message has its own lock
  }
  [[nodiscard]] static fault fault_of(const std::exception& thrown) noexcept {
    return dynamic_cast<const usage_error*>(&thrown) != nullptr ? fault::usage : fault::failure;
  }

  /// Any thread. Hands a train over to a worker of the job, in this process or another. \return whether over a network.
  virtual bool deliver(rail::train& t, int to_worker) = 0;
  /// Any thread. What is wrong with a train of another process, one line; empty: nothing.
  [[nodiscard]] virtual std::string fault_of(const rail::train& t) const = 0;
  [[nodiscard]] transport::carrier& carrier() const noexcept { return carrier_; }

  /// Any thread. Starts a fiber on a worker of this process. \throws std::bad_alloc
  virtual void spawn_on(int local_worker, const char* name, std::function<void()> body) = 0;
  /// Any thread. Where tasks of a PE of this process hand over what they send; null: the PE lives elsewhere.
  [[nodiscard]] virtual task_sends* sends_of(int pe) noexcept = 0;

 protected:
  ~job_link() = default;
  transport::carrier& carrier_;
  std::atomic<bool> failed_{false};
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
