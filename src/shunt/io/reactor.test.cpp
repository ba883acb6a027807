#include <shunt/io/reactor.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <shunt/io.hpp>
#include <shunt/io/detail/descriptor_state.hpp>
#include <shunt/sched/explore/explore.hpp>

#include <catch2/catch.hpp>
#include <support/io.hpp>
#include <support/process.hpp>
#include <support/runtimes.hpp>
#include <support/workers.hpp>

namespace io = shunt::io;
namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace io::testing;
using namespace std::chrono_literals;
using shunt::testing::no_waiting;
using shunt::testing::refused;

TEST_CASE("waits: outside of fibers they are errors that say so") {
  std::array<char, 1> into{};
  auto ends = io::connected_pair();  // needs no fiber
  CHECK_THROWS_WITH(ends.first.read_some(into), Catch::Contains("read: called outside"));
  CHECK_THROWS_WITH(io::sleep_for(1ms), Catch::Contains("outside a runtime"));
}

namespace {
auto open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}
}  // namespace

TEST_CASE("reactor: workers without one make an epoll when they need it, once, and keep it as long as the runtime") {
  const int workers = GENERATE(1, 3);
  sched::options o;
  o.workers = workers;
  std::array<char, 1> into{};
  auto ends = io::connected_pair();
  const auto use = [&](sched::runtime& rt) {
    rt.run([&] {
      group all;
      for (int w = 0; w < workers; ++w) {
        all.spawn(
            rt,
            [&] {
              expect_failure(io::errc::timed_out, [&] { ends.first.read_some(into, 1ms); });
              expect(io::blocking([] { return 7; }) == 7);
            },
            w);
      }
      all.wait();
      ends.second.write("x");
      expect(ends.first.read_some(into) == 1);
    });
  };
  for (const bool wake_fds_are_there : {false, true}) {  // which live as long as the process
    const auto before = open_descriptors();
    {
      sched::runtime rt(o);
      use(rt);
      const auto after_one_run = open_descriptors();
      CHECK(after_one_run >= before + workers);
      use(rt);
      CHECK(open_descriptors() == after_one_run);
      CHECK_THROWS_AS(io::reactor(rt), shunt::usage_error);  // too late: the workers have epolls
      use(rt);
    }
    if (wake_fds_are_there) CHECK(open_descriptors() == before);
  }
}

TEST_CASE("reactor: is refused during a run, beside another reactor, and without helpers") {
  sched::options o;
  o.workers = 1;
  sched::runtime rt(o);
  const io::reactor waits(rt);
  rt.run([&] { CHECK_THROWS_AS(io::reactor(rt), shunt::usage_error); });
  CHECK_THROWS_WITH(io::reactor(rt), Catch::Contains("another poller's descriptor"));
  CHECK_THROWS_AS(io::reactor(rt, {.helpers = 0}), shunt::usage_error);
}

TEST_CASE("backend: a reactor uses the one in its options; the best is io_uring where the kernel allows it") {
  sched::runtime rt({.workers = 2});
  CHECK(io::reactor(rt, {.use = io::backend::epoll}).backend() == "epoll; files by helpers");
  if (backends().back() != io::backend::io_uring) return;
  CHECK(io::reactor(rt, {.use = io::backend::io_uring}).backend() == "epoll; files by io_uring");
  CHECK(io::reactor(rt).backend() == "epoll; files by io_uring");
}

namespace {

/// From now on the kernel refuses that system call to this thread.
void forbid(unsigned call) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(rules), rules};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

void works_without(unsigned call, const std::string& name) {
  forbid(call);
  const std::string why = name + ": Operation not permitted (1)";
  sched::runtime rt({.workers = 1});
  CHECK_THROWS_WITH(io::reactor(rt, {.use = io::backend::io_uring}), "reactor: " + why + " [SHUNT-0301]");
  const io::reactor waits(rt);
  CHECK(waits.backend() == "epoll; files by helpers (" + why + ")");
  rt.run([] {
    io::file self("/proc/self/exe");
    std::array<char, 4> magic{};
    expect(self.read_at(0, magic) == 4 && std::string(magic.data() + 1, 3) == "ELF");
  });
}

}  // namespace

// For the test below, which runs each in a process of its own: a filter cannot be removed.
TEST_CASE("without io_uring_setup", "[.]") { works_without(__NR_io_uring_setup, "io_uring_setup"); }
TEST_CASE("without io_uring_enter", "[.]") { works_without(__NR_io_uring_enter, "io_uring_enter"); }

TEST_CASE("backend: where the kernel refuses io_uring, the best is epoll and says why; by name it is an error") {
  if (backends().back() != io::backend::io_uring) return;  // then every other test covers it
  const std::string test = GENERATE("without io_uring_setup", "without io_uring_enter");
  std::string said;
  with_reactor(1, [&](sched::runtime&) {
    io::child_options how;
    how.out = io::child_options::use::pipe;
    auto one = io::spawn("/proc/self/exe", {test}, how);
    std::array<char, 1000> some{};
    while (const auto count = one.out().read_some(some)) said.append(some.data(), count);
    one.wait();
  });
  CHECK_THAT(said, Catch::Contains("All tests passed") && Catch::Contains("1 test case"));
}

TEST_CASE("reactor: a call that must not wait fails before it has done anything") {
  with_reactor(1, [](sched::runtime&) {
    auto [one, other] = io::connected_pair();
    const no_waiting guard;
    const auto* const before = sched::this_worker::forbid_wait(&guard);
    expect_thrown<refused>([&] { one.write("x"); });
    sched::this_worker::forbid_wait(before);
    std::array<char, 1> into{};
    expect_failure(io::errc::timed_out, [&, s = &other] { s->read_some(into, 0s); });
  });
}

TEST_CASE("reactor: a worker that sleeps is woken by bytes from a thread that knows no runtime") {
  with_reactor(GENERATE(1, 2), [](sched::runtime&) {
    int ends[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    io::stream mine(ends[0]);
    std::thread other([fd = ends[1]] {
      char c = 0;
      while (::read(fd, &c, 1) == 1 && ::write(fd, &c, 1) == 1) {
      }
      ::close(fd);
    });
    std::array<char, 1> into{};
    for (char c = 'a'; c <= 'z'; ++c) {
      mine.write(std::string(1, c));
      mine.read_exactly(into);
      expect(into[0] == c);
    }
    mine.close();
    other.join();
  });
}

TEST_CASE("reactor: a sleeping worker is woken by fibers and threads too, and loses no wake") {
  sched::options o;
  o.workers = 2;
  o.spin = 0us;
  sched::runtime rt(o);
  const io::reactor waits(rt, each_backend());
  std::atomic<int> ball{0};
  constexpr int rounds = 2'000;
  std::array<sched::waker, 2> players;
  std::atomic<int> ready{0};
  const auto play = [&](int me) {
    players[static_cast<std::size_t>(me)] = this_fiber::self();
    ++ready;
    while (ready != 2) this_fiber::yield();
    for (int now; (now = ball) < rounds;) {  // read once: the other may play between two reads
      if (now % 2 == me) {
        ball = now + 1;
        players[static_cast<std::size_t>(1 - me)].wake();
      } else {
        this_fiber::park();
      }
    }
  };
  for (int i = 0; i < 2; ++i) {
    sched::spawn_options where;
    where.worker = i;
    rt.spawn([&, i] { play(i); }, where);
  }
  rt.run([] {});
  CHECK(ball == rounds);
}

TEST_CASE("reactor: an idle process sleeps until its time is over") {
  struct polls_counted final : sched::poller {  // it has nothing to poll
    bool poll() override {
      ++polls;
      return false;
    }
    bool arm() override { return true; }
    void disarm() override {}
    std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
    std::atomic<int> polls{0};
  } of_each[2];
  sched::runtime rt({.workers = 2, .spin = 0ns});
  for (int i = 0; i < 2; ++i) rt.attach(i, of_each[i]);
  const io::reactor waits(rt, each_backend());
  int polls = 0;
  std::uint64_t sleeps = 0;
  rt.run([&] {
    auto [one, other] = io::connected_pair();
    std::array<char, 1> into{};
    expect_failure(io::errc::timed_out, [&, s = &one] { s->read_some(into, 1ms); });
    const shunt::testing::idle_workers idle;
    expect(idle.falls_asleep(1));
    // Where the system keeps the thread from running for so long, the time is over before the worker sleeps.
    do {
      const auto slept_before = idle.sleeps();
      const int before = of_each[0].polls + of_each[1].polls;
      expect_failure(io::errc::timed_out, [&, s = &one] { s->read_some(into, 100ms); });
      polls = of_each[0].polls + of_each[1].polls - before;
      sleeps = idle.sleeps() - slept_before;
    } while (sleeps == 0 && polls <= 100);
  });
  CHECK(sleeps >= 1);
  CHECK(polls <= 100);  // a few for each sleep; a worker that polls on comes to some 100,000
}

TEST_CASE("sleep: returns at its time or later, in the order of times, and at once after a stop request") {
  const auto in_order = [] {  // in time that passes only where no fiber can run
    const auto begin = sched::now();
    std::vector<int> order;
    group all;
    for (const int i : {3, 1, 2}) {
      all.spawn(sched::this_worker::current(), [&order, i, begin] {
        expect(io::sleep_until(begin + i * 5ms));
        expect(sched::now() >= begin + i * 5ms);
        order.push_back(i);
      });
    }
    all.wait();
    expect(order == std::vector{1, 2, 3});
  };
  CHECK(shunt::test::explore(in_order, 20).failure == "");

  with_reactor(1, [](sched::runtime& rt) {
    const auto begin = std::chrono::steady_clock::now();
    expect(io::sleep_until(begin + 5ms));
    expect(std::chrono::steady_clock::now() >= begin + 5ms);
    expect(io::sleep_for(0s) && io::sleep_for(-1s));

    std::stop_source stop;
    bool ended = false;
    const auto me = this_fiber::self();
    spawn_here(rt, [&] {
      expect(!io::sleep_for(std::chrono::nanoseconds::max(), stop.get_token()));
      ended = true;
      me.wake();
    });
    stop.request_stop();
    while (!ended) this_fiber::park();
    expect(!io::sleep_for(1h, stop.get_token()));
  });
}

TEST_CASE("fairness: a stream that is never empty does not keep the worker for itself") {
  with_reactor(1, [](sched::runtime& rt) {
    const int fd = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    io::source endless(fd, "/dev/zero");
    bool other_ran = false;
    group one;
    one.spawn(rt, [&] { other_ran = true; });
    std::array<char, 1> into{};
    for (int reads = 0; !other_ran && reads < 100'000; ++reads) endless.read_some(into);
    expect(other_ran);
    one.wait();
  });
}

TEST_CASE("pipe: carries bytes and its ends; a write without a reader is an error, no signal") {
  with_reactor(GENERATE(1, closing_workers), [](sched::runtime& rt) {
    auto ends = io::pipe();
    const std::string sent(1 << 20, 'p');
    group both;
    both.spawn(rt, [&] {
      ends.in.write(sent);
      ends.in.write("line\nrest");
      ends.in.close();
    });
    std::string got(sent.size(), ' ');
    ends.out.read_exactly(got);
    expect(got == sent);
    expect(ends.out.read_until("\n", 100) == "line\n");
    std::array<char, 5> five{};
    expect_thrown<io::end_of_stream>([&] { ends.out.read_exactly(five); },
                                     [&](const io::end_of_stream& bad) { expect(bad.moved() == 4); });
    both.wait();

    auto broken = io::pipe();
    broken.out.close();
    expect_failure({EPIPE, std::system_category()}, [&] { broken.in.write("x"); });
    sigset_t pending;
    sigpending(&pending);
    expect(sigismember(&pending, SIGPIPE) == 0);

    auto full = io::pipe();
    std::error_code bad;
    while (!bad) full.in.write(sent, bad, 0s);
    expect(bad == io::errc::timed_out);
    std::stop_source stop;
    group waiters;
    waiters.spawn(rt, [&] { expect_failure(io::errc::closed, [&] { full.in.write("x"); }); });
    full.in.close();
    waiters.wait();
  });
}

TEST_CASE("readable, writable: wait on a descriptor of another owner, and leave it as it is") {
  with_reactor(GENERATE(1, 2), [](sched::runtime& rt) {
    int ends[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const int flags = fcntl(ends[0], F_GETFL);
    io::writable(ends[0]);
    expect_failure(io::errc::timed_out, [&] { io::readable(ends[0], 0s); });
    std::stop_source stop;
    group all;
    for (int i = 0; i < 3; ++i) {  // several fibers on one descriptor
      all.spawn(rt, [&] { io::readable(ends[0], 1h); });
      all.spawn(rt, [&] {
        std::error_code bad;
        io::readable(ends[1], bad, stop.get_token());
        expect(bad == io::errc::cancelled);
      });
    }
    expect(::write(ends[1], "x", 1) == 1);
    stop.request_stop();
    all.wait();
    io::readable(ends[0]);
    expect(fcntl(ends[0], F_GETFL) == flags);
    ::close(ends[1]);
    io::readable(ends[0]);  // the end makes it readable
    ::close(ends[0]);
    expect_failure({EBADF, std::system_category()}, [&] { io::readable(ends[0]); });

    const int disk = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    io::readable(disk);
    ::close(disk);
  });
}

TEST_CASE("file: reads what it has written, at any offset; errors name the path") {
  const std::string path = "/tmp/shunt-io-test-file-" + std::to_string(getpid());
  with_reactor(GENERATE(1, 2), [&](sched::runtime& rt) {
    io::file one(path, io::file::mode::replace);
    group all;
    constexpr std::size_t fibers = 50;
    for (std::size_t i = 0; i < fibers; ++i) {
      all.spawn(rt, [&, i] { one.write_at(i * 1000, std::string(1000, static_cast<char>('A' + i))); });
    }
    all.wait();
    one.sync();
    expect(one.size() == fibers * 1000);
    io::file again(path);
    std::string block(1000, ' ');
    for (std::size_t i = 0; i < fibers; ++i) {
      expect(again.read_at(i * 1000, block) == 1000);
      expect(block == std::string(1000, static_cast<char>('A' + i)));
    }
    expect(again.read_at(fibers * 1000 - 7, block) == 7);
    expect(again.read_at(fibers * 1000, block) == 0);
    expect_failure({EBADF, std::system_category()}, [&] { again.write_at(0, "x"); });  // read only
    again.close();
    expect_failure(io::errc::closed, [&] { again.read_at(0, block); });
    std::filesystem::remove(path);
    expect_thrown<io::io_error>([&] { io::file absent(path); },
                                [&](const io::io_error& bad) {
                                  expect(bad.code() == std::errc::no_such_file_or_directory);
                                  expect(says(bad, "open " + path + ": No such file or directory (2)", "SHUNT-0301"));
                                });
  });
}

TEST_CASE("file: reads and writes of many pieces are complete, and other fibers run meanwhile") {
  const std::string path = "/tmp/shunt-io-test-large-" + std::to_string(getpid());
  with_reactor(1, [&](sched::runtime& rt) {
    std::vector<std::uint32_t> sent((3 << 18) + 5);  // 3 MiB and some
    std::iota(sent.begin(), sent.end(), 1U);
    std::vector<std::uint32_t> got(sent.size());
    io::file one(path, io::file::mode::replace);
    one.write_at(3, sent);
    expect(one.size() == 3 + 4 * sent.size());
    expect(one.read_at(3, got) == 4 * got.size());
    expect(got == sent);

    bool other_ran = false;
    group beside;
    beside.spawn(rt, [&] { other_ran = true; });
    std::array<char, 4> into{};
    for (int reads = 0; !other_ran && reads < 100'000; ++reads) one.read_at(0, into);
    expect(other_ran);
    beside.wait();
    std::filesystem::remove(path);
  });
}

TEST_CASE("file: more fibers than a queue has places write and sync at a time") {
  const std::string path = "/tmp/shunt-io-test-sync-" + std::to_string(getpid());
  with_reactor(GENERATE(1, 2), [&](sched::runtime& rt) {
    constexpr int fibers = 400;
    io::file one(path, io::file::mode::replace);
    std::atomic<int> begun{0}, synced{0};
    group all;
    for (int i = 0; i < fibers; ++i) {
      all.spawn(rt, [&, i] {
        one.write_at(static_cast<std::uint64_t>(i), "x");
        ++begun;
        one.sync();
        ++synced;
      });
    }
    while (begun < fibers) this_fiber::yield();
    expect(::fsync(one.base().native()) == 0);  // blocks this worker: results pile up
    all.wait();
    expect(synced == fibers);
    std::filesystem::remove(path);
  });
}

TEST_CASE("file: a deadline cancels a call that the kernel has begun; a helper cannot be cancelled") {
  if (backends().back() != io::backend::io_uring) return;
  const std::string path = "/tmp/shunt-io-test-fifo-" + std::to_string(getpid());
  expect(mkfifo(path.c_str(), 0600) == 0);
  sched::runtime rt({.workers = 1});
  const io::reactor waits(rt, {.use = io::backend::io_uring});
  rt.run([&] {
    io::file fifo(path, io::file::mode::update);  // this process has both ends, so a read waits, as on no disk
    std::filesystem::remove(path);
    std::array<char, 1> into{};
    const auto read = [&](const io::deadline& how_long) { return fifo.read_at(0, into, how_long); };
    expect_failure(io::errc::timed_out, [&] { read(0s); });
    expect_failure(io::errc::timed_out, [&] { read(1ms); });
    std::stop_source stop;
    group other;
    other.spawn(rt, [&] { expect_failure(io::errc::cancelled, [&] { read(stop.get_token()); }); });
    other.spawn(rt, [&] { expect_failure(io::errc::cancelled, [&] { read({1h, stop.get_token()}); }); });
    for (int i = 0; i < 3; ++i) this_fiber::yield();
    stop.request_stop();
    other.wait();
    expect_failure(io::errc::cancelled, [&] { read(stop.get_token()); });
    other.spawn(rt, [&] { expect(read(1h) == 1 && into[0] == 'x'); });  // no cancelled call has read a byte
    this_fiber::yield();
    fifo.write_at(0, "x");
    other.wait();
  });
}

TEST_CASE("report_fibers: names the file that a fiber waits for, behind the note of its module") {
  const auto which = GENERATE(from_range(backends()));
  const std::string path = "/tmp/shunt-io-test-named-" + std::to_string(getpid());
  expect(mkfifo(path.c_str(), 0600) == 0);
  struct job : sched::detail::work_note {
    static void say(const work_note&, std::uint32_t, sched::detail::note_text& to) noexcept { to << "a job"; }
  } its_job;
  its_job.write = job::say;
  sched::runtime rt({.workers = 1});
  const io::reactor waits(rt, {.use = which});
  std::string opens;
  std::string reads;
  rt.run([&] {
    const auto parked = [&](const char* name) {
      for (;;) {
        auto text = sched::report_fibers();
        const auto line = text.find(std::string("`") + name + "`");
        if (line != text.npos && text.find("parked", line) < text.find('\n', line)) {
          return text.substr(line, text.find('\n', line) - line);
        }
        this_fiber::yield();
      }
    };
    group all;
    io::file both_ends;
    if (which == io::backend::epoll) {  // io_uring opens a FIFO at once, also without a writer
      all.spawn(rt, [&] { const io::file fifo(path, io::file::mode::read); }, 0, "opens");
      opens = parked("opens");
      both_ends = io::file(path, io::file::mode::update);
    } else {  // helpers use pread(2), which fails on a FIFO
      both_ends = io::file(path, io::file::mode::update);
      all.spawn(
          rt,
          [&] {
            sched::detail::set_work_of_this_fiber(&its_job);
            std::array<char, 1> into{};
            expect(both_ends.read_at(0, into, 1h) == 1);
            expect(sched::detail::work_of_this_fiber() == &its_job);
            sched::detail::set_work_of_this_fiber(nullptr);
          },
          0, "reads");
      reads = parked("reads");
      both_ends.write_at(0, "x");
    }
    all.wait();
  });
  std::filesystem::remove(path);
  if (which == io::backend::epoll) {
    CHECK_THAT(opens, Catch::Contains("; to open " + path));
  } else {
    CHECK_THAT(reads, Catch::Contains("; a job, to read from descriptor ") && Catch::Contains(", " + path));
  }
}

TEST_CASE("blocking: returns results and exceptions; a deadline bounds the wait for a helper") {
  sched::options o;
  o.workers = 1;
  sched::runtime rt(o);
  const io::reactor waits(rt, {.helpers = 2});
  rt.run([&] {
    const auto mine = std::this_thread::get_id();
    expect(io::blocking([] { return std::this_thread::get_id(); }) != mine);
    expect(*io::blocking([] { return std::make_unique<int>(7); }) == 7);
    bool threw = false;
    try {
      io::blocking([] { throw std::out_of_range("far"); });
    } catch (const std::out_of_range&) {
      threw = true;
    }
    expect(threw);

    std::atomic<bool> go{false};
    std::atomic<int> at_work{0};
    group all;
    for (int i = 0; i < 2; ++i) {
      all.spawn(rt, [&] {
        io::blocking([&] {
          ++at_work;
          go.wait(false);
        });
      });
    }
    while (at_work != 2) this_fiber::yield();
    bool ran = false;
    expect_failure(io::errc::timed_out, [&] { io::blocking([&] { ran = true; }, 1ms); });
    std::stop_source stop;
    all.spawn(
        rt, [&] { expect_failure(io::errc::cancelled, [&] { io::blocking([&] { ran = true; }, stop.get_token()); }); });
    this_fiber::yield();
    stop.request_stop();
    std::atomic<int> done{0};
    for (int i = 0; i < 20; ++i) {
      all.spawn(rt, [&] { io::blocking([&] { ++done; }); });
    }
    this_fiber::yield();
    go = true;
    go.notify_all();
    all.wait();
    expect(!ran && done == 20);
  });
}

TEST_CASE("descriptor_state: it may be released, and serve again, while close() is still under way in another thread") {
  using shunt::io::detail::descriptor_state;
  for (int round = 0; round < 200; ++round) {
    auto* const state = descriptor_state::acquire(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    bool first = false;
    std::thread closes([&] { first = state->close(); });
    while (!state->closed()) continue;
    state->release();
    auto* const next = descriptor_state::acquire(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    CHECK_FALSE(next->closed());
    closes.join();
    next->release();
    CHECK(first);
  }
}
