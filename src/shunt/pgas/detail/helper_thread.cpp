#include <shunt/pgas/detail/helper_thread.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <system_error>

#include <shunt/base/error.hpp>
#include <shunt/base/memory_limit.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// A fiber that waits for the disk looks again so often: a timer tells the scheduler that the wait will end.
constexpr auto patience_with_disks = std::chrono::milliseconds(250);

}  // namespace

helper_thread::~helper_thread() {
  {
    const std::scoped_lock held(lock_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

/// The new thread takes no signals, and inherits the mask of its maker.
void helper_thread::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& refused) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw error(error_number(964), std::string("checkpoint: cannot start the thread that writes: ") + refused.what() +
                                       "; " + thread_limit_in_force());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void helper_thread::begin(std::function<void()> work) {
  if (inlined_) return work();
  {
    const std::scoped_lock held(lock_);
    if (!thread_.joinable()) start();
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void helper_thread::perform(const std::function<void()>& work) {
  if (inlined_) return work();
  bool done = false;
  std::exception_ptr failure;
  begin([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::scoped_lock held(lock_);
    done = true;
  });
  wait_until("a disk", [&done] { return done; });
  if (failure) std::rethrow_exception(failure);
}

void helper_thread::wait_until(const char* what, const std::function<bool()>& ready) {
  const sched::this_fiber::stay on_this_worker;
  for (;;) {
    {
      const std::scoped_lock held(lock_);
      if (ready()) return;
      waiting_.push_back(sched::this_fiber::self());
    }
    static_cast<void>(sched::this_fiber::park_for(patience_with_disks, what));
  }
}

void helper_thread::serve() noexcept {
  std::unique_lock held(lock_);
  for (;;) {
    changed_.wait(held, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    held.unlock();
    work();
    held.lock();
    for (const sched::waker fiber : std::exchange(waiting_, {})) fiber.wake();
  }
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
