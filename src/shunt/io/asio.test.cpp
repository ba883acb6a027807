#include <shunt/io/asio.hpp>

#if __has_include(<boost/asio.hpp>)

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"  // Asio's fences, which ThreadSanitizer does not see
#endif
#include <boost/asio.hpp>

#include <catch2/catch.hpp>
#include <shunt/sched.hpp>
#include <support/expect.hpp>

namespace asio = boost::asio;
namespace sched = shunt::sched;
using shunt::io::use_fiber;
using shunt::testing::expect;
using namespace std::chrono_literals;

namespace {

/// An io_context on a thread of its own.
class beside {
 public:
  ~beside() {
    work_.reset();
    thread_.join();
  }
  asio::io_context& context() { return context_; }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
  std::thread thread_{[this] { context_.run(); }};
};

}  // namespace

TEST_CASE("asio: a fiber waits for a timer, its worker does not") {
  beside other;
  int turns = 0;
  bool over = false;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    rt.spawn([&] {
      while (!over) {
        ++turns;
        sched::this_fiber::yield();
      }
    });
    asio::steady_timer timer(other.context());
    // Where the thread stands still for long enough, a time is over before the fiber waits for it.
    for (int i = 0; i < 1'000 && turns == 0; ++i) {
      timer.expires_after(2ms);
      timer.async_wait(use_fiber);
    }
    over = true;
  });
  CHECK(turns > 0);
}

TEST_CASE("asio: two fibers talk over its sockets, and get what the handlers would have got") {
  beside other;
  std::string got;
  sched::runtime rt({.workers = 2});
  rt.run([&] {
    using asio::ip::tcp;
    tcp::acceptor door(other.context(), {asio::ip::address_v4::loopback(), 0});
    rt.spawn([&other, to = door.local_endpoint()] {
      tcp::socket peer(other.context());
      peer.async_connect(to, use_fiber);
      const auto bytes = asio::async_write(peer, asio::buffer("hello\n", 6), use_fiber);
      expect(bytes == 6);
    });
    tcp::socket peer = door.async_accept(use_fiber);
    const auto bytes = asio::async_read_until(peer, asio::dynamic_buffer(got), '\n', use_fiber);
    expect(bytes == 6);
  });
  CHECK(got == "hello\n");
}

TEST_CASE("asio: an error is thrown, or set where the token was given a code") {
  beside other;
  boost::system::error_code set, thrown;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    using asio::ip::tcp;
    // Bound, so that no other process listens there; and does not listen.
    tcp::acceptor door(other.context());
    door.open(tcp::v4());
    door.bind({asio::ip::address_v4::loopback(), 0});
    const auto closed_door = door.local_endpoint();
    tcp::socket peer(other.context());
    peer.async_connect(closed_door, use_fiber[set]);
    tcp::socket second(other.context());
    try {
      second.async_connect(closed_door, use_fiber);
    } catch (const boost::system::system_error& bad) {
      thrown = bad.code();
    }
  });
  CHECK(set == asio::error::connection_refused);
  CHECK(thrown == asio::error::connection_refused);
}

TEST_CASE("asio: an io_context that ends without the operation ends the wait") {
  boost::system::error_code thrown;
  sched::runtime rt({.workers = 1});
  rt.run([&] {
    auto context = std::make_unique<asio::io_context>();
    auto timer = std::make_unique<asio::steady_timer>(*context, 1000h);
    rt.spawn([&] {  // while the other fiber waits
      timer.reset();
      context.reset();
    });
    try {
      timer->async_wait(use_fiber);
    } catch (const boost::system::system_error& bad) {
      thrown = bad.code();
    }
  });
  CHECK(thrown == asio::error::operation_aborted);
}

TEST_CASE("asio: a result that cannot be kept ends the wait") {
  struct refuses_copies {
    refuses_copies() = default;
    refuses_copies(const refuses_copies&) { throw std::runtime_error("not copied"); }
  };
  std::string told;
  const auto begin = [&](auto&& handler) {
    std::thread([&told, h = std::forward<decltype(handler)>(handler)]() mutable {
      const refuses_copies value;
      try {
        h(value);
      } catch (const std::runtime_error& thrown) {
        told = thrown.what();
      }
    }).join();
  };
  boost::system::error_code code;
  try {
    static_cast<void>(
        asio::async_initiate<const shunt::io::use_fiber_t, void(const refuses_copies&)>(begin, use_fiber));
  } catch (const boost::system::system_error& bad) {
    code = bad.code();
  }
  CHECK(told == "not copied");
  CHECK(code == asio::error::operation_aborted);
}

TEST_CASE("asio: several values come as a tuple, and a thread may wait, too") {
  std::thread other;  // joined: tests of signals look at every thread of this process
  const auto begin = [&other](auto&& handler) {
    other = std::thread([h = std::forward<decltype(handler)>(handler)]() mutable { h(1, std::string("two")); });
  };
  const auto both = asio::async_initiate<const shunt::io::use_fiber_t, void(int, std::string)>(begin, use_fiber);
  other.join();
  CHECK(both == std::tuple(1, std::string("two")));
}

#endif
