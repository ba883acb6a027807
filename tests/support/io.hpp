/// What the tests of this room share.
#pragma once

#include <atomic>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/io/failure.hpp>
#include <shunt/io/reactor.hpp>
#include <shunt/sched.hpp>

namespace shunt::io::testing {

/// Checks inside of fibers of any worker: Catch's own are for one thread. What it throws leaves
/// run().
inline void need(bool good, std::source_location at = std::source_location::current()) {
  if (!good) throw std::runtime_error("line " + std::to_string(at.line()) + ": not so");
}

/// Runs `call`, which must fail with `code`.
template <typename F>
void need_failure(std::error_code code, const F& call, std::source_location at = std::source_location::current()) {
  try {
    call();
  } catch (const failure& bad) {
    if (bad.code() == code) return;
    throw std::runtime_error("line " + std::to_string(at.line()) + ": " + bad.what());
  }
  throw std::runtime_error("line " + std::to_string(at.line()) + ": no failure");
}

/// What this machine lets a reactor use.
inline const std::vector<backend>& backends() {
  static const std::vector<backend> all = [] {
    sched::runtime rt({.workers = 1});
    try {
      const reactor asked(rt, {.use = backend::io_uring});
      return std::vector{backend::epoll, backend::io_uring};
    } catch (const failure& why) {
      WARN("not tested: " << why.what());
      return std::vector{backend::epoll};
    }
  }();
  return all;
}

/// Makes the test run once with each of them. By the thread that runs the test.
inline reactor_options each_backend() {
  reactor_options wanted;
  wanted.use = GENERATE(from_range(backends()));
  return wanted;
}

/// Runs `root` on so many workers with a reactor; the test, with each backend.
inline void with_reactor(int workers, const std::function<void(sched::runtime&)>& root) {
  sched::options o;
  o.workers = workers;
  sched::runtime rt(o);
  const reactor waits(rt, each_backend());
  rt.run([&] { root(rt); });
}

#if defined(__SANITIZE_THREAD__)
/// Workers for a test that closes what another fiber is in a call on. One, so that no two threads are in such calls:
/// gcc 12's run-time library uses a descriptor's clock that close() on another thread has freed.
inline constexpr int closing_workers = 1;
#else
inline constexpr int closing_workers = 2;
#endif

/// Spawns `body` on this worker, and lets it run until it waits or ends.
inline void spawn_here(sched::runtime& rt, std::function<void()> body) {
  std::atomic<bool> begun{false};
  sched::spawn_options here;
  here.worker = sched::this_worker::index();
  rt.spawn(
      [&begun, inner = std::move(body)] {
        begun = true;
        inner();
      },
      here);
  while (!begun) sched::this_fiber::yield();
}

/// Counts fibers down; a fiber waits for all of them.
class group {
 public:
  void spawn(sched::runtime& rt, std::function<void()> body, int worker = -1, const char* name = "") {
    ++open_;
    rt.spawn(
        [this, inner = std::move(body)] {
          struct at_end {
            ~at_end() {
              const auto who = self.waiter_;
              if (--self.open_ == 0) who.wake();
            }
            group& self;
          } const leaves{*this};
          inner();
        },
        {.worker = worker, .name = name});
  }
  void wait() {
    while (open_ != 0) sched::this_fiber::park();
  }

 private:
  const sched::waker waiter_ = sched::this_fiber::self();
  std::atomic<int> open_{0};
};

}  // namespace shunt::io::testing
