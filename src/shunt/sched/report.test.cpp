// What reports say: every fiber, where it is, and why nothing goes on.
#include <shunt/context/switch.hpp>
#include <shunt/sched.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <csignal>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace shunt;
using namespace std::chrono_literals;
namespace this_fiber = sched::this_fiber;

namespace {

#if defined(SHUNT_CONTEXT_BOOST)
constexpr bool stacks_are_known = false;
#else
constexpr bool stacks_are_known = true;
#endif

/// What a runtime has reported.
class reports {
 public:
  [[nodiscard]] auto sink() {
    return [this](std::string_view text) {
      const std::scoped_lock held(lock_);
      texts_.emplace_back(text);
    };
  }
  [[nodiscard]] std::vector<std::string> all() {
    const std::scoped_lock held(lock_);
    return texts_;
  }

 private:
  std::mutex lock_;
  std::vector<std::string> texts_;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

sched::options with(int workers) {
  sched::options o;
  o.workers = workers;
  return o;
}

std::atomic<int> calls{0};  // so that no compiler ends a frame before its call

[[gnu::noinline]] void waits_for_the_gate(const std::atomic<bool>& open) {
  while (!open) this_fiber::park("the gate");
  ++calls;
}
[[gnu::noinline]] void waits_below(const std::atomic<bool>& open) {
  waits_for_the_gate(open);
  ++calls;
}

[[gnu::noinline]] void keeps_its_worker(const std::atomic<bool>& open) {
  while (!open) ++calls;
  ++calls;
}

}  // namespace

TEST_CASE("report_fibers: names every started fiber with its state, its reason, and its stack") {
  for (const int workers : {1, 3}) {
    sched::runtime rt(with(workers));
    std::string text;
    std::atomic<bool> open{false};
    std::atomic<int> inside{0};
    std::mutex lock;
    std::vector<sched::waker> sleepers;
    rt.run([&] {
      constexpr int count = 300;  // more blocks than a slab has
      for (int i = 0; i < count; ++i) {
        sched::spawn_options where;
        where.worker = i % workers;
        if (i != 7) where.name = "sleeper " + std::to_string(i);
        rt.spawn([&] {
          {
            const std::scoped_lock held(lock);
            sleepers.push_back(this_fiber::self());
          }
          ++inside;
          waits_below(open);
        }, where);
      }
      while (inside < count) this_fiber::yield();
      rt.spawn([] {}, {.worker = 0, .name = "never before the report"});
      text = sched::report_fibers();
      open = true;
      for (const auto& s : sleepers) s.wake();
    });
    INFO(text);
    CHECK(says(text, "runtime of " + std::to_string(workers) + " worker"));
    CHECK(says(text, "302 fibers, 1 of them not started"));
    for (const int i : {0, 1, 299}) CHECK(says(text, " `sleeper " + std::to_string(i) + "`, worker " + std::to_string(i % workers)));
    CHECK_FALSE(says(text, "sleeper 7`"));
    // One that has just gone to park on another worker may still be on its way.
    CHECK(count_of(text, ": waits for the gate; stack ") + count_of(text, ", ready; stack ") + count_of(text, ", running; stack ") == 301);
    CHECK(says(text, "`root`, worker 0, running"));
    if (stacks_are_known) {
      const auto inner = text.find("waits_for_the_gate");
      CHECK(inner != std::string::npos);
      CHECK(text.find("waits_below", inner) != std::string::npos);
      CHECK(says(text, ", as fiber "));
    }
  }
}

namespace {
[[gnu::noinline]] void yields_in_the_ring(const bool& open) {
  while (!open) this_fiber::yield();
  ++calls;
}
}  // namespace

TEST_CASE("report_fibers: shows where fibers stand that have done nothing but yield for many rounds") {
  sched::runtime rt(with(1));
  std::string text;
  bool open = false;
  rt.run([&] {
    constexpr int count = 20;
    for (int i = 0; i < count; ++i) rt.spawn([&] { yields_in_the_ring(open); }, {.worker = 0});
    for (int i = 0; i < 100 * count; ++i) this_fiber::yield();
    text = sched::report_fibers();
    for (int i = 0; i < 100; ++i) this_fiber::yield();  // they go on from where they were
    open = true;
  });
  INFO(text);
  CHECK(count_of(text, ", ready; stack ") == 20);
  if (stacks_are_known) CHECK(count_of(text, "yields_in_the_ring") + count_of(text, ", as fiber ") >= 20);
}

TEST_CASE("report_fibers: also of a fiber that never lets its worker go, and of that worker's others") {
  sched::runtime rt(with(2));
  std::string text;
  std::atomic<bool> open{false};
  std::atomic<int> inside{0};
  sched::waker sleeper;
  rt.run([&] {
    rt.spawn([&] {
      sleeper = this_fiber::self();
      ++inside;
      waits_below(open);
    }, {.worker = 1, .name = "beside it"});
    while (inside < 1) this_fiber::yield();
    const int before = calls;
    rt.spawn([&] { keeps_its_worker(open); }, {.worker = 1, .name = "hog"});
    while (calls == before) this_fiber::yield();  // it is there
    text = sched::report_fibers();
    open = true;
    sleeper.wake();
  });
  INFO(text);
  CHECK(says(text, "`hog`, worker 1, running"));
  CHECK(says(text, "`beside it`, worker 1, parked"));
  if (stacks_are_known) CHECK(says(text, "waits_below"));
  CHECK(says(text, "keeps_its_worker"));
}

TEST_CASE("report_fibers: without a runtime that runs") { CHECK(sched::report_fibers() == "no runtime runs\n"); }

TEST_CASE("SIGUSR1 reports every fiber while a runtime runs, and has its old action afterwards") {
  reports seen;
  auto o = with(1);
  o.report = seen.sink();
  o.stuck_after = 0ns;
  struct sigaction by_default {};
  struct sigaction before {};
  by_default.sa_handler = SIG_DFL;  // who started this program may have had it ignored
  REQUIRE(sigaction(SIGUSR1, &by_default, &before) == 0);
  {
    sched::runtime rt(o);
    rt.run([&] {
      REQUIRE(kill(getpid(), SIGUSR1) == 0);
      while (seen.all().empty()) this_fiber::yield();
    });
  }
  CHECK(says(seen.all().front(), "`root`, worker 0"));
  struct sigaction now {};
  REQUIRE(sigaction(SIGUSR1, &before, &now) == 0);
  CHECK(now.sa_handler == SIG_DFL);
}

TEST_CASE("SIGUSR1: a program's own action stays") {
  static std::atomic<int> mine{0};
  struct sigaction ours {};
  struct sigaction before {};
  ours.sa_handler = [](int) { ++mine; };
  REQUIRE(sigaction(SIGUSR1, &ours, &before) == 0);
  sched::runtime(with(1)).run([&] {
    REQUIRE(kill(getpid(), SIGUSR1) == 0);
    while (mine == 0) this_fiber::yield();
  });
  CHECK(mine == 1);
  REQUIRE(sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("a runtime that can never go on says so, once, with the reasons") {
  for (const int workers : {1, 2}) {
    std::atomic<bool> open{false};
    std::atomic<int> begun{0};
    std::vector<sched::waker> sleepers(3);
    reports seen;
    auto o = with(workers);
    o.stuck_after = 1ms;
    o.report = [&, keep = seen.sink()](std::string_view text) {
      keep(text);
      open = true;
      for (const auto& s : sleepers) s.wake();  // this is what nobody else would have done
    };
    sched::runtime rt(o);
    rt.run([&] {
      for (int i = 0; i < 3; ++i) {
        rt.spawn([&, i] {
          sleepers[static_cast<std::size_t>(i)] = this_fiber::self();
          ++begun;
          waits_below(open);
        }, {.worker = i % workers, .name = "stuck " + std::to_string(i)});
      }
      // Nobody rests before all wait: a worker that was given a fiber may not have had a CPU yet.
      while (begun < 3) this_fiber::yield();
    });
    REQUIRE(seen.all().size() == 1);
    const auto text = seen.all().front();
    INFO(text);
    CHECK(says(text, "no fiber can run"));
    for (int i = 0; i < 3; ++i) CHECK(says(text, "`stuck " + std::to_string(i) + "`"));
    CHECK(count_of(text, "waits for the gate") == 3);
  }
}

TEST_CASE("a runtime that waits for a time, or for a poller, does not call itself stuck") {
  reports seen;
  auto o = with(2);
  o.stuck_after = 1ns;
  o.report = seen.sink();
  SECTION("a time") {
    sched::runtime(o).run([] { this_fiber::sleep_for(5ms); });
  }
  SECTION("a poller") {
    struct slow final : sched::poller {
      bool poll() override {
        if (++polls != 4) return false;  // a poller that always moves something keeps its worker from ending
        who.wake();
        return true;
      }
      bool arm() override { return true; }
      void disarm() override {}
      std::chrono::nanoseconds patience() override { return 1ms; }
      int polls = 0;
      sched::waker who;
    } source;
    o.workers = 1;
    sched::runtime rt(o);
    rt.attach(0, source);
    rt.run([&] {
      source.who = this_fiber::self();
      while (source.polls < 4) this_fiber::park();
    });
  }
  CHECK(seen.all().empty());
}

TEST_CASE("a fiber that keeps its worker too long is named with the place where it is") {
  std::atomic<bool> open{false};
  reports seen;
  auto o = with(1);
  o.stall_after = 2ms;
  o.report = [&, keep = seen.sink()](std::string_view text) {
    // Not of whoever had no CPU for so long: another fiber, the hog before it is in there, a worker that did not answer.
    if (text.find("keeps_its_worker") != text.npos) keep(text);
    open = true;  // each time, for a stall is reported once only
  };
  sched::runtime rt(o);
  rt.run([&] {
    rt.spawn([&] {
      for (int stalls = 0; stalls < 50 && seen.all().empty(); ++stalls) {
        open = false;
        keeps_its_worker(open);
        this_fiber::sleep_for(1ms);  // the next one is another stall
      }
    }, {.worker = 0, .name = "hog"});
  });
  REQUIRE(seen.all().size() == 1);  // with the place
  const auto text = seen.all().front();
  INFO(text);
  CHECK(says(text, "has kept its worker for more than 2 ms"));
  CHECK(says(text, "`hog`, worker 0, running"));
  CHECK_FALSE(says(text, "`root`"));
}

TEST_CASE("request_stop: once for the present run, from any thread; the next run has not been asked") {
  for (const int workers : {1, 2}) {
    sched::runtime rt(with(workers));
    CHECK_FALSE(rt.stop_token().stop_possible());
    rt.request_stop();  // nothing to stop
    for (int run = 0; run < 2; ++run) {
      std::atomic<int> told{0};
      bool asked_before = true;
      rt.run([&] {
        asked_before = rt.stop_token().stop_requested();
        std::atomic<int> inside{0};
        for (int i = 0; i < 4; ++i) {
          rt.spawn([&] {
            const auto me = this_fiber::self();
            std::atomic<bool> heard{false};  // later than stop_requested(): its callback may be one of the last
            const std::stop_callback wakes(rt.stop_token(), [&] {
              ++told;
              heard = true;
              me.wake();
            });
            ++inside;
            while (!heard) this_fiber::park("the end");
          });
        }
        while (inside < 4) this_fiber::yield();
        std::thread([&] { rt.request_stop(); }).join();
        rt.request_stop();
        while (told < 4) this_fiber::yield();
      });
      CHECK_FALSE(asked_before);
      CHECK(told == 4);
      CHECK_FALSE(rt.stop_token().stop_possible());
    }
  }
}

TEST_CASE("request_stop: follows from what a body throws") {
  sched::runtime rt(with(2));
  CHECK_THROWS_WITH(rt.run([&] {
                      const auto me = this_fiber::self();
                      const auto stop = rt.stop_token();
                      const std::stop_callback wakes(stop, [me] { me.wake(); });
                      rt.spawn([] { throw std::runtime_error("the first"); });
                      while (!stop.stop_requested()) this_fiber::park("the end");
                      throw std::runtime_error("the second");
                    }),
                    "the first");
}

TEST_CASE("request_stop: who does not listen is named, once") {
  std::atomic<bool> open{false};
  reports seen;
  sched::waker sleeper;
  auto o = with(2);
  o.stuck_after = 0ns;
  o.stop_after = 1ms;
  o.report = [&, keep = seen.sink()](std::string_view text) {
    keep(text);
    open = true;
    sleeper.wake();
  };
  sched::runtime rt(o);
  rt.run([&] {
    std::atomic<bool> inside{false};
    rt.spawn([&] {
      sleeper = this_fiber::self();
      inside = true;
      waits_below(open);
    }, {.name = "deaf"});
    while (!inside) this_fiber::yield();
    rt.request_stop();
    while (!open) this_fiber::yield();
  });
  REQUIRE(seen.all().size() == 1);
  CHECK(says(seen.all().front(), "asked to stop, and not ended. runtime of 2 workers"));
  CHECK(says(seen.all().front(), "`deaf`"));
}
