// Sleeping on descriptors: a parker's wake_fd, and pollers that have a descriptor.
#include <shunt/sched/detail/parker.hpp>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/sched.hpp>

#include <catch2/catch.hpp>

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace std::chrono_literals;

namespace {

/// Raised by any thread, lowered by one: an eventfd.
struct flag {
  flag() : fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~flag() { close(fd); }
  flag(const flag&) = delete;
  flag& operator=(const flag&) = delete;
  void raise() const {
    const std::uint64_t one = 1;
    if (write(fd, &one, sizeof one) != sizeof one) std::abort();
  }
  [[nodiscard]] bool lower() const {
    std::uint64_t count = 0;
    return read(fd, &count, sizeof count) == sizeof count;
  }
  const int fd;
};

constexpr auto for_ever = std::chrono::nanoseconds::max();

/// The system's number of an eventfd; the same for every descriptor of one. "" where it tells none (before Linux 5.2).
std::string eventfd_behind(int fd) {
  std::ifstream about("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(about, line);) {
    if (line.rfind("eventfd-id:", 0) == 0) return line;
  }
  return {};
}

}  // namespace

TEST_CASE("parker: park_on returns for a token, for its descriptor, and when its time is over") {
  sched::detail::parker parker;
  const flag nothing;
  const flag something;
  something.raise();
  parker.need_wake_fd();
  parker.need_wake_fd();  // the same one
  parker.park_on(nothing.fd, 0ns);
  parker.park_on(nothing.fd, -1ns);
  parker.park_on(nothing.fd, 1ms);
  parker.park_on(something.fd, for_ever);
  parker.unpark();
  parker.unpark();
  parker.park_on(nothing.fd, for_ever);
  parker.unpark();
  parker.park(for_ever);  // one token, whichever way it is spent
}

TEST_CASE("parker: an unpark that races with park_on is not lost") {
  constexpr int rounds = 20'000;
  sched::detail::parker parker;
  const flag nothing;
  parker.need_wake_fd();
  std::atomic<int> asked{0};
  std::atomic<int> answered{0};
  std::thread owner([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (asked.load(std::memory_order_relaxed) < round) parker.park_on(nothing.fd, for_ever);
      answered.store(round, std::memory_order_relaxed);
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    asked.store(round, std::memory_order_relaxed);  // relaxed: the token carries it
    parker.unpark();
    while (answered.load(std::memory_order_relaxed) < round) std::this_thread::yield();
  }
  owner.join();
  CHECK(answered == rounds);
}

namespace {

/// Its arm() always says true: what brings work raises its flag, and tells no other thread.
class flag_poller final : public sched::poller {
 public:
  bool poll() override {
    if (!work.lower()) return false;
    ++polled;
    if (consumer) consumer.wake();
    return true;
  }
  bool arm() override { return true; }
  void disarm() override {}
  std::chrono::nanoseconds patience() override { return for_ever; }
  [[nodiscard]] int descriptor() const noexcept override { return work.fd; }
  [[nodiscard]] std::uint32_t mark() const noexcept override { return 7; }

  flag work;
  int polled = 0;  // the worker's thread only
  sched::waker consumer;
};

}  // namespace

// `made` is relaxed, so that only the parker orders the threads.
TEST_CASE("parker: a thread that unparks writes to the wake_fd that the owner has made") {
  const flag nothing;
  for (int round = 0; round < 100; ++round) {
    sched::detail::parker parker;
    std::atomic<bool> made{false};
    std::thread other([&] {
      while (!made.load(std::memory_order_relaxed)) std::this_thread::yield();
      for (int i = 0; i < round % 10; ++i) std::this_thread::yield();
      parker.unpark();
    });
    parker.need_wake_fd();
    made.store(true, std::memory_order_relaxed);
    parker.park_on(nothing.fd, for_ever);  // without that write this hangs
    other.join();
    close(parker.wake_fd());
  }
}

TEST_CASE("poller: a worker that sleeps is woken by its poller's descriptor, and by wakes") {
  sched::options o;
  o.workers = 1;
  o.spin = 0us;
  sched::runtime rt(o);
  flag_poller source;
  rt.attach(0, source);
  const sched::poller* seen = nullptr;
  std::uint32_t mark = 0;
  std::atomic<int> got{0};
  constexpr int rounds = 500;
  std::atomic<bool> begun{false};
  sched::waker root;
  std::thread other([&] {
    while (!begun) std::this_thread::yield();
    for (int round = 0; round < rounds; ++round) {
      if (round % 2 == 0) {
        source.work.raise();
      } else {
        ++got;
        root.wake();
      }
      while (got != round + 1) std::this_thread::yield();
    }
  });
  rt.run([&] {
    seen = sched::this_worker::attached<flag_poller>();
    mark = sched::this_worker::mark();
    source.consumer = root = this_fiber::self();
    begun = true;
    int before = 0;
    while (got < rounds) {
      if (source.polled != before) {
        before = source.polled;
        ++got;
      } else {
        this_fiber::park();
      }
    }
  });
  other.join();
  CHECK(seen == &source);
  CHECK(mark == 7);
  CHECK(sched::this_worker::mark() == 0);
  CHECK(source.polled == rounds / 2);
  CHECK(sched::this_worker::attached<flag_poller>() == nullptr);

  flag_poller another;
  rt.detach(0, another);  // is not there: nothing happens
  CHECK_THROWS_WITH(rt.attach(0, another),
                    "attach: worker 0 sleeps on another poller's descriptor; detach that one first [SHUNT-0107]");
  rt.run([&] { seen = sched::this_worker::attached<flag_poller>(); });
  CHECK(seen == &source);
  rt.detach(0, source);
  rt.run([&] {
    seen = sched::this_worker::attached<flag_poller>();
    mark = sched::this_worker::mark();
  });
  CHECK(seen == nullptr);
  CHECK(mark == 0);
}

TEST_CASE("parker: a wake_fd is kept, but not a parent's") {
  sched::detail::parker parker;
  parker.need_wake_fd();
  const auto mine = eventfd_behind(parker.wake_fd());
  parker.need_wake_fd();
  CHECK(eventfd_behind(parker.wake_fd()) == mine);
  if (mine.empty()) return;
  const pid_t child = fork();
  if (child == 0) {
    parker.need_wake_fd();
    const auto its = eventfd_behind(parker.wake_fd());
    _exit(!its.empty() && its != mine ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
