/// The runtimes of this process that run.
#pragma once

#include <mutex>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class shared;

struct registry {
  std::mutex turn;  // taken by a thread that begins or ends a run; before `lock`
  std::mutex lock;  // guards `runtimes`; held during a dump, so that no runtime goes away
  std::vector<shared*> runtimes;
};

/// Any thread. Never destroyed: a runtime may run in a static destructor.
registry& the_registry();

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
