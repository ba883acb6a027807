#include <shunt/sync/detail/lock_graph.hpp>

#include <mutex>
#include <string>
#include <utility>

#include <shunt/base/spin_lock.hpp>
#include <shunt/sched/fiber.hpp>
#include <shunt/sched/observe/deadlock.hpp>
#include <shunt/sync/mutex.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {
namespace detail {
namespace {

// std::mutex: a thread that waits here sleeps, and a search may be long.
constinit std::mutex list_lock;
constinit lock_graph::entry* listed = nullptr;

std::string quoted(std::string_view name) {
  return name.empty() ? std::string("a fiber without a name") : "fiber `" + std::string(name) + "`";
}

}  // namespace

const lock_graph::entry* lock_graph::entry_of(sched::waker fiber) noexcept {
  const entry* e = listed;
  while (e != nullptr && e->fiber_ != fiber) e = e->next_;
  return e;
}

/// The listed fiber that holds what `e` waits for. \return null: nothing that is listed holds it.
const lock_graph::entry* lock_graph::after(const entry& e) noexcept {
  const auto holder = e.on_.owner();
  return holder && holder != e.fiber_ ? entry_of(holder) : nullptr;  // lock_graph.L2: handed over
}

/// Two steps for each one of a second walker: so a circle that `from` is not part of ends the search as well.
void lock_graph::throw_if_circle(const entry& from, const char* call) {
  const entry* slow = &from;
  const entry* at = after(from);
  for (bool step = false; at != nullptr && at != &from; step = !step) {
    if (step) slow = after(*slow);
    if (at == slow) return;
    at = after(*at);
  }
  if (at == nullptr) return;
  std::string text = std::string(call) + ": deadlock: " + quoted(from.name_);
  const entry* each = &from;
  do {
    each = after(*each);
    text += " waits for a mutex of " + quoted(each->name_) + (each == &from ? "" : ", which");
  } while (each != &from);
  throw sched::deadlock(text);
}

lock_graph::entry::entry(mutex& on, sched::waker fiber, const char* call)
    : on_(on), fiber_(fiber), name_(sched::this_fiber::name()) {
  const std::lock_guard held(list_lock);
  next_ = std::exchange(listed, this);
  try {
    throw_if_circle(*this, call);
  } catch (...) {
    listed = next_;
    throw;
  }
}

lock_graph::entry::~entry() {
  const std::lock_guard held(list_lock);
  entry** at = &listed;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

}  // namespace detail
}  // namespace sync
}  // namespace v1
}  // namespace shunt
