#include <shunt/io/detail/loop.hpp>

#include <algorithm>
#include <cerrno>
#include <string>

#include <sys/epoll.h>
#include <unistd.h>

#include <shunt/io/detail/watch.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

loop::loop(std::uint64_t number, helpers& pool)
    : number_(number), pool_(pool), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw failure("reactor: epoll_create1", {errno, std::system_category()});
}

loop::~loop() { close(epoll_); }

loop& loop::current() {
  auto* const here = dynamic_cast<loop*>(sched::this_worker::attached());
  if (here != nullptr) return *here;
  const int worker = sched::this_worker::index();
  throw error(worker < 0 ? std::string("io: called outside a runtime")
                         : "io: worker " + std::to_string(worker) +
                               " has no reactor; make a shunt::io::reactor before run()");
}

bool loop::park_until(time_point when) {
  if (when == time_point::max()) {
    sched::this_fiber::park();
    return true;
  }
  timer mine{sched::this_fiber::self()};
  const auto at = timers_.emplace(when, &mine);
  struct out {
    ~out() {
      if (!mine.rang) all.erase(at);
    }
    timer& mine;
    std::multimap<time_point, timer*>& all;
    std::multimap<time_point, timer*>::iterator at;
  };
  {
    const out at_end{mine, timers_, at};
    sched::this_fiber::park();
  }
  return !mine.rang;
}

bool loop::ring() noexcept {
  if (timers_.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  bool rang = false;
  while (!timers_.empty() && timers_.begin()->first <= now) {
    timer& first = *timers_.begin()->second;
    timers_.erase(timers_.begin());
    first.rang = true;
    first.who.wake();
    rang = true;
  }
  return rang;
}

bool loop::poll() {
  const bool rang = ring();
  if (!watching_) return rang;
  epoll_event events[events_a_look];
  const int count = epoll_wait(epoll_, events, events_a_look, 0);
  for (int i = 0; i < count; ++i) {
    static_cast<watch*>(events[i].data.ptr)->happened(events[i].events);
  }
  return rang || count > 0;
}

std::chrono::nanoseconds loop::patience() {
  if (timers_.empty()) return std::chrono::nanoseconds::max();
  const auto left = timers_.begin()->first - std::chrono::steady_clock::now();
  return std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds::zero());
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
