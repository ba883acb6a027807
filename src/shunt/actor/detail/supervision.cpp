#include <shunt/actor/detail/supervision.hpp>

#include <shunt/actor/detail/actor_system.hpp>
#include <shunt/actor/detail/dispatcher.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Counts the failures of the last time. Within the bound the child restarts, and with all-for-one the others too.
/// Beyond it this supervisor has failed itself: the one above decides; without one all children end.
auto supervisor_state::failure(const actor_cell* actor, const supervisor_state* below) -> verdict {
  {
    const std::scoped_lock held(lock_);
    if (given_up_) return verdict::end;
    const auto now = sched::now();
    std::erase_if(failures_, [&](auto then) { return now - then > within; });
    failures_.push_back(now);
    if (failures_.size() <= most) {
      if (all) request_from_others(actor, below, request_restart);
      return verdict::restart;
    }
  }
  const bool again = above != nullptr && above->failure(nullptr, this) == verdict::restart;
  const std::scoped_lock held(lock_);
  failures_.clear();
  given_up_ = !again;
  request_from_others(actor, below, again ? request_restart : request_end);
  return again ? verdict::restart : verdict::end;
}

/// Under lock_. Asks every child but the one that failed, and all children of other supervisors below.
void supervisor_state::request_from_others(const actor_cell* actor, const supervisor_state* below, cell_flag what) {
  for (const auto& c : children_) {
    if (c.actor == actor) continue;
    c.actor->home->call_soon(
        [to = c.actor, incarnation = c.incarnation, what] { to->home->actors().request(*to, incarnation, what); });
  }
  for (const auto& b : below_) {
    const auto other = b.lock();
    if (other == nullptr || other.get() == below) continue;
    const std::scoped_lock held(other->lock_);
    other->failures_.clear();
    other->given_up_ = what == request_end;
    other->request_from_others(nullptr, nullptr, what);
  }
}

void supervisor_state::adopt(actor_cell& c, std::uint32_t incarnation, std::source_location where) {
  const std::scoped_lock held(lock_);
  if (given_up_) {
    const call_site call = spawn_call(where);
    throw error(error_number(507), "spawn: supervisor `" + name + "` has given up" + call.place(), call.where());
  }
  children_.push_back({&c, incarnation});
}

void supervisor_state::adopt(const std::shared_ptr<supervisor_state>& below) {
  const std::scoped_lock held(lock_);
  std::erase_if(below_, [](const auto& b) { return b.expired(); });
  below_.push_back(below);
}

void supervisor_state::forget(const actor_cell& c) noexcept {
  const std::scoped_lock held(lock_);
  std::erase_if(children_, [&](const child& each) { return each.actor == &c; });
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
