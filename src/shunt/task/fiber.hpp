/// A fiber with a handle: to wait for, to stop, and never to lose.
///
/// ```cpp
/// shunt::fiber reader([&](std::stop_token stop) { serve(peer, stop); }, {.name = "reader"});
/// if (!reader.join_for(5s)) reader.request_stop();
/// reader.join();  // throws what it threw
/// ```
///
/// std::jthread's manner (ISO C++20, [thread.jthread]): a handle that goes away asks its fiber to stop,
/// and waits for it. Where there is nothing to ask or to wait for singly, finish() and task_group are shorter.
#pragma once

#include <chrono>
#include <concepts>
#include <shunt/sched.hpp>
#include <shunt/task/finish.hpp>
#include <shunt/task/future.hpp>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace shunt {
inline namespace v1 {

/// Moves, does not copy. One thread or fiber at a time, but for id(), token() and request_stop().
class fiber {
 public:
  fiber() noexcept = default;  ///< of no fiber; may be assigned to

  /// A fiber only. Makes one that calls body(token) or body(). What it spawns by async() is waited
  /// for at its end. If it gets no stack when it is to start, join() throws why.
  /// \throws what sched::runtime::spawn() throws, then nothing was spawned.
  template <typename F>
    requires std::invocable<std::decay_t<F>&> || std::invocable<std::decay_t<F>&, std::stop_token>
  explicit fiber(F&& body, sched::spawn_options where = {}) {
    promise<void> made;
    done_ = made.get_future();
    begin(detail::as_function(
              [p = std::move(made), f = std::decay_t<F>(std::forward<F>(body)), source = stop_]() mutable {
                try {
                  sched::this_fiber::require_stack();
                  auto stop = source.get_token();
                  const std::stop_callback with_all(sched::this_worker::current().stop_token(),
                                                    [&source] { source.request_stop(); });
                  shunt::finish([&] {
                    if constexpr (std::invocable<std::decay_t<F>&, std::stop_token>) {
                      static_cast<void>(f(std::move(stop)));
                    } else {
                      static_cast<void>(f());
                    }
                  });
                } catch (...) {
                  return p.set_exception(std::current_exception());
                }
                p.set_value();
              }),
          std::move(where));
  }

  /// If joinable(): request_stop(), waits, and drops what the fiber threw.
  ~fiber() { end(); }
  fiber(fiber&&) noexcept = default;
  fiber& operator=(fiber&& other) noexcept {
    if (this != &other) {
      end();
      done_ = std::move(other.done_);
      stop_ = std::exchange(other.stop_, std::stop_source(std::nostopstate));
      id_ = std::exchange(other.id_, {});
    }
    return *this;
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// Whether there is a fiber that has not been joined; it may have ended.
  [[nodiscard]] bool joinable() const noexcept { return done_.valid(); }

  /// A fiber; any thread if it has ended. Waits for its end. What it wrote is visible then.
  /// \throws what it threw; shunt::error unless joinable(); sched::deadlock if it waits, perhaps
  ///         through others, for the caller: then it is still joinable().
  void join() {
    done_.wait();
    std::exchange(done_, {}).get();
  }

  /// The same, until `deadline`, or until `stop` is asked to, at the longest.
  /// \return whether it has ended; if not, it is still joinable(). \throws as join(), std::bad_alloc.
  [[nodiscard]] bool join_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {}) {
    if (!done_.wait_until(deadline, stop)) return false;
    std::exchange(done_, {}).get();
    return true;
  }
  [[nodiscard]] bool join_for(std::chrono::nanoseconds time, const std::stop_token& stop = {}) {
    return join_until(sched::after(time), stop);
  }

  /// Its token is asked to stop, as runtime::request_stop() asks all; so ends whatever wait of it was given that token.
  void request_stop() noexcept { stop_.request_stop(); }
  [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }

  [[nodiscard]] sched::fiber_id id() const noexcept { return id_; }

 private:
  void begin(std::function<void()> body, sched::spawn_options where);
  void end() noexcept;

  std::stop_source stop_;
  future<void> done_;
  sched::fiber_id id_;
};

}  // namespace v1
}  // namespace shunt
