/// One thread's bed: it sleeps until somebody leaves a token.
///
///   token   park()                       park_on()                          unpark()
///   0       sleeps; returns at 1 or late -> away, sleeps; then -> 0         -> 1, wakes
///   1       -> 0, returns at once        -> 0, returns at once              -> 1
///   away    breach of contract           breach of contract                 -> 1, rings
///
/// `away`: the owner sleeps on descriptors, where no futex reaches it; a bell does, an eventfd.
///
/// A token or a ring left late (after the sleeper's time ran out) makes the next park return at
/// once: a spurious wake, which every caller copes with. So may an unpark() meant for an earlier
/// owner; therefore a bell, once made, is kept as long as the process, as its parker is.
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
  /// Owner only. May return for no reason.
  void park(std::chrono::nanoseconds at_most) noexcept {
    // acquire: what the unparker wrote before its token; the inbox's edge `sent` says it too.
    if (token_.exchange(0, std::memory_order_acquire) == 0) {
      futex_wait(token_, 0, at_most);
      token_.exchange(0, std::memory_order_acquire);
    }
  }

  /// Before its owner calls park_on(). A bell that came by fork() is the parent's as well, and each would
  /// take the other's rings: it is replaced. \throws shunt::error if the system has no descriptor left.
  void need_bell();

  /// Owner only. As park(), and returns also when `descriptor` is readable.
  void park_on(int descriptor, std::chrono::nanoseconds at_most) noexcept;

  /// The bell's descriptor, for tests; -1: none.
  [[nodiscard]] int bell() const noexcept { return bell_; }

  /// Any thread.
  void unpark() noexcept {
    // release: pairs with the acquires in park() and park_on(). acquire: edge `bell`, park_on()
    // -> here: the bell was made before its owner went away.
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
  int bells_process_ = -1;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
