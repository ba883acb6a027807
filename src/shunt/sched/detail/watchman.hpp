/// Who looks at runtimes from outside: the thread that answers SIGUSR1 and finds stalled fibers, and
/// the census that all reports are made of.
#pragma once

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

/// Any thread; `of` is watched. \throws std::bad_alloc
[[nodiscard]] std::string fibers_of(crew& of);

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
