/// Thread-locals and errno under a fiber: whatever way the compiler reached one before a yield,
/// park or fork, it reaches the calling thread's afterwards, a million times.
///
/// They are right because a started fiber stays on its worker (sched/DESIGN.md): no flag makes a
/// compiler look a thread-local up anew after a switch. Fibers are pinned; or tasks that a sleeping
/// worker steals before they start. Of fibers that migrate the library's own thread-locals must be
/// right, and the program's where this_fiber::stay keeps it.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>

#include <shunt/sched.hpp>
#include <shunt/task/fork_join.hpp>

#include <support/expect.hpp>

#include "abi.hpp"

namespace {

namespace sched = shunt::sched;
namespace this_fiber = shunt::sched::this_fiber;
namespace this_worker = shunt::sched::this_worker;

constexpr int workers = 2;
constexpr int pinned = 16;
constexpr int rounds = 25'000;  // of a pinned fiber
constexpr int tasks = 8;        // at a time
constexpr int waves = 25'000;
constexpr int flights = 2'000;  // of 8 fibers that migrate
constexpr long looks_wanted = 1L * pinned * rounds + 3L * tasks * waves + 2L * tasks * flights;
static_assert(looks_wanted >= 1'000'000);

std::atomic<long> looks{0};
shunt::testing::expectations all;

int number() noexcept {
  static std::atomic<int> next{0};
  return ++next;
}

thread_local int plain = 0;              // at a constant offset
thread_local const int made = number();  // behind a guard
thread_local int written = -1;           // by the fiber that runs on the thread: its worker's index

/// Where the thread's own are. Never inlined, and with an effect for all the compiler knows: what
/// it kept cannot come in.
struct places {
  const int* plain_at;
  const int* made_at;
  const int* written_at;
  const int* errno_at;
  int made_is;
};
[[gnu::noinline]] places places_now() noexcept {
  asm volatile("");
  return {&plain, &made, &written, &errno, made};
}

/// Looks at each before and after `wait`.
template <typename Wait>
[[gnu::always_inline]] inline void look(const Wait& wait) {
  written = this_worker::index();
  plain += 1;
  errno = EAGAIN;
  const int made_before = made;
  wait();
  plain += 1;
  errno = EINTR;
  const places now = places_now();
  const bool same = &plain == now.plain_at && &made == now.made_at && &written == now.written_at &&
                    &errno == now.errno_at && made == now.made_is && made_before == now.made_is &&
                    written == this_worker::index() && *now.errno_at == EINTR;
  looks.fetch_add(1, std::memory_order_relaxed);
  all.expect(same, "a thread_local is stale");
}

void spawn_waves() {
  std::atomic<long> elsewhere{0};
  const int home = this_worker::index();
  for (long wave = 1; wave <= waves; ++wave) {
    std::atomic<int> open{tasks};
    const auto me = this_fiber::self();
    for (long i = 0; i < tasks; ++i) {
      this_worker::current().spawn([&, me] {
        elsewhere += this_worker::index() != home;
        look([] { this_fiber::yield(); });
        look([] { shunt::fork_join([] { this_fiber::yield(); }, [] { this_fiber::yield(); }); });
        const auto task = this_fiber::self();
        bool woken = false;
        look([&] {
          // Woken by a fiber that may well run on another worker.
          this_worker::current().spawn([&woken, task] {
            std::atomic_ref(woken).store(true);
            task.wake();
          });
          while (!std::atomic_ref(woken).load()) this_fiber::park();
        });
        if (--open == 0) me.wake();
      });
    }
    // The first wave keeps its worker until another one has taken a task.
    while (elsewhere == 0) std::this_thread::yield();
    while (open != 0) this_fiber::park();
  }
}

[[gnu::noinline]] bool on(std::thread::id thread) noexcept {
  asm volatile("");
  return std::this_thread::get_id() == thread;
}

/// Flocks that begin on worker 0 and go on on worker 1, which sleeps, while worker 0 has something else to do.
void spawn_flights(std::thread::id first) {
  for (int flight = 0; flight < flights; ++flight) {
    std::atomic<int> open{tasks};
    for (int i = 0; i < tasks; ++i) {
      this_worker::current().spawn(
          [&] {
            {
              const this_fiber::stay here;
              look([] { this_fiber::yield(); });
            }
            bool right = this_worker::index() == 0 && on(first);
            while (this_worker::index() == 0) {
              right = right && on(first) && sched::job_deque::here() == nullptr;
              this_fiber::yield();
            }
            right = right && !on(first) && sched::job_deque::here() == nullptr && this_fiber::inside();
            looks.fetch_add(1, std::memory_order_relaxed);
            all.expect(right, "another thread, and its own thread_locals");
            --open;
          },
          {.worker = 0, .migrates = true});
    }
    while (open != 0) this_fiber::yield();
  }
}

}  // namespace

int shunt::testing::abi() {
  sched::options o;
  o.workers = workers;
  sched::runtime rt(o);
  rt.run([&] {
    for (long i = 0; i < pinned; ++i) {
      rt.spawn(
          [] {
            for (long round = 1; round <= rounds; ++round) look([] { this_fiber::yield(); });
          },
          {.worker = static_cast<int>(i % workers)});
    }
    spawn_waves();
  });
  rt.run([] { spawn_flights(std::this_thread::get_id()); });
  std::printf("%ld looks, %ld stale\n", looks.load(), all.unmet_count());
  return looks == looks_wanted && all.unmet_count() == 0 ? 0 : 1;
}
