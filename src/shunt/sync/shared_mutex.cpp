#include <shunt/sync/shared_mutex.hpp>

#include <mutex>

namespace shunt {
inline namespace v1 {
namespace sync {

bool shared_mutex::may_enter(kind as) const noexcept { return !writer_ && (as == kind::reader || readers_ == 0); }

void shared_mutex::enter(kind as) noexcept {
  if (as == kind::reader) {
    ++readers_;
  } else {
    writer_ = true;
  }
}

bool shared_mutex::try_take(kind as) noexcept {
  sched::this_fiber::interleave();
  const std::lock_guard held(guard_);
  if (!waiting_.empty() || !may_enter(as)) return false;
  enter(as);
  return true;
}

/// A waiter that gives up may have held back those behind it: a writer, readers that could have come in.
bool shared_mutex::take(kind as, std::chrono::steady_clock::time_point deadline, call_site call) {
  if (try_take(as)) return true;
  detail::require_wait(call);
  detail::waiting me;
  me.shared = as == kind::reader;
  guard_.lock();
  if (waiting_.empty() && may_enter(as)) {
    enter(as);
    guard_.unlock();
    return true;
  }
  waiting_.push_back(me);
  const auto leave = [this] {
    guard_.lock();
    unlock_and_admit();
  };
  try {
    if (detail::wait(waiting_, me, guard_, deadline, me.shared ? "a mutex, to read" : "a mutex, to write", call)) {
      return true;
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return false;
}

void shared_mutex::unlock() noexcept {
  guard_.lock();
  writer_ = false;
  unlock_and_admit();
}

void shared_mutex::unlock_shared() noexcept {
  guard_.lock();
  --readers_;
  unlock_and_admit();
}

/// Under guard_, which it unlocks. Lets in from the front of the queue as many as may hold the mutex together, on their
/// behalf: they hold it when they wake.
void shared_mutex::unlock_and_admit() noexcept {
  detail::wait_queue admitted;
  while (!waiting_.empty()) {
    const auto as = waiting_.front()->shared ? kind::reader : kind::writer;
    if (!may_enter(as)) break;
    enter(as);
    admitted.push_back(*waiting_.pop());
  }
  detail::waiting* const first = admitted.pop_all();
  guard_.unlock();
  detail::wake_all(first);
}

}  // namespace sync
}  // namespace v1
}  // namespace shunt
