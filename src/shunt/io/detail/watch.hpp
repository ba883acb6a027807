/// The state of one descriptor: who uses it, who waits for it, and whether it is closed.
///
/// Invariants
///   W1  Watches are type-stable: they come from slabs that live as long as the process. An epoll may
///       report an event of a descriptor that has just been closed; it then meets a free watch,
///       or that of another descriptor, and wakes somebody for no reason.
///   W2  The descriptor is closed once, by whoever brings the word to `closed` without users: so
///       no system call ever meets a number that means something else meanwhile.
///   W3  changes_[side] grows with every event. A fiber that read it before its system call said
///       EAGAIN, and finds it the same under the lock, has missed nothing: it may wait.
///   W4  A waiter stands in the list until it is told, or takes itself out; both under the lock.
///   W5  A short read from TCP emptied the socket (epoll(7)): until changes_[in] grows, a read would say
///       EAGAIN, and is not made. Not so once the end, an error or urgent data was reported: then
///       there may be something to read that no further event tells of.
///
///   word           enter()            leave()                           close()
///   open, n users  -> n + 1, true     -> n - 1                          -> closed, n users
///   closed, n > 1  false              -> n - 1                          nothing
///   closed, 1      false              -> 0 users, closes the descriptor nothing
///   closed, 0      false              breach of contract                nothing
///   (open without users goes to closed, 0, and closes the descriptor)
///
/// Edges
///   changed   happened -> seen        the event came before the system call that follows
///   told      tell -> wait            the waiter's node is its own again
///   used      leave -> whoever closes the users' calls are over
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <system_error>

#include <sys/types.h>

#include <shunt/base/cache_line.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/io/limit.hpp>
#include <shunt/sched/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

enum class side : std::uint8_t { in, out };

/// What came of an operation: bytes (or a descriptor), and what is bad.
struct outcome {
  std::size_t moved = 0;
  std::error_code bad{};
};

class alignas(quiet_distance) watch {
 public:
  /// A watch for an open descriptor, non-blocking. Closes `fd` if there is no memory.
  /// \throws std::bad_alloc
  [[nodiscard]] static watch* take(int fd);

  /// The owner's: closes, and gives the watch back. Nobody else may be inside a call (contract).
  void drop() noexcept;

  /// Any thread. \return false if it was closed before.
  bool close() noexcept;
  [[nodiscard]] bool closed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & closed_bit) != 0;  // relaxed: a look
  }
  /// -1 once closed. A look: only a user may rely on it.
  [[nodiscard]] int fd() const noexcept { return closed() ? -1 : fd_; }

  /// A user: also if it was closed meanwhile, until leave().
  [[nodiscard]] int fd_in_use() const noexcept { return fd_; }

  /// Whoever uses the descriptor, until leave(). \return false: it is closed.
  [[nodiscard]] bool enter() noexcept;
  void leave() noexcept;

  /// A user: calls `attempt(fd)` until it says neither EAGAIN nor EINTR, and waits where it must.
  /// \param attempt  as system calls do: -1 and errno, or a number of at least 0.
  template <typename Attempt>
  [[nodiscard]] outcome perform(side which, const limit& how_long, const Attempt& attempt) {
    for (bool again = false;; again = true) {
      if (const auto bad = refused(how_long)) return {0, bad};
      const auto before = seen(which);
      const auto result = attempt(fd_);
      if (result >= 0) {
        breathe();
        return {static_cast<std::size_t>(result), {}};
      }
      if (errno == EINTR) {
        breathe();
        continue;
      }
      if (!must_wait(errno)) return {0, std::error_code(errno, std::system_category())};
      if (const auto bad = wait(which, before, how_long, again)) return {0, bad};
    }
  }

  /// A user's attempt, on side::in: read(2), or what it would say.
  [[nodiscard]] ssize_t read(void* into, std::size_t size) noexcept;
  /// A user: a read would say EAGAIN (W5).
  [[nodiscard]] bool drained() const noexcept;

  /// The owner of a TCP socket that nobody else reads: W5 holds.
  void reads_empty_it() noexcept { short_is_empty_ = true; }

  /// A user's fiber: waits for an event on this side since `before` was seen.
  /// \param again  the call has waited before: events that bring nothing must not outwit its limit.
  [[nodiscard]] std::error_code wait(side which, std::uint32_t before, const limit& how_long,
                                     bool again);

  [[nodiscard]] std::uint32_t seen(side which) const noexcept {
    return changes_[index(which)].load(std::memory_order_acquire);  // edge `changed` in
  }

  /// A loop: epoll reported these.
  void happened(std::uint32_t events) noexcept;

  /// The owner of a descriptor that is not to be closed when this is dropped, before drop().
  void forget() noexcept;

 private:
  struct waiter {
    sched::waker who;
    waiter* before = nullptr;
    waiter* next = nullptr;
    std::atomic<bool> told{false};
  };
  struct store;

  static constexpr std::uint64_t valid = std::uint64_t{1} << 32;
  static constexpr std::uint64_t closed_bit = 1;
  static constexpr std::uint64_t one_user = 2;
  static constexpr int calls_a_breath = 32;
  static std::size_t index(side which) noexcept { return static_cast<std::size_t>(which); }

  /// A fiber whose calls never wait lets others run now and then.
  void breathe() {
    // relaxed: a count that may lose some where several fibers use one descriptor
    const int calls = calls_.load(std::memory_order_relaxed) + 1;
    calls_.store(calls < calls_a_breath ? calls : 0, std::memory_order_relaxed);
    if (calls >= calls_a_breath) sched::this_fiber::yield();
  }
  [[nodiscard]] std::error_code refused(const limit& how_long) const noexcept {
    if (closed()) return errc::closed;
    if (how_long.stop().stop_requested()) return errc::cancelled;
    return {};
  }
  static bool must_wait(int code) noexcept { return code == EAGAIN || code == EWOULDBLOCK; }
  void tell(side which) noexcept;  // under the lock
  std::error_code know(side which);

  std::atomic<std::uint64_t> word_{closed_bit};
  int fd_ = -1;
  std::atomic<int> calls_{0};
  std::array<std::atomic<std::uint32_t>, 2> changes_{};
  bool short_is_empty_ = false;              // W5
  std::atomic<std::uint64_t> empty_at_{0};   // of changes_[in], and the bit `valid`
  std::atomic<bool> ends_{false};            // the end, an error or urgent data was reported

  std::mutex lock_;                      // guards what follows, and the writes of changes_ and ends_
  std::array<waiter*, 2> waiters_{};     // newest first
  std::uint64_t known_to_ = 0;           // the reactor (its number) whose epoll has it
  int epoll_ = -1;                       // that epoll
  std::uint32_t interest_ = 0;           // what that was asked for
  watch* next_free_ = nullptr;           // the store's
};

/// The time inside a call.
class use {
 public:
  explicit use(watch* of) noexcept : of_(of != nullptr && of->enter() ? of : nullptr) {}
  ~use() {
    if (of_ != nullptr) of_->leave();
  }
  use(const use&) = delete;
  use& operator=(const use&) = delete;
  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

 private:
  const sched::this_fiber::stay here_;  // errno is read after waits
  watch* const of_;
};

/// One call on one watch, from enter() to leave(). \throws what this_fiber::park() would throw.
template <typename Attempt>
[[nodiscard]] outcome perform(const char* call, watch* on, side which, const limit& how_long,
                              const Attempt& attempt) {
  sched::this_fiber::require_wait(call);
  const use now(on);
  if (!now) return {0, errc::closed};
  return on->perform(which, how_long, attempt);
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
