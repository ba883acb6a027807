/// Lets one thread sleep until another thread leaves a token.
///
///   token      park()                       park_on()                     unpark()                    leave_token()
///   0          sleeps; returns at 1 or late -> away, sleeps; then -> 0    -> 1, wakes                 -> 1, wakes
///   1          -> 0, returns at once        -> 0, returns at once         -> 1                        -> 1
///   away       breach of contract           breach of contract            -> away+1, writes to fd     -> away+1
///   away+1     breach of contract           breach of contract            -> away+1, writes to fd     -> away+1
///
/// `away`: the owner sleeps on descriptors, where no futex reaches it. Its wake_fd does: an eventfd.
///
/// The token may lie in memory that other processes map (sleep_on): then their threads leave it too, by `leave_token`.
/// They have no descriptor of this process, so an owner that is `away` finds their token when its time is over.
///
/// Edges
///   `token`    unpark -> park, park_on   what the unparking thread wrote before it left the token
///   `wake_fd`  park_on -> unpark         the descriptor, which was made before its owner went away
///
/// A token or a write that comes late (after the sleeper's time ran out) makes the next park return at once: a spurious
/// wake, which every caller copes with. An unpark() that was meant for an earlier owner may do the same. Therefore a
/// wake_fd lives as long as the process, like its parker, and so does memory that a parker has slept on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <shunt/base/futex.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class parker {
 public:
  /// Owner only. Sleeps until a token lies there, or for `at_most`. May return for no reason.
  void park(std::chrono::nanoseconds at_most) noexcept {
    auto& token = place();
    // acquire: edge `token` in; the inbox's edge `sent` says the same.
    if (token.exchange(0, std::memory_order_acquire) == 0) {
      futex_wait(token, 0, at_most, scope_of(token));
      token.exchange(0, std::memory_order_acquire);  // acquire: edge `token` in
    }
  }

  /// Owner only, while no thread unparks it for a purpose: where the token lies from now on.
  /// \param word  0, in memory that stays mapped as long as the process; null: in the parker itself
  void sleep_on(std::atomic<std::uint32_t>* word) noexcept {
    // relaxed: the word's memory was there before; a token that comes to the old one was meant for an earlier owner.
    place_.store(word == nullptr ? &own_ : word, std::memory_order_relaxed);
  }

  /// Makes the wake_fd, before the owner calls park_on(). One that came by fork() is the parent's as well, and each
  /// process would read what is written for the other: it is replaced. \throws shunt::error if the system has no
  /// descriptor left.
  void need_wake_fd();

  /// Owner only. Like park(), and returns also when `descriptor` is readable.
  void park_on(int descriptor, std::chrono::nanoseconds at_most) noexcept;

  /// For tests; -1: none.
  [[nodiscard]] int wake_fd() const noexcept { return wake_fd_; }

  /// Any thread.
  void unpark() noexcept {
    auto& token = place();
    // release: edge `token` out. acquire: edge `wake_fd` in.
    if ((token.fetch_or(1, std::memory_order_acq_rel) & away) != 0) {
      write_wake_fd();
    } else {
      futex_wake(token, 1, scope_of(token));
    }
  }

 private:
  static constexpr std::uint32_t away = 2;
  void write_wake_fd() noexcept;
  [[nodiscard]] std::atomic<std::uint32_t>& place() const noexcept {
    return *place_.load(std::memory_order_relaxed);  // relaxed: see sleep_on()
  }
  [[nodiscard]] futex_scope scope_of(const std::atomic<std::uint32_t>& token) const noexcept {
    return &token == &own_ ? futex_scope::process : futex_scope::machine;
  }

  std::atomic<std::uint32_t> own_{0};
  std::atomic<std::atomic<std::uint32_t>*> place_{&own_};
  int wake_fd_ = -1;
  int wake_fd_process_ = -1;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
