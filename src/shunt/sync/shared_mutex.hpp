/// A mutex that one writer or several readers hold, for fibers and threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <shared_mutex>
#include <source_location>

#include <shunt/base/call_site.hpp>
#include <shunt/base/spin_lock.hpp>
#include <shunt/sync/detail/wait_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// Held by one writer, or by any number of readers. It meets the requirements SharedTimedLockable: std::unique_lock,
/// std::shared_lock and std::scoped_lock take it.
///
/// Order: first come, first served. A reader that comes while a writer waits, waits behind it; so neither kind starves.
/// Hence a reader must not lock it for reading again: with a writer between, both would wait for ever.
///
/// Cost: two exchanges for a lock and its unlock; readers of several cores share a cache line. Memory: what a writer
/// wrote is visible to later holders.
class shared_mutex {
 public:
  shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  /// A fiber or thread that holds it in no way. \throws what sched::this_fiber::park() throws, if it must wait.
  void lock(std::source_location where = std::source_location::current()) {
    static_cast<void>(take(kind::writer, detail::never, {"shared_mutex::lock", where}));
  }
  /// Never waits.
  [[nodiscard]] bool try_lock() noexcept { return try_take(kind::writer); }
  /// \return false: the time passed first. \throws what lock() throws; std::bad_alloc.
  [[nodiscard]] bool try_lock_until(std::chrono::steady_clock::time_point deadline,
                                    std::source_location where = std::source_location::current()) {
    return take(kind::writer, deadline, {"shared_mutex::try_lock_until", where});
  }
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool try_lock_for(std::chrono::nanoseconds time,
                                  std::source_location where = std::source_location::current()) {
    return take(kind::writer, sched::after(time), {"shared_mutex::try_lock_for", where});
  }
  /// The writer.
  void unlock() noexcept;

  /// The same for a reader.
  void lock_shared(std::source_location where = std::source_location::current()) {
    static_cast<void>(take(kind::reader, detail::never, {"shared_mutex::lock_shared", where}));
  }
  /// Never waits. \return false: a writer holds it, or waits for it.
  [[nodiscard]] bool try_lock_shared() noexcept { return try_take(kind::reader); }
  /// Waits as lock_shared(). \return false: the deadline passed first.
  [[nodiscard]] bool try_lock_shared_until(std::chrono::steady_clock::time_point deadline,
                                           std::source_location where = std::source_location::current()) {
    return take(kind::reader, deadline, {"shared_mutex::try_lock_shared_until", where});
  }
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool try_lock_shared_for(std::chrono::nanoseconds time,
                                         std::source_location where = std::source_location::current()) {
    return take(kind::reader, sched::after(time), {"shared_mutex::try_lock_shared_for", where});
  }
  /// A reader.
  void unlock_shared() noexcept;

 private:
  enum class kind : bool { writer, reader };

  [[nodiscard]] bool take(kind as, std::chrono::steady_clock::time_point deadline, call_site call);
  [[nodiscard]] bool try_take(kind as) noexcept;
  [[nodiscard]] bool may_enter(kind as) const noexcept;
  void enter(kind as) noexcept;
  void unlock_and_admit() noexcept;

  spin_lock guard_;  // guards the others
  bool writer_ = false;
  std::size_t readers_ = 0;
  detail::wait_queue waiting_;
};

}  // namespace sync

using sync::shared_mutex;

}  // namespace v1
}  // namespace shunt
