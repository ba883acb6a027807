#include <shunt/sched/detail/migration.hpp>

#include <algorithm>
#include <cstddef>

#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constexpr std::size_t most_at_a_time = 32;

/// A pinned fiber has a fork outstanding or a this_fiber::stay; one with a deadline stands in this worker's heap.
bool may_leave(const fiber& f) noexcept { return !f.pinned() && f.timer == fiber::no_timer; }

}  // namespace

/// Looks at no more than twice as many fibers as it may hand over, and claims a sleeper only for the first that may
/// leave.
void hand_over(worker& w) noexcept {
  const bool others = w.run_next != nullptr || !w.ready.empty() || !w.unstarted.empty();
  const auto most = std::min((w.migratable.size() + (others ? 1 : 0)) / 2, most_at_a_time);
  if (most == 0 || w.all.asleep.none()) return;
  remote* to = nullptr;
  auto looks = std::min(w.migratable.size(), 2 * most_at_a_time);
  for (std::size_t handed = 0; looks > 0 && handed < most; --looks) {
    fiber* const f = w.migratable.pop();
    if (!may_leave(*f)) {
      w.migratable.push(f);
      continue;
    }
    if (to == nullptr) {
      const int claimed = w.all.asleep.claim();
      if (claimed < 0) return w.migratable.push_front(f);
      to = &w.all.workers[static_cast<std::size_t>(claimed)]->remote;
    }
    f->set_home(nullptr);  // on the way it belongs to no worker (fiber.F4)
    to->send(f);
    ++handed;
  }
}

void send_to_first_worker(worker& w, fiber* f) noexcept {
  f->ended_away = true;
  f->set_home(nullptr);
  w.all.workers[static_cast<std::size_t>(f->moves.first_worker)]->remote.send(f);
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
