/// How the fibers of a runtime wait for descriptors and for time, and the choice of it.
///
/// ```cpp
/// shunt::sched::runtime workers;
/// workers.run([] {
///   auto door = shunt::net::listen("127.0.0.1:0");
///   auto guest = door.accept();  // parks this fiber; the worker runs others, or sleeps
///   guest.write("welcome\n");
/// });
/// ```
///
/// Each worker has an epoll of its own, is told of changes (edge-triggered), and when it has nothing
/// to do sleeps on that very epoll: an event wakes it at once, without a thread between and without
/// an interval of polling. An idle process uses no CPU. A worker makes its epoll when one of its fibers
/// first waits for the outside, in any runtime, that of a job of PEs too.
///
/// Files are never ready or not ready, so epoll can do nothing for them. Where the kernel has io_uring
/// and lets the process use it, each worker has one for its calls on files; elsewhere threads make them.
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

#include <shunt/io/limit.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// What the kernel is asked with.
enum class backend : std::uint8_t {
  best,      ///< io_uring if it can be had, epoll if not: many containers forbid io_uring
  epoll,     ///< epoll; files by helper threads
  io_uring,  ///< epoll, and io_uring for files; or an error
};

struct reactor_options {
  /// Threads, at most, that make the calls which block whatever one does: blocking(), spawning a child,
  /// and those on files without io_uring. Started when needed, so none for a program that has only
  /// sockets.
  int helpers = 4;
  backend use = backend::best;
};

/// For who wants other than reactor_options{}, or to know at once what the system refuses; otherwise none is needed.
/// Outlives every run() of its runtime; descriptors may outlive it.
class reactor {
 public:
  /// Not during run(), and before any in which fibers have waited for the outside.
  /// \throws usage_error during run(), for less than one helper, or if the workers have one; io::failure if the
  ///         system has no descriptors left (it takes two a worker, and one for io_uring), or if io_uring was asked for
  ///         by name and cannot be had: it names the call that was refused, and why.
  explicit reactor(sched::runtime& workers, reactor_options wanted = {});

  /// Not during run().
  ~reactor();
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  /// What it uses, in one line, and why if that is not the best:
  /// "epoll; files by helpers (io_uring_setup: Operation not permitted (1))".
  [[nodiscard]] const std::string& backend() const noexcept;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// A fiber, of any worker: lets others run for so long, or until `stop` is asked to.
/// \return false if it was. \throws shunt::error outside a fiber; std::bad_alloc.
bool sleep_for(std::chrono::nanoseconds how_long, std::stop_token stop = {});
bool sleep_until(std::chrono::steady_clock::time_point when, std::stop_token stop = {});

namespace detail {
/// Runs `body`, which must not throw, on a helper; waits for its end.
void on_helper(const char* call, const std::function<void()>& body, const limit& how_long);
}  // namespace detail

/// A fiber: calls `body` on a thread that may block; this fiber waits, its
/// worker does not. `how_long` bounds the wait for a free helper: once begun, `body` is waited for,
/// as it may use what the caller has. Not inside `body`: anything of this_fiber.
/// \return what `body` returns. \throws what `body` throws; io::failure if it was not begun in time.
/// Cost: two switches of threads, some 10 us.
template <typename F>
auto blocking(F&& body, const limit& how_long = {}) -> std::invoke_result_t<F&> {
  using result = std::invoke_result_t<F&>;
  std::exception_ptr thrown;
  if constexpr (std::is_void_v<result>) {
    detail::on_helper(
        "blocking",
        [&] {
          try {
            body();
          } catch (...) {
            thrown = std::current_exception();
          }
        },
        how_long);
    if (thrown) std::rethrow_exception(thrown);
  } else {
    std::optional<result> made;
    detail::on_helper(
        "blocking",
        [&] {
          try {
            made.emplace(body());
          } catch (...) {
            thrown = std::current_exception();
          }
        },
        how_long);
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*made);
  }
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
