/// What Linux says of the threads of this process: their CPU time, whether they sleep, and what for.
#pragma once

#include <chrono>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// What a thread waits for in the kernel.
struct kernel_wait {
  long call = -1;        // the system call's number; -1: not known
  bool is_lock = false;  // a futex: its fiber may be interrupted, which only makes it look again
  long mutex_owner = 0;  // of a mutex, as the C library lays it out: the thread that holds it; 0: none that is known
};

/// \param thread  the system's number of a thread of this process.
[[nodiscard]] kernel_wait kernel_wait_of(long thread);
/// CPU time that the thread has used; negative: not known.
[[nodiscard]] std::chrono::nanoseconds cpu_time_of(long thread) noexcept;
/// Whether the kernel has put the thread to sleep: it neither runs, nor is ready, nor is stopped by a debugger.
[[nodiscard]] bool sleeps_in_kernel(long thread);

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
