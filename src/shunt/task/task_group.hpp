/// Tasks that are made one by one, waited for together, and asked to stop together.
///
/// ```cpp
/// shunt::task_group searches;
/// for (const auto& shelf : shelves) {
///   searches.spawn([&](std::stop_token stop) { search(shelf, stop); });
/// }
/// searches.wait();  // throws what the first one threw; the others were asked to stop then
/// ```
///
/// As finish(), without a block: for tasks that are made at different places and times.
#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <shunt/base/call_site.hpp>
#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

/// Belongs to the fiber that makes it: only that fiber waits for it and destroys it.
class task_group {
 public:
  /// A fiber only. \param outer  a stop of it stops this group as well: a token of the program, or of another group.
  /// \throws what sched::this_fiber::park() throws where waiting is impossible.
  explicit task_group(std::stop_token outer = {}, std::source_location where = std::source_location::current());
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  /// Asks the tasks that are left to stop, waits for them, and drops their exceptions. A wait that was not given the
  /// token goes on. So if that takes sched::options::stop_after, a report names the tasks, and where they wait; also
  /// where an exception of the group's fiber destroys it. It also names the line that made the group.
  ~task_group();

  /// The group's fiber, or a task of the group. Makes a task, as async() does, that calls body(token) or body(). If the
  /// group was asked to stop before the task began, it does nothing. Tasks that it makes by async() belong to the group
  /// as well. An exception that leaves it stops the group; so does a task whose fiber gets no stack, as async() says.
  /// \throws std::bad_alloc; then there is no task.
  template <typename F>
    requires std::invocable<std::decay_t<F>&> || std::invocable<std::decay_t<F>&, std::stop_token>
  void spawn(F&& body, std::source_location where = std::source_location::current()) {
    spawn(sched::spawn_options(), std::forward<F>(body), where);
  }
  /// The same, in a fiber with a name, a stack or a worker of its own: `group.spawn({.name = "indexer"}, body)`.
  /// Reports of what is stuck, and debuggers, show the name.
  /// \throws what sched::runtime::spawn() throws; then there is no task.
  template <typename F>
    requires std::invocable<std::decay_t<F>&> || std::invocable<std::decay_t<F>&, std::stop_token>
  void spawn(sched::spawn_options how, F&& body, std::source_location where = std::source_location::current()) {
    auto work = [this, f = std::decay_t<F>(std::forward<F>(body))]() mutable {
      if (stop_.stop_requested()) return;
      try {
        sched::this_fiber::require_stack();
        if constexpr (std::invocable<std::decay_t<F>&, std::stop_token>) {
          static_cast<void>(f(stop_.get_token()));
        } else {
          static_cast<void>(f());
        }
      } catch (...) {
        scope_.fail(std::current_exception());  // before the stop makes other tasks fail
        stop_.request_stop();
      }
    };
    detail::spawn_into({"task_group::spawn", where}, &scope_, detail::as_function(std::move(work)), std::move(how));
  }

  /// The group's fiber. Returns when all tasks have ended, stopped or not; what they wrote is visible then. Afterwards
  /// more may be made, unless the group was stopped. After a stop it reports tasks that do not end, as the destructor.
  /// \throws the first exception, in time, that left a task (the others are dropped).
  void wait(std::source_location where = std::source_location::current());

  /// The same, at the longest until `deadline` or until `stop` is asked to stop.
  /// \return whether all tasks have ended. If not, they go on, and wait() must be called again.
  /// \throws as wait() if all have ended; std::bad_alloc.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {},
                                std::source_location where = std::source_location::current());
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds time, const std::stop_token& stop = {},
                              std::source_location where = std::source_location::current()) {
    return wait_until(sched::after(time), stop, where);
  }

  /// Any thread. Tasks that have not begun will do nothing; the others see the stop by their token.
  void request_stop() noexcept { stop_.request_stop(); }
  /// The token of all its tasks.
  [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }

 private:
  struct stopper {
    std::stop_source source;
    void operator()() noexcept { source.request_stop(); }
  };

  detail::finish_scope scope_;
  const std::source_location made_;  // the line that made it
  std::stop_source stop_;
  std::stop_callback<stopper> from_outside_;
};

/// A fiber only. Calls body(group) in a task of a new group, and waits for it and all tasks that it makes there; at
/// `deadline` it asks them to stop, and waits for their end.
///
/// ```cpp
/// const bool all = shunt::with_timeout(2s, [&](shunt::task_group& group) {
///   for (const auto& mirror : mirrors) group.spawn([&](std::stop_token stop) { fetch(mirror, stop); });
/// });
/// ```
///
/// As trio's move_on_after() and Go's context.WithTimeout.
/// \return whether all had ended before it asked them to stop. \throws the first exception, in time, that left a task;
/// what sched::this_fiber::park() throws where waiting is impossible; std::bad_alloc.
template <std::invocable<task_group&> F>
bool with_deadline(std::chrono::steady_clock::time_point deadline, F&& body,
                   std::source_location where = std::source_location::current()) {
  task_group tasks({}, where);
  tasks.spawn([&] { static_cast<void>(std::forward<F>(body)(tasks)); }, where);
  if (tasks.wait_until(deadline, {}, where)) return true;
  tasks.request_stop();
  tasks.wait(where);
  return false;
}
/// The same, `time` from now.
template <std::invocable<task_group&> F>
bool with_timeout(std::chrono::nanoseconds time, F&& body,
                  std::source_location where = std::source_location::current()) {
  return with_deadline(sched::after(time), std::forward<F>(body), where);
}

}  // namespace task

using task::task_group;
using task::with_deadline;
using task::with_timeout;

}  // namespace v1
}  // namespace shunt
