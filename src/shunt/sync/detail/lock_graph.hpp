/// Fibers that wait for each other's mutexes in a circle.
#pragma once

#include <string_view>

#include <shunt/base/call_site.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
class mutex;

namespace detail {

/// The fibers that have waited for a mutex for a while, without a deadline. One lock guards all of them: only waits
/// that take long come here.
///
/// Why a circle that is found is one:
///   lock_graph.L1  A fiber is listed by itself, while it waits, so it unlocks nothing while it is listed.
///   lock_graph.L2  A mutex's owner_ is a listed fiber only if that fiber holds it: it clears owner_ before it waits
///                  again, and the lock of the list orders that before this reading. An exception: an unlock has just
///                  handed the mutex to the listed fiber that waits for it. That wait is over: the search ends.
/// Why none is missed: the fiber that closes a circle is listed last, and finds all others.
class lock_graph {
 public:
  /// While one lives, the running fiber is listed.
  class entry {
   public:
    /// \param on  the mutex that the fiber waits for. \param call  the function that the program called.
    /// \throws sched::deadlock; then the fiber is not listed.
    entry(mutex& on, sched::waker fiber, call_site call);
    ~entry();
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

   private:
    friend class lock_graph;
    void link() noexcept;
    void unlink() noexcept;

    mutex& on_;
    const sched::waker fiber_;
    const std::string_view name_;
    entry* next_ = nullptr;  ///< in the same row of the table
    entry* previous_ = nullptr;
  };

 private:
  [[nodiscard]] static const entry* entry_of(sched::waker fiber) noexcept;
  [[nodiscard]] static const entry* after(const entry& e) noexcept;
  static void throw_if_circle(const entry& from, call_site call);
};

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
