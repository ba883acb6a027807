#include <shunt/io/detail/helper_pool.hpp>

#include <csignal>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

helper_pool::~helper_pool() {
  {
    const std::scoped_lock held(lock_);
    ending_ = true;
  }
  work_.notify_all();
  for (auto& t : threads_) t.join();
}

/// A new thread inherits the signal mask of its maker. A helper takes no signals (those are for the program's threads),
/// so this thread blocks all of them while it makes one.
void helper_pool::start_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error& refused) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (threads_.empty()) throw io_error("io: cannot start a helper", refused.code());
    return;  // the threads that exist serve this job, too
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void helper_pool::enqueue(job& one) {
  {
    const std::scoped_lock held(lock_);
    if (idle_ <= queued_ && threads_.size() < static_cast<std::size_t>(max_threads_)) start_thread();
    (head_ == nullptr ? head_ : tail_->next) = &one;
    tail_ = &one;
    ++queued_;
  }
  work_.notify_one();
}

/// \return false: a helper has taken it (helper_pool.H2).
bool helper_pool::withdraw(job& one) noexcept {
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

/// A helper's thread: takes jobs until the pool ends and the queue is empty.
void helper_pool::serve() noexcept {
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
    const auto fiber = one.fiber;
    one.ran.store(true,
                  std::memory_order_release);  // edge `ran` out; the job may be gone from here on (helper_pool.H1)
    fiber.wake();
    held.lock();
  }
}

void helper_pool::wait_for(const job& one) {
  while (!one.ran.load(std::memory_order_acquire)) sched::this_fiber::park("a helper thread");  // edge `ran` in
}

/// Queues the job and waits. If the deadline or a stop ends the wait, this fiber withdraws the job; where a helper has
/// taken it already, the fiber waits on without a deadline, as the helper uses this frame (helper_pool.H1).
error helper_pool::perform(const std::function<void()>& body, const deadline& until) {
  if (until.stop().stop_requested()) return errc::cancelled;
  sched::this_fiber::lend_frame("a file's call");
  job mine{&body, sched::this_fiber::self()};
  enqueue(mine);
  error why;
  try {
    const auto ran = [&mine] { return mine.ran.load(std::memory_order_acquire); };  // edge `ran` in
    why = error::of_wait(sched::this_fiber::wait_until(ran, until.time(), until.stop(), "a helper thread"));
  } catch (...) {  // no memory for the deadline
    if (!withdraw(mine)) wait_for(mine);
    throw;
  }
  if (!why) return {};
  if (withdraw(mine)) return why;
  wait_for(mine);
  return {};
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
