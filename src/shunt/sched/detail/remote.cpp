#include <shunt/sched/detail/remote.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

/// Never destroyed: wakers may outlive static destructors. Reachable, so no leak checker complains.
struct remote_store {
  std::mutex lock;
  remote* free = nullptr;
  std::vector<std::unique_ptr<remote>> all;
};

remote_store& the_remote_store() {
  static remote_store& s = *new remote_store;
  return s;
}

/// Whether a worker is there that a wake of this fiber can be sent to. A look.
bool has_worker(const fiber& f) noexcept {
  const remote* const home = f.where();
  return home != nullptr && !home->inbox.is_closed();
}

}  // namespace

/// A block whose fiber has ended has no home, or one whose worker is gone. The claim is given back then, and the home
/// looked at once more: the waker of a later fiber with this block may have been told that this wake is under way
/// (posted_wake.I2).
void post_wake(fiber& f) noexcept {
  while (f.posted.claim()) {
    remote* const home = f.where();
    if (home != nullptr && home->send_wake(&f)) return;
    f.posted.arrive();
    if (!has_worker(f)) return;
  }
}

void pass_on_wake(fiber& f) noexcept {
  if (has_worker(f)) post_wake(f);
}

remote* take_remote() {
  auto& s = the_remote_store();
  const std::scoped_lock held(s.lock);
  if (s.free == nullptr) {
    s.all.push_back(std::make_unique<remote>());
    return s.all.back().get();
  }
  remote* const r = s.free;
  s.free = r->next_free;
  r->inbox.open();
  return r;
}

void give_remote(remote* r) noexcept {
  auto& s = the_remote_store();
  const std::scoped_lock held(s.lock);
  r->next_free = s.free;
  s.free = r;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
