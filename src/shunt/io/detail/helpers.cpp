#include <shunt/io/detail/helpers.hpp>

#include <optional>
#include <stop_token>

#include <csignal>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

helpers::~helpers() {
  {
    const std::scoped_lock held(lock_);
    ending_ = true;
  }
  work_.notify_all();
  for (auto& t : threads_) t.join();
}

/// A helper takes no signals: they are the program's threads'.
void helpers::start_one() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error& refused) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (threads_.empty()) throw failure("io: cannot start a helper", refused.code());
    return;  // those that are there will do
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void helpers::enqueue(job& one) {
  {
    const std::scoped_lock held(lock_);
    if (idle_ <= queued_ && threads_.size() < static_cast<std::size_t>(most_)) start_one();
    (head_ == nullptr ? head_ : tail_->next) = &one;
    tail_ = &one;
    ++queued_;
  }
  work_.notify_one();
}

bool helpers::withdraw(job& one) noexcept {
  const std::scoped_lock held(lock_);
  job* before = nullptr;
  for (job* at = head_; at != nullptr; before = at, at = at->next) {
    if (at != &one) continue;
    (before == nullptr ? head_ : before->next) = one.next;
    if (tail_ == &one) tail_ = before;
    --queued_;
    return true;
  }
  return false;
}

void helpers::serve() noexcept {
  std::unique_lock held(lock_);
  for (;;) {
    if (head_ == nullptr) {
      if (ending_) return;
      ++idle_;
      work_.wait(held);
      --idle_;
      continue;
    }
    job& one = *head_;
    head_ = one.next;
    --queued_;
    held.unlock();
    (*one.body)();
    const auto who = one.who;
    one.done.store(true, std::memory_order_release);  // edge `done`: the job is gone from here on
    who.wake();
    held.lock();
  }
}

trouble helpers::perform(const std::function<void()>& body, const limit& how_long) {
  if (how_long.stop().stop_requested()) return errc::cancelled;
  job mine{&body, sched::this_fiber::self()};
  const auto awaken = [who = mine.who] { who.wake(); };
  std::optional<std::stop_callback<decltype(awaken)>> on_stop;
  if (how_long.stop().stop_possible()) on_stop.emplace(how_long.stop(), awaken);
  enqueue(mine);
  const auto done = [&] { return mine.done.load(std::memory_order_acquire); };  // edge `done`
  const auto until = how_long.deadline();
  bool begun = false;
  while (!done()) {
    const bool stopped = !begun && how_long.stop().stop_requested();
    bool late = false;
    try {
      if (!begun && !stopped) {
        late = !sched::this_fiber::park_until(until, "a helper thread");
      } else if (begun) {
        sched::this_fiber::park("a helper thread");
      }
    } catch (...) {  // no memory for a deadline; the job must not outlive this frame
      if (!withdraw(mine)) {
        while (!done()) sched::this_fiber::park("a helper thread");
      }
      throw;
    }
    if (!stopped && !late) continue;
    if (withdraw(mine)) return stopped ? errc::cancelled : errc::timed_out;
    begun = true;  // or done: either way it is waited for
  }
  return {};
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
