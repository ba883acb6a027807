/// Sleeping on a 32-bit word: a thin wrapper of Linux's futex. On other systems, short naps.
///
/// For code that blocks a thread. Fibers park instead (sched/fiber.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace shunt {
inline namespace v1 {

/// Which threads may wait and wake on one word.
enum class futex_scope : std::uint8_t {
  process,  ///< threads of this process
  machine,  ///< any process that maps the word's page as shared memory
};

/// Any thread. Sleeps while `word` is `expected`, until woken. May return early for no reason: read the word again. It
/// orders nothing: the caller's own accesses to `word` carry the edges.
/// \param timeout  at most this long; nanoseconds::max() for ever; 0 or less returns at once.
/// \return false if the time ran out, true otherwise.
bool futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max(),
                futex_scope scope = futex_scope::process) noexcept;

/// Any thread. Wakes up to `count` sleepers on `word`. Change the word first. Cost: a system call, some
/// 250 ns where no thread sleeps, more for each that it wakes.
void futex_wake(const std::atomic<std::uint32_t>& word, int count = 1,
                futex_scope scope = futex_scope::process) noexcept;

/// Any thread. Leaves a token for a thread of any process that sleeps while `word`, in shared memory, is 0; wakes it.
inline void leave_token(std::atomic<std::uint32_t>& word) noexcept {
  // release: edge `token` of sched::detail::parker, which takes it. Its other bits stay.
  word.fetch_or(1, std::memory_order_release);
  futex_wake(word, 1, futex_scope::machine);
}

/// For futex_wake(): wakes all that wait.
inline constexpr int futex_all = std::numeric_limits<int>::max();

}  // namespace v1
}  // namespace shunt
