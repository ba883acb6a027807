/// One end of a channel: its lock, how many items have passed it, and the watchers of the other end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <sched.h>

#include <shunt/base/clock.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {

/// How long an end that found nothing to do stays away before it looks again, in pauses of the processor. While it
/// stays away the other end works without losing a cache line to it, and does several items; so it pays where several
/// were done meanwhile, and only delays the answer where there was one. It is found by trial: longer after a look that
/// found two or more, shorter after one, and where it is zero every `trial_each`th failed look is followed by a trial.
/// Under the end's lock.
class patience {
 public:
  /// How many pauses to wait before the next look.
  [[nodiscard]] int pauses() noexcept {
    if (pauses_ > 0) return pauses_;
    return ++failed_ % trial_each == 0 ? shortest : 0;
  }
  /// A look after such a wait found so many things to do.
  void found(std::uint64_t things) noexcept {
    pauses_ = things > 1 ? std::clamp(2 * pauses_, shortest, longest) : pauses_ / 2 < shortest ? 0 : pauses_ / 2;
  }

 private:
  static constexpr int shortest = 8;
  static constexpr int longest = 256;  // about a microsecond
  static constexpr unsigned trial_each = 32;

  int pauses_ = 0;
  unsigned failed_ = 0;  // looks where it was zero
};

/// What a send or receive that found nothing to do tells its next look.
struct earlier_look {
  bool failed = false;
  int pauses = 0;  ///< before the next look
};

/// A fiber or thread that watches one passage; it lies on that one's stack. One waiter may watch several passages.
struct watcher {
  sched::waiter* waiter = nullptr;
  watcher* next = nullptr;      ///< the one that came later
  watcher* previous = nullptr;  ///< the one that came before
  bool queued = false;
};

/// One end of a channel: how many items have passed it, its lock, and the watchers of the other end, which wait until
/// more have passed. The threads of this end lock it, advance it and unlock it; those of the other end look at it, and
/// lock it only to watch it.
///
///   word_   count * 4 + closed * 2 + locked
///
///   word       lock            unlock: a store            watch(), unwatch()       look()
///   free       -> locked       (not the holder)           lock it                  count, closed
///   locked     waits           -> free, the new count     wait                     count, closed, as published last
///
/// Why no wake is lost: the holder of the lock advances the count, and a watcher asks the count and queues itself under
/// the same lock. So either the watcher sees the new count and does not wait, or the next holder that advances finds it
/// in the queue. One locked operation is enough for an item at each end: the store that unlocks also publishes the
/// count, and no other thread changes a locked word.
///
/// Edge: a release store, and the acquire load or exchange that it feeds
///   passed   unlock, wake -> look      the items that were put into the channel, or the places that were emptied; what
///                                      was written before the channel was closed
///   held     unlock -> lock            what earlier holders wrote
class passage {
 public:
  struct seen {
    std::uint64_t count;
    bool closed;
  };

  /// The lock of the end, as long as it lives.
  class holder {
   public:
    /// Any thread that does not hold it.
    explicit holder(passage& of) noexcept : of_(of), now_(of.lock()) {}
    ~holder() { of_.word_.store(now_, std::memory_order_release); }  // edges `passed`, `held` out
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;

    [[nodiscard]] std::uint64_t count() const noexcept { return now_ / one; }
    [[nodiscard]] bool closed() const noexcept { return (now_ & passage::closed) != 0; }
    /// One more item has passed: the other end sees it when the lock is given back, or by wake().
    void advance() noexcept { now_ += one; }
    void close() noexcept { now_ |= passage::closed; }
    [[nodiscard]] bool watched() const noexcept { return !of_.watchers_.empty(); }
    /// Wakes as many watchers as there is work for, each of which looks for itself. It wakes them under the lock: so
    /// one that finds itself unqueued may go.
    /// \param work  called with what is seen: how many watchers have something to do, at least.
    template <class Work>
    void wake(const Work& work) noexcept {
      of_.word_.store(now_ | locked, std::memory_order_release);  // edge `passed` out
      for (std::uint64_t woken = 0; watched() && work(read(now_)) > woken; ++woken) of_.watchers_.pop()->waiter->wake();
    }

   private:
    passage& of_;
    std::uint64_t now_;
  };

  /// Any thread.
  [[nodiscard]] seen look() const noexcept { return read(word_.load(std::memory_order_acquire)); }  // edge `passed` in

  /// Any thread. \param ready  asked with what is seen: is there something to do already?
  /// \return false: `ready` said so, and `me` is not queued. If true, `me` is until a wake or unwatch().
  template <class Ready>
  [[nodiscard]] bool watch(watcher& me, const Ready& ready) noexcept {
    const holder held(*this);
    if (ready(seen{held.count(), held.closed()})) return false;
    watchers_.push_back(me);
    return true;
  }

  /// The watcher. Afterwards no other thread touches `me` or its waiter. \return false: it has been woken.
  bool unwatch(watcher& me) noexcept {
    const holder held(*this);
    return watchers_.remove(me);
  }

 private:
  static constexpr std::uint64_t locked = 1;
  static constexpr std::uint64_t closed = 2;
  static constexpr std::uint64_t one = 4;

  [[nodiscard]] static seen read(std::uint64_t word) noexcept { return {word / one, (word & closed) != 0}; }

  [[nodiscard]] std::uint64_t lock() noexcept {
    auto found = word_.load(std::memory_order_relaxed) & ~locked;  // relaxed: a guess; the exchange decides
    // acquire: edge `held` in
    while (!word_.compare_exchange_weak(found, found | locked, std::memory_order_acquire, std::memory_order_relaxed)) {
      if ((found & locked) != 0) found = wait();
    }
    return found;
  }
  /// \return the word once it was free.
  [[gnu::cold, gnu::noinline]] std::uint64_t wait() const noexcept {
    constexpr int looks = 64;
    for (int i = 0;; ++i) {
      const auto found = word_.load(std::memory_order_relaxed);  // relaxed: a look; the exchange follows
      if ((found & locked) == 0) return found;
      if (i < looks) {
        relax();
      } else {
        sched_yield();  // the holder may have lost its CPU
      }
    }
  }

  std::atomic<std::uint64_t> word_{0};
  queue_of<watcher> watchers_;
};

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
