/// The state of one descriptor: who waits for it, and whether it is closed.
///
/// Invariants
///   W1  Watches are type-stable: they come from slabs that live as long as the process. An epoll may
///       report an event of a descriptor that has just been closed; it then meets a free watch,
///       or that of another descriptor, and wakes somebody for no reason.
///   W2  The number stays this descriptor's until drop(): close() puts a file on which every call fails in
///       its place (dup2), so no system call ever meets a number that means something else meanwhile, and
///       none has to say that it is under way.
///   W3  changes_[side] grows with every event. A fiber that read it before its system call said
///       EAGAIN, and finds it the same under the lock, has missed nothing: it may wait.
///   W4  Who waits stands in first_ or in others_ until the side's count grows, or until it takes itself
///       out; both under the lock. So one that finds the count grown stands nowhere, and has been told.
///   W5  A short read from TCP emptied the socket (epoll(7)): until changes_[in] grows, a read would say
///       EAGAIN, and is not made. Not so once the end, an error or urgent data was reported: then
///       there may be something to read that no further event tells of.
///   W6  Whoever finds it closed may drop it while close() is still under way. So close() uses the number in `closing`
///       only; later it meets the watch alone, perhaps as another descriptor's, whose waiters it wakes for no reason
///       (W1).
///
///   state    close()                                  a call                       drop()
///   open     -> closing, the file is closed           the system's answer          the file is closed
///   closing  nothing; who made it so: -> closed,      errc::closed; one that was   waits for `closed`
///            then waiters are told (W6)               under way may still succeed
///   closed   nothing                                  as above                     the number is given back
///
/// Edges
///   changed   happened -> seen        the event came before the system call that follows
///   closed    close -> a failed call  whoever meets the file in its place finds it closed
///   released  close -> drop           the number is not used any more (W6)
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include <sys/types.h>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/io/detail/outcome.hpp>
#include <shunt/io/detail/system_call.hpp>
#include <shunt/io/limit.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/observe/report_notes.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

class loop;

enum class side : std::uint8_t { in, out };

class alignas(cache_line) watch {
 public:
  /// A watch for an open descriptor, non-blocking. Closes `fd` if it cannot be made.
  /// \throws std::bad_alloc; io::failure if the system has no descriptor left.
  [[nodiscard]] static watch* take(int fd);

  /// The owner's: closes, and gives the watch back. Nobody else may be inside a call (contract), but for a
  /// close() that the owner has learned of (W6).
  void drop() noexcept;

  /// Any thread. \return false if it was closed before.
  bool close() noexcept;
  [[nodiscard]] bool closed() const noexcept {
    // edge `closed` in, after a call that failed; elsewhere a look
    return state_.load(std::memory_order_acquire) != state::open;
  }
  /// -1 once closed. A look: it may be closed at once.
  [[nodiscard]] int fd() const noexcept { return closed() ? -1 : fd_; }
  /// For a call, until drop(): of one that was closed it fails (W2), as failed() says.
  [[nodiscard]] int number() const noexcept { return fd_; }
  /// What a call that failed with `code` is to say.
  trouble failed(int code) const noexcept { return closed() ? errc::closed : trouble::of_system(code); }

  /// Calls `attempt(fd)` until it says neither EAGAIN nor EINTR, and waits where it must.
  /// \param attempt  as system calls do: -1 and errno, or a number of at least 0.
  template <typename Attempt>
  [[nodiscard]] outcome perform(side which, const limit& how_long, const Attempt& attempt) {
    for (bool again = false;; again = true) {
      if (const auto bad = refused(how_long)) return {0, bad};
      const auto before = seen(which);
      trouble bad;
      if (which == side::in && drained()) {
        bad = would_wait(which, before, how_long, again);
      } else {
        const auto result = attempt(fd_);
        if (result >= 0) [[likely]] {
          breathe();
          return {static_cast<std::size_t>(result), {}};
        }
        bad = failed_once(errno, which, before, how_long, again);
      }
      if (bad) return {0, bad};
    }
  }

  /// A socket's: the same as perform() with recv(2), and with send(2). Inlined into what the program calls, as
  /// returning is what costs most after a system call (system_call.hpp); what is rare is elsewhere.
  [[nodiscard, gnu::always_inline]] outcome receive(void* into, std::size_t size, const limit& how_long);
  [[nodiscard, gnu::always_inline]] outcome send(const void* from, std::size_t size, const limit& how_long);

  /// An attempt, on side::in: read(2).
  [[nodiscard]] ssize_t read(void* into, std::size_t size) noexcept;
  /// It would say EAGAIN (W5). Never where W5 does not hold: there counts come round again.
  [[nodiscard]] bool drained() const noexcept { return drained(seen(side::in)); }

  /// The owner of a TCP socket that nobody else reads: W5 holds.
  void reads_empty_it() noexcept { short_is_empty_ = true; }
  [[nodiscard]] bool is_tcp() const noexcept { return short_is_empty_; }

  [[nodiscard]] std::uint32_t seen(side which) const noexcept {
    return changes_[index(which)].load(std::memory_order_acquire);  // edge `changed` in
  }

  /// A loop: epoll reported these.
  void happened(std::uint32_t events) noexcept;
  /// A loop that will call it soon, for something to read.
  void prefetch_reader() const noexcept {
    // relaxed, both: guesses
    first_[index(side::in)].load(std::memory_order_relaxed).prefetch();
    __builtin_prefetch(frames_.load(std::memory_order_relaxed));
  }

  /// The owner of a descriptor that is not to be closed when this is dropped, before drop().
  void forget() noexcept;

 private:
  struct waiter {
    sched::waker who;
    side which;
    bool beside = false;  // stands in others_
    waiter* next = nullptr;
  };
  struct store;
  static void note_waits(sched::detail::wait_notes& to);
  enum class state : std::uint8_t { open, closing, closed };

  static constexpr const char* what_for_reading = "something to read";
  static constexpr std::uint8_t calls_a_breath = 32;
  static std::size_t index(side which) noexcept { return static_cast<std::size_t>(which); }

  /// A fiber whose calls never wait lets others run now and then.
  [[gnu::always_inline]] void breathe() {
    static_assert(256 % calls_a_breath == 0);
    // relaxed: a count that may lose some where several fibers use one descriptor
    const auto calls = static_cast<std::uint8_t>(calls_.load(std::memory_order_relaxed) + 1);
    calls_.store(calls, std::memory_order_relaxed);
    if (calls % calls_a_breath == 0) [[unlikely]]
      let_others_run();
  }
  [[gnu::noinline]] static void let_others_run() { sched::this_fiber::yield(); }
  [[nodiscard]] bool drained(std::uint32_t seen_in) const noexcept {
    // relaxed, both: ends_ was written before the count just seen (edge `changed`), and empty_at_ is
    // this reader's.
    return short_is_empty_ && empty_at_.load(std::memory_order_relaxed) == seen_in &&
           !ends_.load(std::memory_order_relaxed);
  }
  void has_read(std::size_t count, std::size_t room, std::uint32_t before) noexcept {
    empty_at_.store(count < room ? before : before - 1, std::memory_order_relaxed);  // W5
  }
  trouble refused(const limit& how_long) const noexcept {
    if (closed()) return errc::closed;
    if (how_long.stop().stop_requested()) return errc::cancelled;
    return {};
  }
  /// After an attempt that failed with `code`: waits if that is what it asks for.
  /// \return why there is no sense in another.
  /// \param again  the call has waited before: events that bring nothing must not outwit its limit.
  [[gnu::cold]] trouble failed_once(int code, side which, std::uint32_t before, const limit& how_long, bool again) {
    if (code == EAGAIN || code == EWOULDBLOCK) [[likely]]
      return would_wait(which, before, how_long, again);
    if (code != EINTR) return failed(code);
    breathe();
    return {};
  }
  /// Waits for an event on this side since `before` was seen.
  trouble would_wait(side which, std::uint32_t before, const limit& how_long, bool again);
  /// The same, for something to read and without a limit.
  [[gnu::always_inline]] trouble would_wait(std::uint32_t before);
  [[gnu::always_inline]] bool stands_first(std::uint32_t before);
  trouble wait_with(waiter& me, std::uint32_t before, const limit& how_long);
  void tell(bool in, bool out, bool ends) noexcept;
  bool came() noexcept;
  /// Whether an epoll of the worker's runtime is asked for this side; under the lock.
  [[nodiscard]] bool known_here(side which) const noexcept {
    return (interest_ & (1U << index(which))) != 0 && known_to_ == sched::this_worker::mark();
  }
  trouble know(loop& here, side which);  // under the lock
  [[gnu::always_inline]] void waits_here(side which) noexcept {
    if (which == side::in) frames_.store(__builtin_frame_address(0), std::memory_order_relaxed);  // relaxed: a guess's
  }

  std::atomic<state> state_{state::closed};
  bool short_is_empty_ = false;    // W5
  std::atomic<bool> ends_{false};  // the end, an error or urgent data was reported
  std::atomic<std::uint8_t> calls_{0};
  int fd_ = -1;
  std::array<std::atomic<std::uint32_t>, 2> changes_{};
  std::atomic<std::uint32_t> empty_at_{
      0};  // W5: changes_[in] as the last read saw it, if it emptied the socket; else not

  spin_lock lock_;                                    // guards what follows, and the writes of changes_ and ends_
  std::uint8_t interest_ = 0;                         // the sides that epoll_ was asked for, a bit each
  std::array<std::atomic<sched::waker>, 2> first_{};  // who waits on each side
  waiter* others_ = nullptr;                          // who waits beside them
  std::uint32_t known_to_ = 0;                        // the loops (their number) one of whose epolls has it
  int epoll_ = -1;                                    // that epoll
  std::atomic<const void*> frames_{nullptr};          // where the last reader waited, for who asks for its stack early
};
static_assert(sizeof(void*) != 8 || sizeof(watch) == cache_line);

inline outcome watch::receive(void* into, std::size_t size, const limit& how_long) {
  for (bool again = false;; again = true) {
    if (const auto bad = refused(how_long)) [[unlikely]]
      return {0, bad};
    const auto before = seen(side::in);
    trouble bad;
    if (drained(before)) {
      bad = how_long.none() ? would_wait(before) : would_wait(side::in, before, how_long, again);
    } else {
      const auto result = receive_bytes(fd_, into, size);
      if (result >= 0) [[likely]] {
        const auto count = static_cast<std::size_t>(result);
        has_read(count, size, before);
        breathe();
        return {count, {}};
      }
      bad = failed_once(static_cast<int>(-result), side::in, before, how_long, again);
    }
    if (bad) [[unlikely]]
      return {0, bad};
  }
}

inline outcome watch::send(const void* from, std::size_t size, const limit& how_long) {
  for (bool again = false;; again = true) {
    if (const auto bad = refused(how_long)) [[unlikely]]
      return {0, bad};
    const auto before = seen(side::out);
    const auto result = send_bytes(fd_, from, size);
    if (result >= 0) [[likely]] {
      breathe();
      return {static_cast<std::size_t>(result), {}};
    }
    if (const auto bad = failed_once(static_cast<int>(-result), side::out, before, how_long, again)) return {0, bad};
  }
}

inline bool watch::stands_first(std::uint32_t before) {
  auto& first = first_[index(side::in)];
  const std::scoped_lock held(lock_);
  if (closed() || !known_here(side::in)) [[unlikely]]
    return false;
  // relaxed, both: under the lock
  if (seen(side::in) != before || first.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  first.store(sched::this_fiber::self(), std::memory_order_relaxed);
  waits_here(side::in);
  return true;
}

inline trouble watch::would_wait(std::uint32_t before) {
  if (!stands_first(before)) [[unlikely]]
    return would_wait(side::in, before, {}, false);
  do {
    sched::this_fiber::park(what_for_reading);  // receive()'s caller was allowed to wait, so this does not throw
  } while (seen(side::in) == before);
  return {};  // perhaps because it was closed: receive() looks
}

/// One call on one watch. \throws what this_fiber::park() would throw.
template <typename Attempt>
[[nodiscard]] outcome perform(const char* call, watch* on, side which, const limit& how_long, const Attempt& attempt) {
  sched::this_fiber::require_wait(call);
  if (on == nullptr) return {0, errc::closed};
  const sched::this_fiber::stay here;  // errno is read after waits
  return on->perform(which, how_long, attempt);
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
