#include <shunt/base/futex.hpp>

#include <algorithm>
#include <cerrno>
#include <thread>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <shunt/base/wait_time.hpp>
#endif

namespace shunt {
inline namespace v1 {

#if defined(__linux__)

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds timeout,
                futex_scope scope) noexcept {
  if (timeout <= std::chrono::nanoseconds::zero()) return false;
  const wait_time limit(timeout);
  const int private_flag = scope == futex_scope::process ? FUTEX_PRIVATE_FLAG : 0;
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT | private_flag, expected, limit.get(), nullptr, 0);
  return !(result == -1 && errno == ETIMEDOUT);
}

void futex_wake(const std::atomic<std::uint32_t>& word, int count, futex_scope scope) noexcept {
  const int private_flag = scope == futex_scope::process ? FUTEX_PRIVATE_FLAG : 0;
  syscall(SYS_futex, &word, FUTEX_WAKE | private_flag, count, nullptr, nullptr, 0);
}

#else

bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds timeout,
                futex_scope) noexcept {
  if (timeout <= std::chrono::nanoseconds::zero()) return false;
  constexpr std::chrono::nanoseconds nap{50'000};
  // relaxed, both: a look; the caller's own accesses to `word` carry the edges
  if (word.load(std::memory_order_relaxed) != expected) return true;
  std::this_thread::sleep_for(std::min(nap, timeout));
  return timeout > nap || word.load(std::memory_order_relaxed) != expected;  // relaxed: a look, as above
}

void futex_wake(const std::atomic<std::uint32_t>&, int, futex_scope) noexcept {}

#endif

}  // namespace v1
}  // namespace shunt
