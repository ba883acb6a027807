#include <shunt/io/detail/loop.hpp>

#include <cerrno>
#include <string>
#include <typeinfo>
#include <utility>

#include <sys/epoll.h>
#include <unistd.h>

#include <shunt/io/detail/ring.hpp>
#include <shunt/io/detail/watch.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

loop::loop(std::uint32_t number, helpers& pool, std::unique_ptr<ring> files)
    : number_(number), pool_(pool), files_(std::move(files)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw failure("reactor: epoll_create1", {errno, std::system_category()});
  if (files_ == nullptr) return;
  epoll_event asked{};
  asked.events = EPOLLIN;
  asked.data.ptr = nullptr;  // no watch: the ring
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, files_->descriptor(), &asked) == 0) return;
  const int code = errno;
  close(epoll_);
  throw failure("reactor: epoll_ctl", {code, std::system_category()});
}

loop::~loop() { close(epoll_); }

loop& loop::current() {
  auto* const here = sched::this_worker::attached();
  if (here != nullptr && typeid(*here) == typeid(loop)) return static_cast<loop&>(*here);
  const int worker = sched::this_worker::index();
  throw error(worker < 0 ? std::string("io: called outside a runtime")
                         : "io: worker " + std::to_string(worker) +
                               " has no reactor; make a shunt::io::reactor before run()");
}

bool loop::poll() {
  const bool moved = files_ != nullptr && files_->reap();
  if (!watching_) return moved;
  epoll_event events[events_a_look];
  const int count = epoll_wait(epoll_, events, events_a_look, 0);
  for (int i = 0; i < count; ++i) {
    // The ring has no watch: prefetching nothing does nothing.
    if (i + 2 * ahead < count) __builtin_prefetch(events[i + 2 * ahead].data.ptr);
    if (i + ahead < count) {
      if (const auto* const soon = static_cast<const watch*>(events[i + ahead].data.ptr)) soon->prefetch_reader();
    }
    auto* const on = static_cast<watch*>(events[i].data.ptr);
    if (on != nullptr) {
      on->happened(events[i].events);
    } else {
      files_->reap();
    }
  }
  return moved || count > 0;
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
