/// Who looks at runtimes from outside: the thread that answers SIGUSR1 and finds stalled fibers, and
/// the census that all reports are made of.
#pragma once

#include <atomic>
#include <string>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class crew;

/// While it lives, `of` is among the runtimes that are reported. One of each run().
class watched {
 public:
  explicit watched(crew& of) noexcept;
  ~watched();
  watched(const watched&) = delete;
  watched& operator=(const watched&) = delete;

 private:
  crew* of_;  // null: no memory to watch it
};

/// Any thread. What the watch looks at has changed.
void news_for_the_watch() noexcept;

/// The watch's thread looks at no worker while all of them sleep: the first one that wakes up rings for it.
extern constinit std::atomic<bool> dozes;
void wake_the_watch() noexcept;
/// A worker, after it has said that it is awake (worker::sleeps()). seq_cst: edge `up`, see doze_if_all_sleep().
inline void tell_the_watch() noexcept {
  if (dozes.load(std::memory_order_seq_cst)) [[unlikely]]
    wake_the_watch();
}

/// Whether no code can run in this process but that of these workers: see options::end_if_stuck.
[[nodiscard]] bool none_can_wake(crew& of) noexcept;

/// Any thread; `of` is watched. \throws std::bad_alloc
[[nodiscard]] std::string fibers_of(crew& of);

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
