/// One end of a channel, as the other end sees it: how many items have passed it, and its watchers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include <shunt/base/spin_lock.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

/// A fiber or thread that watches one passage; it lies on that one's stack. One waiter may watch several passages.
struct watcher {
  sched::waiter* waiter = nullptr;
  watcher* next = nullptr;      ///< the one that came later
  watcher* previous = nullptr;  ///< the one that came before
  bool queued = false;
};

/// The items that have passed one end of a channel: those sent, or those received. The threads of that end, which hold
/// its lock, advance it; those of the other end look at it, and watch it when they find nothing to do.
///
///   word_   count * 4 + closed * 2 + watched
///
///   word          advance()              watch()                           wake()
///   not watched   the new count          -> watched, and asks the count    (an end does not call it)
///   watched       -> not watched, wake() asks the count                    -> watched, if watchers are left
///
/// Why no wake is lost: advance() and watch() both change the word, so one comes first. If it is advance(), watch()
/// sees the new count and does not wait. If it is watch(), advance() sees `watched`, and wake() finds the watcher in
/// the queue, which was there before the word changed (guard_ orders the two).
///
/// Edge: a release exchange, and the acquire load that it feeds
///   passed   advance, close -> look   the items that were put into the channel, or the places that were emptied; what
///                                     was written before the channel was closed
class passage {
 public:
  struct seen {
    std::uint64_t count;
    bool closed;
  };

  /// Any thread.
  [[nodiscard]] seen look() const noexcept { return read(word_.load(std::memory_order_acquire)); }  // edge `passed` in

  /// Under the end's lock, not after close(). \return whether wake() must be called, under that lock.
  [[nodiscard]] bool advance(std::uint64_t count) noexcept {
    return (word_.exchange(count * one, std::memory_order_release) & watched) != 0;  // edge `passed` out
  }

  /// Under the end's lock. wake() must be called under it, for the passages of both ends.
  void close() noexcept {
    word_.fetch_or(closed, std::memory_order_release);  // edge `passed` out
  }

  /// Any thread. \param ready  asked with what is seen after `me` has been queued: is there something to do already?
  /// \return false: `ready` said so, and `me` is not queued. If true, `me` is until a wake or unwatch().
  template <class Ready>
  [[nodiscard]] bool watch(watcher& me, const Ready& ready) noexcept {
    const std::lock_guard held(guard_);
    watchers_.push_back(me);
    if (!ready(mark())) return true;
    watchers_.remove(me);
    return false;
  }

  /// The watcher. Afterwards no other thread touches `me` or its waiter. \return false: it has been woken.
  bool unwatch(watcher& me) noexcept {
    const std::lock_guard held(guard_);
    return watchers_.remove(me);
  }

  /// Any thread. Wakes as many watchers as there is work for, each of which looks for itself. It wakes them under the
  /// lock: so one that finds itself unqueued may go.
  /// \param work  called with what is seen: how many watchers have something to do, at least.
  template <class Work>
  void wake(const Work& work) noexcept {
    const std::lock_guard held(guard_);
    for (std::uint64_t woken = 0; !watchers_.empty(); ++woken) {
      if (work(look()) <= woken && work(mark()) <= woken) break;
      watchers_.pop()->waiter->wake();
    }
  }

 private:
  static constexpr std::uint64_t watched = 1;
  static constexpr std::uint64_t closed = 2;
  static constexpr std::uint64_t one = 4;

  [[nodiscard]] static seen read(std::uint64_t word) noexcept { return {word / one, (word & closed) != 0}; }
  /// Under guard_. relaxed: what it returns decides about waiting only; an item is taken after look().
  seen mark() noexcept { return read(word_.fetch_or(watched, std::memory_order_relaxed)); }

  std::atomic<std::uint64_t> word_{0};
  spin_lock guard_;
  queue_of<watcher> watchers_;
};

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
