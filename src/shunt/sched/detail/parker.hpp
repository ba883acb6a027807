/// Lets one thread sleep until another thread leaves a token.
///
///   token   park()                       park_on()                          unpark()
///   0       sleeps; returns at 1 or late -> away, sleeps; then -> 0         -> 1, wakes
///   1       -> 0, returns at once        -> 0, returns at once              -> 1
///   away    breach of contract           breach of contract                 -> 1, rings
///
/// `away`: the owner sleeps on descriptors, where no futex reaches it. Its bell does: an eventfd.
///
/// Edges
///   `token`  unpark -> park, park_on   what the unparking thread wrote before it left the token
///   `bell`   park_on -> unpark         the bell, which was made before its owner went away
///
/// A token or a ring that comes late (after the sleeper's time ran out) makes the next park return at once: a spurious
/// wake, which every caller copes with. An unpark() that was meant for an earlier owner may do the same. Therefore a
/// bell lives as long as the process, like its parker.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <shunt/sched/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class parker {
 public:
  /// Owner only. Sleeps until a token lies there, or for `at_most`. May return for no reason.
  void park(std::chrono::nanoseconds at_most) noexcept {
    // acquire: edge `token` in; the inbox's edge `sent` says the same.
    if (token_.exchange(0, std::memory_order_acquire) == 0) {
      futex_wait(token_, 0, at_most);
      token_.exchange(0, std::memory_order_acquire);  // acquire: edge `token` in
    }
  }

  /// Makes the bell, before the owner calls park_on(). A bell that came by fork() is the parent's as well, and each
  /// process would take the other's rings: it is replaced. \throws shunt::error if the system has no descriptor left.
  void need_bell();

  /// Owner only. Like park(), and returns also when `descriptor` is readable.
  void park_on(int descriptor, std::chrono::nanoseconds at_most) noexcept;

  /// The bell's descriptor, for tests; -1: none.
  [[nodiscard]] int bell() const noexcept { return bell_; }

  /// Any thread.
  void unpark() noexcept {
    // release: edge `token` out. acquire: edge `bell` in.
    if (token_.exchange(1, std::memory_order_acq_rel) == away) {
      ring();
    } else {
      futex_wake(token_);
    }
  }

 private:
  static constexpr std::uint32_t away = 2;
  void ring() noexcept;

  std::atomic<std::uint32_t> token_{0};
  int bell_ = -1;
  int bell_process_ = -1;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
