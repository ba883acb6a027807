/// A transactional variable's lock word, and the clock that gives versions.
///
///   bit 63     LOCKED: the other bits are the address of the committer's log entry, or 0
///   bits 1..62 version: the clock's value at the last commit to it; even numbers, the first is 2
///   bit 0      WAITERS: a transaction that retries waits for the next commit to it
///
/// So one comparison tells a reader that it may take what it sees: `word <= limit`, where the limit is the time up to
/// which its snapshot is consistent, with bit 0 set. A locked word is larger than any limit.
///
/// Edges
///   data    a committer's release stores of the value -> a reader's acquire loads of it: whoever sees any part of
///           the new value sees, in its second look at the word, the lock or what came after it
///   word    unlock (release) -> a reader's first look (acquire): the value that belongs to that version
///   time    the clock: a committer's increment (acq_rel), after its locks -> a transaction's begin (acquire): the
///           locks of all commits up to that time are seen, so nothing newer is taken for old
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <shunt/base/cache_line.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

using word = std::uint64_t;

inline constexpr word locked_bit = word{1} << 63;
inline constexpr word waiters_bit = 1;
inline constexpr word one_step = 2;

[[nodiscard]] constexpr bool is_locked(word w) noexcept { return (w & locked_bit) != 0; }

struct alignas(quiet_distance) shared_clock {
  std::atomic<word> now{one_step};
};
inline constinit shared_clock the_clock;

/// What every variable begins with.
struct variable {
  mutable std::atomic<word> lock{one_step};
};

// Where the history checker's builds let another thread go on, sleep in its way, take the time from its program, and
// leave something out: tests/stm.
enum class flaw {
  none,
  second_look,
  limit,
  extension,
  validation,
  locks_of_others,
  early_unlock,
  early_clock,
  hasty_solo,
  hasty_park
};
#if defined(SHUNT_STM_FLAW)
void test_point() noexcept;
[[nodiscard]] bool test_sleep(const std::atomic<std::uint32_t>& until_not_0) noexcept;  // whether it has slept
[[nodiscard]] std::chrono::steady_clock::time_point now() noexcept;
[[nodiscard]] constexpr bool has(flaw f) noexcept { return f == static_cast<flaw>(SHUNT_STM_FLAW); }
#else
inline void test_point() noexcept {}
[[nodiscard]] inline bool test_sleep(const std::atomic<std::uint32_t>&) noexcept { return false; }
[[nodiscard]] inline std::chrono::steady_clock::time_point now() noexcept { return sched::now(); }
[[nodiscard]] constexpr bool has(flaw) noexcept { return false; }
#endif

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
