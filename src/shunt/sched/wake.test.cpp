// Parking, waking, sleeping: across workers, threads and pollers.
#include <shunt/sched.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <shunt/sched/observe/detail/kernel_wait.hpp>

#include <catch2/catch.hpp>
#include <support/process.hpp>
#include <support/runtimes.hpp>
#include <support/workers.hpp>

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
using namespace std::chrono_literals;

namespace {

sched::options with(int workers, std::chrono::nanoseconds spin = 50us) {
  sched::options o;
  o.workers = workers;
  o.spin = spin;
  return o;
}

}  // namespace

TEST_CASE("park: a wake before it makes it return at once; two wakes make one return") {
  sched::runtime rt(with(1));
  rt.run([] {
    const auto me = this_fiber::self();
    CHECK(me == this_fiber::self());
    me.wake();
    me.wake();
    this_fiber::park();
  });
}

TEST_CASE("park: of two woken fibers the last runs first; a wake that came before makes park return at once") {
  sched::runtime rt(with(1));
  std::vector<int> order;
  rt.run([&] {
    std::array<sched::waker, 2> others;
    bool begun = false;
    for (int i = 0; i < 2; ++i) {
      rt.spawn(
          [&, i] {
            others[static_cast<std::size_t>(i)] = this_fiber::self();
            while (!begun) this_fiber::park();
            order.push_back(i);
          },
          {.worker = 0});
    }
    while (!others[0] || !others[1]) this_fiber::yield();
    begun = true;
    const auto me = this_fiber::self();
    me.wake();
    others[0].wake();
    this_fiber::park();  // its own wake came first
    order.push_back(2);
    others[1].wake();
    me.wake();
    this_fiber::park();
    order.push_back(3);
    this_fiber::yield();
    order.push_back(4);
  });
  CHECK(order == std::vector{2, 3, 1, 0, 4});
}

TEST_CASE("yield: a fiber that yields alone soon lets one run that another thread has woken") {
  sched::runtime rt(with(1));
  constexpr int wakes = 100;
  int asked = 0;
  int answered = 0;
  int yields = 0;
  rt.run([&] {
    sched::waker other;
    rt.spawn(
        [&] {
          other = this_fiber::self();
          while (answered < wakes) {
            while (answered == asked) this_fiber::park();
            answered = asked;
          }
        },
        {.worker = 0});
    while (!other) this_fiber::yield();
    while (asked < wakes) {
      ++asked;
      std::thread([&] { other.wake(); }).join();
      while (answered != asked) {
        this_fiber::yield();
        ++yields;
      }
    }
  });
  CHECK(yields <= 2 * wakes);  // the worker looks into its inbox, and then it is the other one's turn
}

TEST_CASE("waker: wakes no fiber by default, and may be called after the fiber and its runtime ended") {
  sched::waker empty;
  CHECK_FALSE(empty);
  empty.wake();
  sched::waker late;
  {
    sched::runtime rt(with(2));
    rt.run([&] { late = this_fiber::self(); });
    late.wake();
    int rounds = 0;
    rt.run([&] {  // the block may serve again: its new fiber copes with a stray wake
      late.wake();
      const auto me = this_fiber::self();
      while (++rounds < 3) {
        me.wake();
        this_fiber::park();
      }
    });
    CHECK(rounds == 3);
  }
  late.wake();
}

TEST_CASE("wake: the fiber that the running one has just woken runs next, yet no fiber starves") {
  sched::runtime rt(with(1));
  int exchanges = 0;
  int at_bystander = -1;
  sched::waker a;
  sched::waker b;
  bool stop = false;
  bool ready = false;
  rt.run([&] {
    rt.spawn(
        [&] {
          a = this_fiber::self();
          while (!stop) {
            this_fiber::park();
            b.wake();
          }
        },
        {0, "", 0});
    rt.spawn(
        [&] {
          b = this_fiber::self();
          ready = true;
          while (at_bystander < 0 || exchanges < 1000) {
            ++exchanges;
            a.wake();
            this_fiber::park();
          }
          stop = true;
          a.wake();
        },
        {0, "", 0});
    rt.spawn(
        [&] {
          while (!ready) this_fiber::yield();
          this_fiber::yield();
          at_bystander = exchanges;
        },
        {0, "", 0});
  });
  CHECK(at_bystander >= 0);
  CHECK(at_bystander < 100);
}

TEST_CASE("tasks begin while fibers that have begun are always ready, many of them in each round of maintenance") {
  sched::runtime rt(with(1));
  constexpr int tasks = 640;
  int begun = 0;
  long turns = 0;
  rt.run([&] {
    for (int i = 0; i < 100; ++i) {
      rt.spawn(
          [&] {
            while (begun < tasks) {
              ++turns;
              this_fiber::yield();
            }
          },
          {.worker = 0});
    }
    for (int i = 0; i < 3; ++i) this_fiber::yield();  // all of them have begun
    for (int i = 0; i < tasks; ++i) {
      rt.spawn([&] {
        ++begun;
        while (begun < tasks) {
          ++turns;
          this_fiber::yield();
        }
      });
    }
  });
  CHECK(begun == tasks);
  CHECK(turns < 64L * tasks / 4);  // one task a round of 64 switches would take 64 turns each
}

TEST_CASE("wake: a token goes round fibers of several workers, and no wake is lost") {
  const int workers = GENERATE(1, 2, 4);
  const auto spin = GENERATE(0us, 50us);
  sched::runtime rt(with(workers, spin));
  constexpr int fibers = 12;
  constexpr int rounds = 300;
  struct member {
    sched::waker to_wake;
    int token = 0;  // plain: carried by the wake
  };
  std::vector<member> members(fibers);
  std::atomic<int> seated{0};
  int hops = 0;
  rt.run([&] {
    for (int i = 0; i < fibers; ++i) {
      rt.spawn(
          [&, i] {
            member& mine = members[static_cast<std::size_t>(i)];
            mine.to_wake = this_fiber::self();
            if (seated.fetch_add(1) == fibers - 1) {
              members[0].token = 1;
              members[0].to_wake.wake();
            }
            for (int r = 1; r <= rounds; ++r) {
              while (mine.token != r) this_fiber::park();
              ++hops;
              member& next = members[static_cast<std::size_t>((i + 1) % fibers)];
              const int token = i + 1 == fibers ? r + 1 : r;
              if (token > rounds) return;
              next.token = token;
              next.to_wake.wake();
            }
          },
          {i % workers, "", 0});
    }
  });
  CHECK(hops == fibers * rounds);
}

TEST_CASE("wake: foreign threads wake fibers that park again and again, about one second in all") {
  sched::runtime rt(with(2, 0us));
  struct box {
    std::atomic<int> mail{0};
    std::atomic<bool> open{false};
    sched::waker to_wake;
  };
  constexpr int boxes = 4;
  constexpr int letters = 3'000;
  std::vector<box> all(boxes);
  std::vector<std::thread> senders;
  for (int s = 0; s < 2; ++s) {
    senders.emplace_back([&] {
      for (auto& b : all) {
        while (!b.open.load(std::memory_order_acquire)) std::this_thread::yield();
      }
      for (int i = 0; i < letters; ++i) {
        for (auto& b : all) {
          b.mail.fetch_add(1, std::memory_order_relaxed);  // the wake carries it
          b.to_wake.wake();
        }
      }
    });
  }
  rt.run([&] {
    for (int i = 0; i < boxes; ++i) {
      rt.spawn(
          [&, i] {
            box& mine = all[static_cast<std::size_t>(i)];
            mine.to_wake = this_fiber::self();
            mine.open.store(true, std::memory_order_release);
            int got = 0;
            while (got < 2 * letters) {
              const int now = mine.mail.exchange(0, std::memory_order_relaxed);
              if (now == 0) this_fiber::park();  // a lost wake hangs here
              got += now;
            }
          },
          {i % 2, "", 0});
    }
  });
  for (auto& t : senders) t.join();
  for (auto& b : all) CHECK(b.mail == 0);
}

TEST_CASE("idle workers fall asleep, and do not wake up by themselves") {
  auto o = with(2);
  o.stuck_after = 0ns;  // no report, should the alarm be late
  sched::runtime rt(o);
  bool all_slept = false;
  std::uint64_t sleeps = 0;
  std::thread alarm;
  rt.run([&] {
    const auto me = this_fiber::self();
    const shunt::testing::idle_workers idle;
    std::atomic<bool> rang{false};
    alarm = std::thread([&, me] {
      all_slept = idle.all_fall_asleep();
      const auto before = idle.sleeps();
      std::this_thread::sleep_for(100ms);  // in which a worker that looks around now and then would do so
      sleeps = idle.sleeps() - before;
      rang = true;
      me.wake();
    });
    while (!rang) this_fiber::park();
  });
  alarm.join();
  CHECK(all_slept);
  CHECK(sleeps <= 4);  // each may give memory of stacks back, once or twice
}

namespace {

/// A counter that other threads raise; it obeys the poller's protocol to the letter, so that a
/// scheduler that sleeps once too often never returns.
class counting_poller final : public sched::poller {
 public:
  void start(sched::runtime& rt, int worker) {
    rt_ = &rt;
    worker_ = worker;
  }
  void bring() {  // any thread
    work_.fetch_add(1, std::memory_order_seq_cst);
    if (armed_.load(std::memory_order_seq_cst)) rt_->unpark(worker_);
  }
  bool poll() override {
    ++polls;
    if (work_.load(std::memory_order_acquire) == done) return false;
    ++done;
    if (consumer) consumer.wake();
    return true;
  }
  bool arm() override {
    CHECK_FALSE(armed_.load());
    armed_.store(true, std::memory_order_seq_cst);
    if (work_.load(std::memory_order_seq_cst) != done) {
      armed_.store(false);
      return false;
    }
    ++arms;
    return true;
  }
  void disarm() override {
    CHECK(armed_.load());
    armed_.store(false);
  }
  std::chrono::nanoseconds patience() override { return limit; }

  int done = 0;  // the worker's thread only
  int polls = 0;
  std::atomic<int> arms{0};
  sched::waker consumer;
  std::chrono::nanoseconds limit = std::chrono::nanoseconds::max();

 private:
  sched::runtime* rt_ = nullptr;
  int worker_ = 0;
  std::atomic<int> work_{0};
  std::atomic<bool> armed_{false};
};

}  // namespace

TEST_CASE("poller: of several on a worker each is polled, and all are armed or none") {
  sched::runtime rt(with(2, 0us));
  counting_poller sources[3];
  for (auto& one : sources) {
    one.start(rt, 1);
    rt.attach(1, one);
  }
  constexpr int pieces = 3'000;
  std::atomic<int> seen{0};
  std::thread bringer([&] {
    for (int i = 0; i < pieces; ++i) {
      sources[i % 3].bring();
      while (seen.load() <= i) std::this_thread::yield();  // one at a time: it sleeps in between
    }
    while (sources[0].arms == 0 || sources[2].arms == 0) std::this_thread::yield();
    rt.request_stop();
  });
  rt.run([&] {
    rt.spawn(
        [&] {
          for (auto& one : sources) one.consumer = this_fiber::self();
          const auto stop = rt.stop_token();
          const std::stop_callback wakes(stop, [to_wake = this_fiber::self()] { to_wake.wake(); });
          while (!stop.stop_requested()) {
            seen = sources[0].done + sources[1].done + sources[2].done;
            this_fiber::park();
          }
          for (auto& one : sources) one.consumer = {};
        },
        {.worker = 1});
  });
  bringer.join();
  CHECK(seen == pieces);
  for (const auto& one : sources) CHECK(one.done == pieces / 3);  // and arm() checks that each was disarmed before
  const int before = sources[1].polls;
  rt.detach(1, sources[1]);
  rt.run([&] { rt.spawn([] { this_fiber::sleep_for(1ms); }, {.worker = 1}); });
  CHECK(sources[1].polls == before);
}

TEST_CASE("poller: work that comes while the worker falls asleep is not missed") {
  sched::runtime rt(with(2, 0us));
  counting_poller source;
  source.start(rt, 1);
  rt.attach(1, source);
  constexpr int pieces = 3'000;
  std::atomic<int> seen{0};
  std::thread bringer([&] {
    for (int i = 0; i < pieces; ++i) {
      while (i == 1 && source.arms == 0) std::this_thread::yield();  // once at least it sleeps
      source.bring();
      while (seen.load() <= i) std::this_thread::yield();  // one at a time: it sleeps in between
    }
  });
  rt.run([&] {
    rt.spawn(
        [&] {
          source.consumer = this_fiber::self();
          for (seen = source.done; seen < pieces; seen = source.done) this_fiber::park();
          source.consumer = {};
        },
        {1, "", 0});
  });
  bringer.join();
  CHECK(seen == pieces);
  CHECK(source.arms > 0);
}

TEST_CASE("poller: is polled although fibers yield to each other for ever, or one to itself") {
  const int fibers = GENERATE(1, 2);
  sched::runtime rt(with(1));
  counting_poller source;
  source.start(rt, 0);
  rt.attach(0, source);
  rt.run([&] {
    for (int i = 0; i < fibers; ++i) {
      rt.spawn(
          [&] {
            while (source.polls < 10) this_fiber::yield();
          },
          {0, "", 0});
    }
  });
  CHECK(source.polls >= 10);
}

namespace {

/// Wakes its fiber when the worker falls asleep, or has looked around more often than it does where it sleeps at once.
class sleep_watch final : public sched::poller {
 public:
  /// This fiber waits by `wait`, again and again until it is woken. \return whether its worker fell asleep then.
  template <typename F>
  bool falls_asleep(F wait) {
    looks_ = 0;
    who_ = this_fiber::self();
    while (who_) wait();
    return slept_;
  }
  bool poll() override {
    if (!who_ || ++looks_ < many_looks) return false;
    say(false);
    return true;
  }
  bool arm() override {
    if (!who_) return true;
    say(true);
    return false;
  }
  void disarm() override {}
  std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }

 private:
  static constexpr int many_looks = 2;  // whatever the clock says, it looks once more after the loop's look
  void say(bool slept) {
    slept_ = slept;
    std::exchange(who_, {}).wake();
  }

  sched::waker who_;
  int looks_ = 0;
  bool slept_ = false;
};

}  // namespace

TEST_CASE("rest_until: the worker sleeps at once if the fiber that left it last rests, and spins before otherwise") {
  using std::chrono::steady_clock;
  sched::runtime rt(with(1, 1us));
  sleep_watch source;
  rt.attach(0, source);
  rt.run([&] {
    const auto rest = [] { CHECK(this_fiber::rest_until(steady_clock::time_point::max())); };
    const auto park = [] { this_fiber::park(); };
    CHECK(source.falls_asleep(rest));
    CHECK_FALSE(source.falls_asleep(park));
    CHECK(source.falls_asleep(rest));

    bool over = false;
    sched::waker other;
    rt.spawn(
        [&] {
          other = this_fiber::self();
          while (!over) rest();
        },
        {.worker = 0});
    while (!other) this_fiber::yield();
    CHECK_FALSE(source.falls_asleep(park));  // the other one rests, but this one left last
    over = true;
    other.wake();
    this_fiber::yield();
    CHECK_FALSE(this_fiber::rest_until(steady_clock::now()));  // as park_until()
  });
}

TEST_CASE("poller: its patience bounds the worker's sleep") {
  sched::runtime rt(with(1, 0us));
  counting_poller source;
  source.start(rt, 0);
  source.limit = 1ms;
  rt.attach(0, source);
  std::atomic<bool> rang{false};
  std::thread alarm;
  rt.run([&] {
    const auto me = this_fiber::self();
    alarm = std::thread([&, me] {
      const int first = source.arms;
      while (source.arms < first + 5) std::this_thread::yield();  // no thread wakes it, yet it looks again
      rang = true;
      me.wake();
    });
    while (!rang) this_fiber::park();
  });
  alarm.join();
  CHECK(source.arms >= 5);
}

TEST_CASE("unpark: before a worker sleeps next it polls once more, armed or not") {
  sched::runtime rt(with(1, 0us));
  class deaf final : public sched::poller {  // its arm() always says true; work comes by unpark()
   public:
    bool poll() override {
      if (!flag.exchange(false)) return false;
      ++told;
      to_wake.wake();
      return true;
    }
    bool arm() override { return true; }
    void disarm() override {}
    std::chrono::nanoseconds patience() override { return std::chrono::nanoseconds::max(); }
    std::atomic<bool> flag{false};
    int told = 0;
    sched::waker to_wake;
  } source;
  rt.attach(0, source);
  constexpr int calls = 2'000;
  std::atomic<int> seen{-1};
  std::thread caller([&] {
    for (int i = 0; i < calls; ++i) {
      while (seen.load() != i) std::this_thread::yield();
      source.flag = true;
      rt.unpark(0);
    }
  });
  rt.run([&] {
    source.to_wake = this_fiber::self();
    for (int i = 0; i < calls; ++i) {
      seen = i;
      while (source.told == i) this_fiber::park();
    }
  });
  caller.join();
  CHECK(seen == calls - 1);
}

TEST_CASE("futex: returns when the word differs, when woken, and when the time is over") {
  std::atomic<std::uint32_t> word{0};
  CHECK(shunt::futex_wait(word, 1));
  CHECK_FALSE(shunt::futex_wait(word, 0, 2ms));
  CHECK_FALSE(shunt::futex_wait(word, 0, 0ns));
  std::atomic<long> thread{0};
  std::thread sleeper([&] {
    thread = gettid();
    while (word == 0) shunt::futex_wait(word, 0);
  });
  while (thread == 0 || !sched::detail::sleeps_in_kernel(thread)) std::this_thread::yield();
  word = 1;
  shunt::futex_wake(word, shunt::futex_all);
  sleeper.join();
}

namespace {

/// Whether the calling process's thread sleeps in the kernel.
bool thread_sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(stat, text);
  const auto end = text.rfind(')');
  return end != std::string::npos && text.substr(end, 3) == ") S";
}

}  // namespace

TEST_CASE("waiter: a fiber and a thread are woken by either, asleep and before it, and see what was written") {
  sched::runtime rt(with(2));
  for (const bool fiber_sleeps : {true, false}) {
    for (const bool fiber_wakes : {true, false}) {
      for (const bool asleep : {true, false}) {
        CAPTURE(fiber_sleeps, fiber_wakes, asleep);
        std::atomic<sched::waiter*> to_wake{nullptr};
        std::atomic<pid_t> thread{0};
        std::atomic<bool> done{false};
        int written = 0;
        int seen = -1;
        const auto sleeps = [&] {
          sched::waiter me;
          CHECK_FALSE(me.woken());
          thread = gettid();
          to_wake = &me;
          // relaxed: what was written comes by edge `woken`, and by nothing else
          while (!asleep && !done.load(std::memory_order_relaxed)) std::this_thread::yield();
          me.wait("a test's end", "a test");
          CHECK(me.woken());
          seen = written;
        };
        const auto is_asleep = [&] {
          return fiber_sleeps ? sched::report_fibers().find("a test's end") != std::string::npos
                              : thread_sleeps(thread);
        };
        const auto wakes = [&] {
          while (to_wake == nullptr) std::this_thread::yield();
          while (asleep && !is_asleep()) std::this_thread::yield();
          written = 7;
          to_wake.load()->wake();
          done.store(true, std::memory_order_relaxed);  // relaxed: as above
        };
        std::vector<std::thread> threads;
        rt.run([&] {
          if (!fiber_sleeps) threads.emplace_back(sleeps);
          if (!fiber_wakes) threads.emplace_back(wakes);
          if (fiber_sleeps) rt.spawn(sleeps, {.worker = 0});
          if (fiber_wakes) rt.spawn(wakes, {.worker = 1});
        });
        for (auto& t : threads) t.join();
        CHECK(seen == 7);
      }
    }
  }
}

TEST_CASE("waiter: a time that is over ends the wait, and it may wait again") {
  const auto sleeps = [] {
    sched::waiter me;
    const auto begin = sched::now();
    CHECK_FALSE(me.wait_until(begin + 3ms, "a test", "a call"));
    CHECK(sched::now() >= begin + 3ms);
    CHECK_FALSE(me.wait_until(begin, "a test", "a call"));
    me.wake();
    CHECK(me.wait_until(begin, "a test", "a call"));  // it was woken: the time does not matter
    me.wait("a test", "a call");
    me.reset();
    CHECK_FALSE(me.woken());
    CHECK_FALSE(me.wait_until(begin, "a test", "a call"));
  };
  sleeps();
  sched::runtime rt(with(1));
  rt.run(sleeps);
}

TEST_CASE("waiter: a fiber that must not wait is refused, also when it would not have to") {
  sched::runtime rt(with(1));
  rt.run([] {
    const shunt::testing::no_waiting guard;
    sched::waiter me;
    CHECK(sched::this_worker::forbid_wait(&guard) == nullptr);
    const auto refused_call = [](const auto& wait) -> std::string {
      try {
        wait();
      } catch (const shunt::testing::refused& r) {
        return r.call;
      }
      return "";
    };
    const auto waits = [&] { me.wait("a test", "tell"); };
    const auto waits_for_an_hour = [&] { static_cast<void>(me.wait_until(sched::now() + 1h, "a test", "drain")); };
    CHECK(refused_call(waits) == "tell");  // the function that the program called, not what it waits for
    CHECK(refused_call(waits_for_an_hour) == "drain");
    me.wake();
    CHECK(refused_call(waits) == "tell");
    CHECK(sched::this_worker::forbid_wait(nullptr) == &guard);
    me.wait("a test", "a call");
  });
}

// The wakes come from a thread that is no worker, and most of their fibers have ended: then a wake is under way to a
// worker where nothing waits for it, or belongs to the next fiber with the same block, perhaps on another worker, or in
// another runtime. A fiber that misses the wake meant for it hangs.
TEST_CASE("wake: wakes of fibers that have ended cost no later fiber with the same block its own") {
  constexpr int kept = 8;
  constexpr int runtimes = 5;
  constexpr int each = 400;
  std::array<std::atomic<sched::waker>, kept> old{};
  std::atomic<bool> over{false};
  std::thread late([&] {
    while (!over) {
      for (const auto& one : old) one.load().wake();
    }
  });
  int woken = 0;
  for (int r = 0; r < runtimes; ++r) {
    sched::runtime rt(with(2));
    rt.run([&] {
      for (int i = 0; i < each; ++i) {
        std::atomic<sched::waker> waits{};
        std::atomic<bool> may_end{false};
        std::atomic<bool> ended{false};
        const auto me = this_fiber::self();
        rt.spawn(
            [&, me, i] {
              waits = this_fiber::self();
              while (!may_end) this_fiber::park();
              old[static_cast<std::size_t>(i % kept)] = this_fiber::self();
              ++woken;
              ended = true;
              me.wake();
            },
            {.worker = i % 2});
        while (!waits.load()) this_fiber::yield();
        may_end = true;
        waits.load().wake();
        while (!ended) this_fiber::park();
      }
    });
  }
  over = true;
  late.join();
  CHECK(woken == runtimes * each);
}
