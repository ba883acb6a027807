#include <shunt/io/signals.hpp>

#include <atomic>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <shunt/io.hpp>
#include <support/io.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace io::testing;
using namespace std::chrono_literals;

namespace {

/// Restores at the end of a test the signals that this thread blocks.
class same_mask {
 public:
  same_mask() { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  ~same_mask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

bool is_blocked(int number) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, number) == 1;
}

void send_value(int number, int value) {
  sigval with{};
  with.sival_int = value;
  expect(sigqueue(getpid(), number, with) == 0);
}

}  // namespace

TEST_CASE("signals: wait returns the number, the sender and the value") {
  const same_mask keep;
  io::signals set({SIGUSR1, SIGUSR2, SIGRTMIN});
  with_reactor(GENERATE(1, 2), [&](sched::runtime&) {
    expect(::kill(getpid(), SIGUSR1) == 0);
    auto one = set.wait();
    expect(one.number == SIGUSR1 && one.sender == getpid());
    for (int value = 1; value <= 3; ++value) send_value(SIGRTMIN, value);  // counted
    for (int value = 1; value <= 3; ++value) {
      one = set.wait();
      expect(one.number == SIGRTMIN && one.value == value);
    }
    expect(::kill(getpid(), SIGUSR2) == 0 && ::kill(getpid(), SIGUSR2) == 0);  // not counted: one signal
    expect(set.wait().number == SIGUSR2);
    expect_failure(io::errc::timed_out, [&] { set.wait(0s); });
  });
}

TEST_CASE("signals: one sent by another thread or process wakes a worker that sleeps") {
  const same_mask keep;
  io::signals set({SIGUSR1, SIGUSR2});
  with_reactor(GENERATE(1, 2), [&](sched::runtime&) {
    std::thread other([] { ::kill(getpid(), SIGUSR1); });
    expect(set.wait().number == SIGUSR1);
    other.join();
    auto sender = io::spawn("sh", {"-c", "kill -USR2 " + std::to_string(getpid())});
    const auto one = set.wait();
    expect(one.number == SIGUSR2 && one.sender == sender.id());
    expect(sender.wait().good());
  });
}

TEST_CASE("signals: of several sets and fibers that wait for a signal one gets it") {
  const same_mask keep;
  io::signals one({SIGUSR1});
  io::signals two({SIGUSR1, SIGUSR2});
  with_reactor(2, [&](sched::runtime& rt) {
    constexpr int fibers = 10;
    std::atomic<int> told{0};
    group all;
    for (int i = 0; i < fibers; ++i) {
      all.spawn(rt, [&, set = i % 2 == 0 ? &one : &two] {
        expect(set->wait().number == SIGUSR1);
        ++told;
      });
    }
    for (int i = 1; i <= fibers; ++i) {
      expect(::kill(getpid(), SIGUSR1) == 0);
      while (told < i) this_fiber::yield();
    }
    all.wait();
    expect_failure(io::errc::timed_out, [&] { one.wait(0s); });
  });
}

TEST_CASE("signals: deadlines and close end the wait, and the text names the set") {
  const same_mask keep;
  with_reactor(1, [&](sched::runtime& rt) {
    io::signals set({SIGUSR1, SIGRTMIN + 2});
    expect_thrown<io::io_error>(
        [&] { set.wait(1ms); },
        [&](const io::io_error& bad) { expect(says(bad, "wait for SIGUSR1, SIGRTMIN+2: timed out", "SHUNT-0302")); });
    std::stop_source stop;
    group all;
    all.spawn(rt, [&] { expect_failure(io::errc::cancelled, [&] { set.wait(stop.get_token()); }); });
    this_fiber::yield();
    stop.request_stop();
    all.wait();
    all.spawn(rt, [&] {
      std::error_code bad;
      set.wait(bad);
      expect(bad == io::errc::closed);
    });
    this_fiber::yield();
    set.close();
    all.wait();
  });
}

TEST_CASE("signals: a thread that does not block them is a usage error that names it; no mask changes") {
  const same_mask keep;
  std::atomic<bool> go{false};
  std::thread other([&] {
    pthread_setname_np(pthread_self(), "careless");
    go = true;
    go.notify_all();
    go.wait(true);
  });
  go.wait(false);
  const auto said = thrown_by<shunt::usage_error>([] { const io::signals set({SIGUSR2}); });
  CHECK_FALSE(is_blocked(SIGUSR2));
  go = false;
  go.notify_all();
  other.join();
  CHECK_THAT(said, Catch::Contains("(careless) does not block SIGUSR2"));
  const io::signals set({SIGUSR2});
  CHECK(is_blocked(SIGUSR2));
}

TEST_CASE("signals: they stay blocked when the set is destroyed") {
  const same_mask keep;
  {
    const io::signals set({SIGUSR1});
  }
  REQUIRE(is_blocked(SIGUSR1));
  CHECK(::kill(getpid(), SIGUSR1) == 0);
  sigset_t pending;
  sigset_t only;
  sigpending(&pending);
  CHECK(sigismember(&pending, SIGUSR1) == 1);
  sigemptyset(&only);
  sigaddset(&only, SIGUSR1);
  CHECK(sigtimedwait(&only, nullptr, nullptr) == SIGUSR1);
}

TEST_CASE("signals: impossible sets are usage errors") {
  const same_mask keep;
  CHECK_THROWS_WITH(io::signals({}), Catch::Contains("empty"));
  CHECK_THROWS_WITH(io::signals({SIGUSR1, SIGKILL}), Catch::Contains("SIGKILL"));
  CHECK_THROWS_WITH(io::signals({SIGSTOP}), Catch::Contains("SIGSTOP"));
  CHECK_THROWS_WITH(io::signals({999}), Catch::Contains("999"));
  CHECK_FALSE(is_blocked(SIGUSR1));
  CHECK(io::signal_name(SIGTERM) == "SIGTERM");
  CHECK(io::signal_name(SIGRTMIN) == "SIGRTMIN");
  CHECK(io::signal_name(999) == "signal 999");
}
