/// Code that must not wait: a handler of a train, a transaction.
#pragma once

#include <shunt/base/call_site.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {

/// While one is set (this_worker::forbid_wait(), waits_forbidden), park() and yield() of the worker's running fiber
/// throw what refuse() throws, and spawn() throws what on_spawn() throws. Every function is called on the worker's
/// thread.
class no_wait {
 public:
  virtual ~no_wait() = default;
  /// Throws. \param call  the function that the program called: "park", "yield"; and its line, where that is known.
  [[noreturn]] virtual void refuse(call_site call) const = 0;
  /// A fiber is about to be spawned here. Throws where not even that may be done. \param call  as of refuse()
  virtual void on_spawn(call_site call) const { static_cast<void>(call); }
  /// Whether it still refuses. Asked when something would wait here; false: it is cleared, as by forbid_wait(nullptr).
  /// So code that forbids often need not clear it each time.
  [[nodiscard]] virtual bool in_force() const noexcept { return true; }
};

}  // namespace sched
}  // namespace v1
}  // namespace shunt
