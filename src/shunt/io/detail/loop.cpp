#include <shunt/io/detail/loop.hpp>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <unistd.h>

#include <shunt/io/detail/ring.hpp>
#include <shunt/io/detail/system_call.hpp>
#include <shunt/io/detail/watch.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/io/reactor.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

namespace {
std::uint32_t next_number() noexcept {
  static std::atomic<std::uint32_t> numbers{0};
  return numbers.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: unique is all it must be
}

/// That of the calling fiber's runtime, for loops that workers make themselves; it lives as long as one of them.
std::shared_ptr<common> common_here() {
  static std::mutex lock;
  static std::vector<std::pair<const sched::runtime*, std::weak_ptr<common>>> all;
  const auto* const mine = &sched::this_worker::current();
  const std::scoped_lock held(lock);
  std::erase_if(all, [](const auto& one) { return one.second.expired(); });
  for (const auto& [whose, shared] : all) {
    if (whose != mine) continue;
    if (auto still = shared.lock()) return still;
  }
  auto made = std::make_shared<common>(reactor_options{}.helpers);
  all.emplace_back(mine, made);
  return made;
}
}  // namespace

common::common(int most_helpers) : number(next_number()), pool(most_helpers) {}

loop::loop(std::shared_ptr<common> shared, std::unique_ptr<ring> files)
    : shared_(std::move(shared)), files_(std::move(files)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
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
  if (auto* const here = sched::this_worker::attached<loop>()) [[likely]]
    return *here;
  return made_here();
}

loop& loop::made_here() {
  if (sched::this_worker::index() < 0) throw error("io: called outside a runtime");
  std::unique_ptr<ring> files;
  try {
    files = std::make_unique<ring>();
  } catch (const ring::refused&) {  // then helpers make the calls on files
  }
  sched::this_worker::attach(std::make_unique<loop>(common_here(), std::move(files)));
  return *sched::this_worker::attached<loop>();
}

bool loop::poll() {
  if (!watching_) return files_ != nullptr && files_->reap();
  epoll_event events[events_a_look];
  const auto count = look_at_events(epoll_, events, events_a_look);
  // Each event leads from its watch to the fiber that waits, and to its stack; those of a thousand connections are in
  // no near cache. Asked for together, they come at the price of one. The ring has no watch: prefetching nothing does
  // nothing.
  for (int i = 0; i < count; ++i) __builtin_prefetch(events[i].data.ptr);
  for (int i = 0; i < count; ++i) {
    if (const auto* const on = static_cast<const watch*>(events[i].data.ptr)) on->prefetch_reader();
  }
  for (int i = 0; i < count; ++i) {
    if (auto* const on = static_cast<watch*>(events[i].data.ptr)) {
      on->happened(events[i].events);
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
