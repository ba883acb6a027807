#include <shunt/io/detail/loop.hpp>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include <shunt/io/detail/descriptor_state.hpp>
#include <shunt/io/detail/ring.hpp>
#include <shunt/io/detail/system_call.hpp>
#include <shunt/io/io_error.hpp>
#include <shunt/io/reactor.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

namespace {

std::uint32_t next_number() noexcept {
  static std::atomic<std::uint32_t> numbers{0};
  return numbers.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: a number must be unique, and orders nothing
}

/// The group of the calling fiber's runtime, for loops that workers make themselves. It lives as long as one of them.
std::shared_ptr<loop_group> group_here() {
  static std::mutex lock;
  static std::vector<std::pair<const sched::runtime*, std::weak_ptr<loop_group>>> all;
  const auto* const mine = &sched::this_worker::current();
  const std::scoped_lock held(lock);
  std::erase_if(all, [](const auto& one) { return one.second.expired(); });
  for (const auto& [runtime, group] : all) {
    if (runtime != mine) continue;
    if (auto alive = group.lock()) return alive;
  }
  auto made = std::make_shared<loop_group>(reactor_options{}.helpers);
  all.emplace_back(mine, made);
  return made;
}

}  // namespace

loop_group::loop_group(int max_helpers) : number(next_number()), helpers(max_helpers) {}

loop::loop(std::shared_ptr<loop_group> group, std::unique_ptr<ring> files)
    : group_(std::move(group)), files_(std::move(files)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw io_error("reactor: epoll_create1", {errno, std::system_category()});
  if (files_ == nullptr) return;
  epoll_event asked{};
  asked.events = EPOLLIN;
  asked.data.ptr = nullptr;  // no descriptor_state: the io_uring
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, files_->descriptor(), &asked) == 0) return;
  const int code = errno;
  close(epoll_);
  throw io_error("reactor: epoll_ctl", {code, std::system_category()});
}

loop::~loop() { close(epoll_); }

loop& loop::current() {
  if (auto* const here = sched::this_worker::attached<loop>()) [[likely]]
    return *here;
  return make_here();
}

loop& loop::make_here() {
  if (sched::this_worker::index() < 0) {
    throw shunt::usage_error(
        error_number(317),
        "io: called outside a runtime: call it in what shunt::launch() or runtime::run() runs, or in a fiber");
  }
  std::unique_ptr<ring> files;
  try {
    files = std::make_unique<ring>();
  } catch (const ring::refused&) {  // then helper threads make the calls on files
  }
  sched::this_worker::attach(std::make_unique<loop>(group_here(), std::move(files)));
  return *sched::this_worker::attached<loop>();
}

/// Fetches the events, prefetches what they lead to, then handles them. Each event leads from its descriptor_state to
/// the fiber that waits, and to that fiber's stack; with a thousand connections none of these is in a near cache. Asked
/// for together, all of them come in the time of one.
bool loop::poll() {
  if (!epoll_used_) return files_ != nullptr && files_->reap();
  epoll_event events[events_per_poll];
  const auto count = fetch_events(epoll_, events, events_per_poll);
  for (int i = 0; i < count; ++i) __builtin_prefetch(events[i].data.ptr);  // of nullptr, the io_uring's: does nothing
  for (int i = 0; i < count; ++i) {
    if (const auto* const on = static_cast<const descriptor_state*>(events[i].data.ptr)) on->prefetch_reader();
  }
  for (int i = 0; i < count; ++i) {
    if (auto* const on = static_cast<descriptor_state*>(events[i].data.ptr)) {
      on->handle_events(events[i].events);
    } else {
      files_->reap();
    }
  }
  return count > 0;
}

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
