/// Parts of several tests of io.
#pragma once

#include <atomic>
#include <functional>
#include <source_location>
#include <string>
#include <system_error>
#include <vector>

#include <sys/socket.h>

#include <catch2/catch.hpp>

#include <shunt/io/address.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/io_error.hpp>
#include <shunt/io/reactor.hpp>
#include <shunt/sched.hpp>

#include <support/expect.hpp>

namespace shunt::io::testing {

using shunt::testing::expect;
using shunt::testing::expect_thrown;
using shunt::testing::thrown_by;

/// Runs `call`, which must fail with `code`.
template <typename F>
void expect_failure(std::error_code code, const F& call,
                    const std::source_location& where = std::source_location::current()) {
  expect_thrown<io_error>(call, [&](const io_error& bad) { expect(bad.code() == code, bad.what(), where); }, where);
}

/// Whether the text of `bad` is that one, the line of its call, and that number.
inline bool says(const io_error& bad, const std::string& text, const std::string& number) {
  const auto& at = bad.where();
  return bad.what() == text + " (" + at.file_name() + ":" + std::to_string(at.line()) + ") [" + number + "]";
}

/// The backends that a reactor can use on this machine.
inline const std::vector<backend>& backends() {
  static const std::vector<backend> all = [] {
    sched::runtime rt({.workers = 1});
    try {
      const reactor asked(rt, {.use = backend::io_uring});
      return std::vector{backend::epoll, backend::io_uring};
    } catch (const io_error& why) {
      WARN("not tested: " << why.what());
      return std::vector{backend::epoll};
    }
  }();
  return all;
}

/// Makes the test run once with each of them. Called by the thread that runs the test.
inline reactor_options each_backend() {
  reactor_options wanted;
  wanted.use = GENERATE(from_range(backends()));
  return wanted;
}

/// Runs `root` on that many workers with a reactor; repeats the test with each backend.
inline void with_reactor(int workers, const std::function<void(sched::runtime&)>& root) {
  sched::options o;
  o.workers = workers;
  sched::runtime rt(o);
  const reactor waits(rt, each_backend());
  rt.run([&] { root(rt); });
}

#if defined(__SANITIZE_THREAD__)
/// Workers for a test that closes a descriptor while another fiber is in a call on it. One, so that no two threads are:
/// gcc 12's run-time library uses a descriptor's clock that close() on another thread has freed.
inline constexpr int closing_workers = 1;
#else
inline constexpr int closing_workers = 2;
#endif

/// A port that no other process gets while this object lives: bound, and not listened at. This process may listen.
struct held_port {
  explicit held_port(const address& like) : holds(::socket(like.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    expect(::setsockopt(holds.native(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    expect(::bind(holds.native(), like.native(), like.native_length()) == 0);
    sockaddr_storage got{};
    socklen_t size = sizeof got;
    expect(::getsockname(holds.native(), reinterpret_cast<sockaddr*>(&got), &size) == 0);
    at = address(got, size);
  }
  descriptor holds;
  address at;
};

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
              const auto waiter = self.waiter_;
              if (--self.open_ == 0) waiter.wake();
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
