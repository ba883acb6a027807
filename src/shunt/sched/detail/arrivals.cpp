#include <shunt/sched/detail/arrivals.hpp>

#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// The fiber may have ended since: then a later one with its block is woken, wherever that is.
void wake_posted(worker& w, fiber& f) noexcept {
  f.posted.arrive();
  if (f.where() != &w.remote) [[unlikely]]
    return pass_on_wake(f);
  if (f.state.wake_at_home() == after_wake::enqueue) w.push_ready(&f);
}

bool take_in(worker& w, fiber& f) noexcept {
  if (f.ended_away) {
    w.starter.finish(w, &f);
  } else if (f.started) {
    SHUNT_ASSERT(f.migrates);
    f.set_home(&w.remote);
    w.migratable.push(&f);
  } else if (f.where() != nullptr) {
    w.unstarted.push(&f);
  } else {
    try {
      w.tasks.push(&f);
      return true;
    } catch (...) {  // no memory for the deque: then it runs here
      w.unstarted.push(&f);
    }
  }
  return false;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
