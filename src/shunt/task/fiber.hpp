/// A fiber with a handle: other fibers wait for its end and ask it to stop; it cannot outlive the handle.
///
/// ```cpp
/// shunt::fiber reader([&](std::stop_token stop) { serve(peer, stop); }, {.name = "reader"});
/// if (!reader.join_for(5s)) reader.request_stop();
/// reader.join();  // throws what it threw
/// ```
///
/// As std::jthread (ISO C++20, [thread.jthread]): the destructor of a handle asks its fiber to stop, and waits for it.
/// For fibers that are only waited for together, finish() and task_group are shorter.
#pragma once

#include <chrono>
#include <concepts>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <shunt/sched.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

/// Moves, does not copy. One thread or fiber at a time, except for id(), token() and request_stop().
class fiber {
 public:
  fiber() noexcept = default;  ///< no fiber; may be assigned to

  /// A fiber only. Makes a fiber that calls body(token) or body(), and at its end waits for the tasks that it made by
  /// async(). If it gets no stack when it is to start, join() throws the reason.
  /// \throws what sched::runtime::spawn() throws; then there is no fiber.
  template <typename F>
    requires std::invocable<std::decay_t<F>&> || std::invocable<std::decay_t<F>&, std::stop_token>
  explicit fiber(F&& body, sched::spawn_options how = {}, std::source_location where = std::source_location::current())
      : made_at_(where) {
    promise<void> made;
    done_ = made.get_future();
    begin(detail::as_function(
              [p = std::move(made), f = std::decay_t<F>(std::forward<F>(body)), source = stop_, where]() mutable {
                try {
                  sched::this_fiber::require_stack();
                  auto stop = source.get_token();
                  const std::stop_callback with_all(sched::this_worker::current().stop_token(),
                                                    [&source] { source.request_stop(); });
                  task::finish(
                      [&] {
                        if constexpr (std::invocable<std::decay_t<F>&, std::stop_token>) {
                          static_cast<void>(f(std::move(stop)));
                        } else {
                          static_cast<void>(f());
                        }
                      },
                      where);
                } catch (...) {
                  return p.set_exception(std::current_exception());
                }
                p.set_value();
              }),
          std::move(how));
  }

  /// If joinable(): requests a stop, waits, and drops the exception of the fiber. If that takes
  /// sched::options::stop_after, a report says where the fiber is, and names the line that made it.
  ~fiber() { end(); }
  /// The other one is not joinable() afterwards.
  fiber(fiber&&) noexcept = default;
  /// Ends what it had, as the destructor does.
  fiber& operator=(fiber&& other) noexcept {
    if (this != &other) {
      end();
      done_ = std::move(other.done_);
      stop_ = std::exchange(other.stop_, std::stop_source(std::nostopstate));
      id_ = std::exchange(other.id_, {});
      made_at_ = other.made_at_;
    }
    return *this;
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// Whether there is a fiber that was not joined; it may have ended.
  [[nodiscard]] bool joinable() const noexcept { return done_.valid(); }

  /// A fiber; any thread if it has ended. Waits for its end. What it wrote is visible then.
  /// \throws what it threw; shunt::error unless joinable(); sched::deadlock if it waits, perhaps through others, for
  ///         the caller: then it stays joinable().
  void join(std::source_location where = std::source_location::current()) {
    done_.wait(where);
    std::exchange(done_, {}).get(where);
  }

  /// The same, at the longest until `deadline` or until `stop` is asked to stop.
  /// \return whether it has ended; if not, it stays joinable(). \throws as join(), std::bad_alloc.
  [[nodiscard]] bool join_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {},
                                std::source_location where = std::source_location::current()) {
    if (!done_.wait_until(deadline, stop, where)) return false;
    std::exchange(done_, {}).get(where);
    return true;
  }
  /// The same, `time` from now at the latest.
  [[nodiscard]] bool join_for(std::chrono::nanoseconds time, const std::stop_token& stop = {},
                              std::source_location where = std::source_location::current()) {
    return join_until(sched::after(time), stop, where);
  }

  /// Any thread. Asks its token to stop, as runtime::request_stop() asks the tokens of all fibers. That ends each wait
  /// of the fiber to which it gave the token.
  void request_stop() noexcept { stop_.request_stop(); }
  /// The token that request_stop() asks to stop.
  [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }

  /// For reports and fiber_id's comparison; of no fiber, if it was made without one.
  [[nodiscard]] sched::fiber_id id() const noexcept { return id_; }

 private:
  void begin(std::function<void()> body, sched::spawn_options how);
  void end() noexcept;

  std::stop_source stop_;
  future<void> done_;
  sched::fiber_id id_;
  std::source_location made_at_;
};

}  // namespace task

using task::fiber;

}  // namespace v1
}  // namespace shunt
