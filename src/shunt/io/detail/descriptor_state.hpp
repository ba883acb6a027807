/// The state of one descriptor: which fibers wait for it, which epoll has it, and whether it is closed.
///
/// Invariants
///   descriptor.W1  States are type-stable: they come from slabs that live as long as the process. An epoll may report
///                  an event of a descriptor that has just been closed. The event then reaches a free state, or that of
///                  another descriptor, and wakes a fiber for no reason.
///   descriptor.W2  The number stays this descriptor's until release(). close() puts a file on which every call fails
///                  in its place (dup2), so no system call ever meets a number that means something else, and a call
///                  need not announce that it is under way.
///   descriptor.W3  changes_[side] grows with every event. A fiber that read the count before its system call said
///                  EAGAIN, and finds the same count under the lock, has missed nothing: it may wait.
///   descriptor.W4  A fiber that waits is in first_waiter_ or more_waiters_ until the side's count grows, or until it
///                  takes itself out; both happen under the lock. So a fiber that finds the count grown is in neither,
///                  and has been woken.
///   descriptor.W5  A short read from TCP emptied the socket (epoll(7)): until changes_[in] grows a read would say
///                  EAGAIN, and is not made. After the end, an error or urgent data was reported this does not hold:
///                  then there may be something to read that no further event tells of.
///   descriptor.W6  A fiber that finds the descriptor closed may release it while close() is still under way. So
///                  close() uses the number in `closing` only. Later it uses the state alone, perhaps as another
///                  descriptor's, whose waiters it then wakes for no reason (descriptor.W1).
///
///   state    close()                                   a call                        release()
///   open     -> closing, the file is closed            the system's answer           the file is closed
///   closing  nothing; in the call that closes:         errc::closed; a call under    waits for `closed`
///            -> closed, then wakes the waiters       way may still succeed        (descriptor.W6)
///   closed   nothing                                   as above                      the number is given back
///
/// Edges
///   changed   notify -> changes        the event came before the system call that follows
///   closed    close -> a failed call   a call that meets the file in its place finds it closed
///   released  close -> release         close() uses the number no more (descriptor.W6)
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include <sys/types.h>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/io/deadline.hpp>
#include <shunt/io/detail/outcome.hpp>
#include <shunt/io/detail/system_call.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/observe/report_notes.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class loop;

/// in: to read, to accept; out: to write, to connect.
enum class side : std::uint8_t { in, out };

class alignas(cache_line) descriptor_state {
 public:
  /// A state for an open, non-blocking descriptor. Closes `fd` if there is none to be had.
  /// \throws std::bad_alloc; io_error if the system has no descriptor left.
  [[nodiscard]] static descriptor_state* acquire(int fd);

  /// Owner only: closes, and gives the state back. No other fiber may be inside a call (contract), except in a close()
  /// that the owner has learned of (descriptor.W6).
  void release() noexcept;

  /// Any thread. \return false if it was closed before.
  bool close() noexcept;
  [[nodiscard]] bool closed() const noexcept {
    // acquire: edge `closed` in, after a call that failed; before a call it is a guess
    return state_.load(std::memory_order_acquire) != state::open;
  }
  /// -1 once closed. A guess: another thread may close it at once.
  [[nodiscard]] int fd() const noexcept { return closed() ? -1 : fd_; }
  /// For a system call, until release(): on a closed descriptor it fails (descriptor.W2), and failed() says how.
  [[nodiscard]] int number() const noexcept { return fd_; }
  /// The error of a call that failed with errno `code`.
  error failed(int code) const noexcept { return closed() ? errc::closed : error::of_system(code); }

  /// Calls `attempt(fd)` until it says neither EAGAIN nor EINTR; after EAGAIN the fiber waits for an event.
  /// \param attempt  as system calls: -1 and errno, or a number of at least 0.
  template <typename Attempt>
  [[nodiscard]] outcome perform(side which, const deadline& until, const Attempt& attempt) {
    for (bool waited = false;; waited = true) {
      if (const auto ec = refusal(until)) return {0, ec};
      const auto before = changes(which);
      error ec;
      if (which == side::in && is_drained()) {
        ec = wait_for_change(which, before, until, waited);
      } else {
        const auto result = attempt(fd_);
        if (result >= 0) [[likely]] {
          yield_now_and_then();
          return {static_cast<std::size_t>(result), {}};
        }
        ec = after_failure(errno, which, before, until, waited);
      }
      if (ec) return {0, ec};
    }
  }

  /// For sockets: perform() with recv(2), and with send(2). Inlined into the function that the program calls, as after
  /// a system call the returns are what costs most (system_call.hpp). The rare parts are out of line.
  [[nodiscard, gnu::always_inline]] outcome receive(void* into, std::size_t size, const deadline& until);
  [[nodiscard, gnu::always_inline]] outcome send(const void* from, std::size_t size, const deadline& until);

  /// An attempt, on side::in: read(2).
  [[nodiscard]] ssize_t read(void* into, std::size_t size) noexcept;
  /// Whether a read would say EAGAIN (descriptor.W5). Never where descriptor.W5 does not hold: there counts wrap
  /// around.
  [[nodiscard]] bool is_drained() const noexcept { return is_drained(changes(side::in)); }

  /// The owner of a TCP socket that only it reads: descriptor.W5 holds.
  void set_tcp() noexcept { is_tcp_ = true; }
  [[nodiscard]] bool is_tcp() const noexcept { return is_tcp_; }

  /// Events of this side so far; wraps around.
  [[nodiscard]] std::uint32_t changes(side which) const noexcept {
    return changes_[index(which)].load(std::memory_order_acquire);  // edge `changed` in
  }

  /// The loop: epoll reported these.
  void handle_events(std::uint32_t events) noexcept;
  /// The loop, before handle_events(): asks for the lines that a fiber which waits to read will need.
  void prefetch_reader() const noexcept {
    // relaxed, both: guesses
    first_waiter_[index(side::in)].load(std::memory_order_relaxed).prefetch();
    __builtin_prefetch(reader_frame_.load(std::memory_order_relaxed));
  }

  /// Owner only, before release(), where the file outlives the descriptor: takes it out of the epoll.
  void unregister() noexcept;

 private:
  struct waiter {
    sched::waker fiber;
    side which;
    bool listed = false;  // in more_waiters_
    waiter* next = nullptr;
  };
  struct slabs;
  static void note_waits(sched::detail::wait_notes& to);
  enum class state : std::uint8_t { open, closing, closed };

  static constexpr const char* what_for_reading = "something to read";
  static constexpr std::uint8_t calls_per_yield = 32;
  static std::size_t index(side which) noexcept { return static_cast<std::size_t>(which); }

  /// A fiber whose calls never wait lets others run after every 32.
  [[gnu::always_inline]] void yield_now_and_then() {
    static_assert(256 % calls_per_yield == 0);
    // relaxed, both: a count that may lose some where several fibers use one descriptor
    const auto calls = static_cast<std::uint8_t>(calls_.load(std::memory_order_relaxed) + 1);
    calls_.store(calls, std::memory_order_relaxed);
    if (calls % calls_per_yield == 0) [[unlikely]]
      yield_out_of_line();
  }
  [[gnu::noinline]] static void yield_out_of_line() { sched::this_fiber::yield(); }
  [[nodiscard]] bool is_drained(std::uint32_t changes_in) const noexcept {
    // relaxed, both: always_read_ was written before the count just read (edge `changed`), and only this reader writes
    // drained_at_.
    return is_tcp_ && drained_at_.load(std::memory_order_relaxed) == changes_in &&
           !always_read_.load(std::memory_order_relaxed);
  }
  void note_read(std::size_t count, std::size_t size, std::uint32_t before) noexcept {
    // relaxed: only this reader uses it (descriptor.W5)
    drained_at_.store(count < size ? before : before - 1, std::memory_order_relaxed);
  }
  /// Why no attempt may be made: closed or cancelled; none if it may.
  error refusal(const deadline& until) const noexcept {
    if (closed()) return errc::closed;
    if (until.stop().stop_requested()) return errc::cancelled;
    return {};
  }
  /// After an attempt that failed with `code`: waits if it said EAGAIN.
  /// \param waited  the call has waited before: it observes its deadline even if events without effect wake it.
  /// \return why the call fails; none: the next attempt follows.
  [[gnu::cold]] error after_failure(int code, side which, std::uint32_t before, const deadline& until, bool waited) {
    if (code == EAGAIN || code == EWOULDBLOCK) [[likely]]
      return wait_for_change(which, before, until, waited);
    if (code != EINTR) return failed(code);
    yield_now_and_then();
    return {};
  }
  /// Waits until the side's count differs from `before`.
  error wait_for_change(side which, std::uint32_t before, const deadline& until, bool waited);
  /// The same on side::in, without a deadline.
  [[gnu::always_inline]] error wait_to_read(std::uint32_t before);
  [[gnu::always_inline]] bool enlist_reader(std::uint32_t before);
  error wait_enlisted(waiter& me, std::uint32_t before, const deadline& until);
  void notify(bool in, bool out, bool ends) noexcept;
  bool notify_reader() noexcept;
  /// Whether an epoll of the worker's runtime reports this side; under the lock.
  [[nodiscard]] bool is_registered_here(side which) const noexcept {
    return (interest_ & (1U << index(which))) != 0 && loop_group_ == sched::this_worker::mark();
  }
  error register_with(loop& here, side which);  // under the lock
  [[gnu::always_inline]] void note_frame(side which) noexcept {
    // relaxed: prefetch_reader() guesses
    if (which == side::in) reader_frame_.store(__builtin_frame_address(0), std::memory_order_relaxed);
  }

  // One cache line, as one event or one call uses all of it.
  std::atomic<state> state_{state::closed};
  bool is_tcp_ = false;                   // and only its owner reads it: descriptor.W5 holds
  std::atomic<bool> always_read_{false};  // the end, an error or urgent data was reported (descriptor.W5)
  std::atomic<std::uint8_t> calls_{0};
  int fd_ = -1;
  std::array<std::atomic<std::uint32_t>, 2> changes_{};
  std::atomic<std::uint32_t> drained_at_{
      0};  // descriptor.W5: changes_[in] as of the last read, if that emptied the socket

  spin_lock lock_;             // guards what follows, and the writes of changes_ and always_read_
  std::uint8_t interest_ = 0;  // the sides that epoll_ reports, a bit each
  std::array<std::atomic<sched::waker>, 2> first_waiter_{};  // of each side
  waiter* more_waiters_ = nullptr;                           // the others, of both sides
  std::uint32_t loop_group_ = 0;                             // the number of the loops one of whose epolls has it
  int epoll_ = -1;                                           // that epoll
  std::atomic<const void*> reader_frame_{nullptr};           // where the last reader waited
};
static_assert(sizeof(void*) != 8 || sizeof(descriptor_state) == cache_line);

inline outcome descriptor_state::receive(void* into, std::size_t size, const deadline& until) {
  for (bool waited = false;; waited = true) {
    if (const auto ec = refusal(until)) [[unlikely]]
      return {0, ec};
    const auto before = changes(side::in);
    error ec;
    if (is_drained(before)) {
      ec = until.none() ? wait_to_read(before) : wait_for_change(side::in, before, until, waited);
    } else {
      const auto result = receive_bytes(fd_, into, size);
      if (result >= 0) [[likely]] {
        const auto count = static_cast<std::size_t>(result);
        note_read(count, size, before);
        yield_now_and_then();
        return {count, {}};
      }
      ec = after_failure(static_cast<int>(-result), side::in, before, until, waited);
    }
    if (ec) [[unlikely]]
      return {0, ec};
  }
}

inline outcome descriptor_state::send(const void* from, std::size_t size, const deadline& until) {
  for (bool waited = false;; waited = true) {
    if (const auto ec = refusal(until)) [[unlikely]]
      return {0, ec};
    const auto before = changes(side::out);
    const auto result = send_bytes(fd_, from, size);
    if (result >= 0) [[likely]] {
      yield_now_and_then();
      return {static_cast<std::size_t>(result), {}};
    }
    if (const auto ec = after_failure(static_cast<int>(-result), side::out, before, until, waited)) return {0, ec};
  }
}

/// Makes the running fiber the first to wait for something to read. \return false: the common case does not apply.
inline bool descriptor_state::enlist_reader(std::uint32_t before) {
  auto& first = first_waiter_[index(side::in)];
  const std::scoped_lock held(lock_);
  if (closed() || !is_registered_here(side::in)) [[unlikely]]
    return false;
  // relaxed, both: under the lock (descriptor.W4)
  if (changes(side::in) != before || first.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  first.store(sched::this_fiber::self(), std::memory_order_relaxed);
  note_frame(side::in);
  return true;
}

inline error descriptor_state::wait_to_read(std::uint32_t before) {
  if (!enlist_reader(before)) [[unlikely]]
    return wait_for_change(side::in, before, {}, false);
  do {
    sched::this_fiber::park(what_for_reading);  // does not throw: receive()'s caller asked whether the fiber may wait
  } while (changes(side::in) == before);
  return {};  // perhaps because it was closed: receive() looks
}

/// One call on one descriptor. \param call  its name, for messages. \throws what this_fiber::park() would throw.
template <typename Attempt>
[[nodiscard]] outcome perform(const char* call, descriptor_state* on, side which, const deadline& until,
                              const Attempt& attempt) {
  sched::this_fiber::require_wait(until.call(call));
  if (on == nullptr) return {0, errc::closed};
  const sched::this_fiber::stay here;  // errno is read after waits
  return on->perform(which, until, attempt);
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
