/// How the fibers of a runtime wait for descriptors and for time, and the options of that.
///
/// ```cpp
/// shunt::sched::runtime workers;
/// workers.run([] {
///   auto door = shunt::io::listen("127.0.0.1:0");
///   auto guest = door.accept();  // parks this fiber; the worker runs others, or sleeps
///   guest.write("welcome\n");
/// });
/// ```
///
/// Each worker has an epoll of its own, which reports changes (edge-triggered). A worker without work sleeps on that
/// epoll: an event wakes it at once, without a thread between and without an interval of polling. An idle process uses
/// no CPU. A worker makes its epoll when one of its fibers first waits for the outside, in any runtime, that of a job
/// of PEs too.
///
/// Files are always ready, so epoll can do nothing for them. Where the kernel has io_uring and lets the process use it,
/// each worker has one for its calls on files; elsewhere helper threads make them.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <shunt/io/deadline.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The kernel's interface for waits and for calls on files.
enum class backend : std::uint8_t {
  best,      ///< io_uring where the kernel allows it, else epoll: many containers forbid io_uring
  epoll,     ///< epoll; files by helper threads
  io_uring,  ///< epoll, and io_uring for files; io_error where the kernel does not allow it
};

/// What a reactor sets for its runtime.
struct reactor_options {
  /// Threads, at most, for calls that block their thread whatever the caller does: blocking(), spawn(), and calls on
  /// files without io_uring. At least 1. They start when needed, so a program that has only sockets has none.
  int helpers = 4;
  /// What makes the calls on files. With `io_uring` the constructor throws where the kernel refuses it.
  backend use = backend::best;
};

/// Makes the epolls of all workers before the run. A program needs one only for other options than reactor_options{},
/// or to learn at once what the system refuses. It outlives every run() of its runtime; descriptors may outlive it.
class reactor {
 public:
  /// Not during run(), and before any run() in which fibers have waited for the outside.
  /// \throws usage_error during run(), for less than one helper, or if the workers have epolls already; io_error if the
  ///         system has no descriptors left (a reactor takes two a worker, and one for io_uring), or if the options ask
  ///         for io_uring by name and the kernel refuses: it names the call that was refused, and why.
  explicit reactor(sched::runtime& workers, reactor_options wanted = {});

  /// Not during run().
  ~reactor();
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  /// What it uses, in one line, and why if io_uring was refused:
  /// "epoll; files by helpers (io_uring_setup: Operation not permitted (1))".
  [[nodiscard]] const std::string& backend() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// A fiber: lets others run for that time, or until `stop` is asked to stop.
/// \return false if the stop came first. \throws usage_error outside a fiber; std::bad_alloc.
bool sleep_for(std::chrono::nanoseconds time, std::stop_token stop = {});
/// The same, until a point in time.
bool sleep_until(std::chrono::steady_clock::time_point time, std::stop_token stop = {});

namespace detail {
/// A helper runs `body`, which must not throw; the calling fiber waits for its end.
void on_helper(const char* call, const std::function<void()>& body, const deadline& until);
}  // namespace detail

/// A fiber: a helper thread calls `body`, which may block; this fiber waits, its worker does not. `until` bounds the
/// wait for a free helper: once begun, `body` is waited for, as it may use objects of the caller. `body` must not use
/// this_fiber.
/// \return the result of `body`. \throws what `body` throws; io_error if no helper had begun it in time.
/// Cost: two switches of threads, some 10 us.
template <typename F>
auto blocking(F&& body, const deadline& until = {}) -> std::invoke_result_t<F&> {
  using result = std::invoke_result_t<F&>;
  constexpr bool returns_nothing = std::is_void_v<result>;
  std::exception_ptr thrown;
  std::conditional_t<returns_nothing, std::monostate, std::optional<result>> made;
  const auto run = [&] {
    try {
      if constexpr (returns_nothing) {
        body();
      } else {
        made.emplace(body());
      }
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  detail::on_helper("blocking", run, until);
  if (thrown) std::rethrow_exception(thrown);
  if constexpr (!returns_nothing) return std::move(*made);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
