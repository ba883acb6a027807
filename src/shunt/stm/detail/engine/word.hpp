/// A transactional variable's lock word, and the clock that gives versions.
///
///   bit 63     LOCKED: the other bits are the address of the committing transaction's log entry, or 0
///   bits 1..62 version: the clock's value at the last commit to the variable; even numbers, the first is 2
///   bit 0      WAITERS: a transaction that retries waits for the next commit to the variable
///
/// One comparison tells a reader that it may use the value it sees: `word <= limit`. The limit is the time up to which
/// the reader's snapshot is consistent, with bit 0 set. A locked word is larger than any limit.
///
/// Edges
///   data    the committing thread's release stores of the value -> a reader's acquire loads of it: a reader that sees
///           a part of the new value sees, in its second look at the word, the lock or a later word
///   word    unlock (release) -> a reader's first look (acquire): the value that belongs to that version
///   time    the clock: the committing thread's increment (acq_rel), after its locks -> a transaction's begin
///           (acquire): the reader sees the locks of all commits up to that time, so it takes no old value for a new
///           one
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

/// The base of every tvar.
struct variable {
  mutable std::atomic<word> lock{one_step};
};

/// A well-mixed number of `bits` bits that belongs to a variable's address (Fibonacci hashing).
template <int bits>
[[nodiscard]] std::size_t hash_of(const void* v) noexcept {
  return (reinterpret_cast<std::uintptr_t>(v) >> 4) * 0x9E3779B97F4A7C15U >> (64 - bits);
}

/// A part of the protocol that a build of the history checker (tests/stm/history.cpp) leaves out. Such a build also
/// switches threads at each test_point(), waits in its own scheduler, and takes the time from its program.
enum class flaw {
  none,
  second_look,
  limit,
  extension,
  validation,
  locks_of_others,
  early_unlock,
  early_clock,
  hasty_exclusive,
  hasty_park
};
#if defined(SHUNT_STM_FLAW)
void test_point() noexcept;
/// \return whether the call has waited.
[[nodiscard]] bool test_wait(const std::atomic<std::uint32_t>& until_not_0) noexcept;
[[nodiscard]] std::chrono::steady_clock::time_point now() noexcept;
[[nodiscard]] constexpr bool has(flaw f) noexcept { return f == static_cast<flaw>(SHUNT_STM_FLAW); }
#else
inline void test_point() noexcept {}
[[nodiscard]] inline bool test_wait(const std::atomic<std::uint32_t>&) noexcept { return false; }
[[nodiscard]] inline std::chrono::steady_clock::time_point now() noexcept { return sched::now(); }
[[nodiscard]] constexpr bool has(flaw) noexcept { return false; }
#endif
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  return std::chrono::nanoseconds(stm::detail::now().time_since_epoch()).count();
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
