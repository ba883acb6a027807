// The parts below the runtime, each by its table.
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/detail/fiber_state.hpp>
#include <shunt/sched/detail/inbox.hpp>
#include <shunt/sched/detail/look_ahead.hpp>
#include <shunt/sched/detail/parker.hpp>
#include <shunt/sched/detail/posted_wake.hpp>
#include <shunt/sched/detail/steal_deque.hpp>
#include <shunt/sched/detail/worker_state.hpp>
#include <shunt/sched/observe/detail/dump_text.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace detail = shunt::sched::detail;
using detail::after_arm;
using detail::after_park;
using detail::after_push;
using detail::after_wake;

namespace {

/// Two threads that start each round together, and meet after it.
class meeting {
 public:
  void wait() noexcept {
    const auto mine = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 1) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(mine + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; turn_.load(std::memory_order_acquire) == mine;) {
      if (++spins > 200) std::this_thread::yield();
    }
  }

 private:
  std::atomic<unsigned> turn_{0};
  std::atomic<int> arrived_{0};
};

enum class order { as_it_comes, wake_first, park_first };
constexpr int rounds = 5'000;

}  // namespace

// allowed    pick_next + enqueue   the wake found the fiber parked
// allowed    run_again + nothing   the wake came first
// forbidden  pick_next + nothing   a lost wake: the fiber sleeps for ever
// forbidden  run_again + enqueue   the fiber would be enqueued while it runs
TEST_CASE("fiber_state: a wake that races with parking is neither lost nor doubled") {
  const auto forced = GENERATE(order::as_it_comes, order::wake_first, order::park_first);
  detail::fiber_state state;
  meeting m;
  std::atomic<int> went_first{0};
  int signal = 0;  // carried by edge `signal`: plain, so that ThreadSanitizer checks the edge
  int handed = 0;  // carried by edge `handed`
  std::vector<after_wake> wakes(rounds);
  std::thread waker([&] {
    for (int i = 0; i < rounds; ++i) {
      m.wait();
      if (forced == order::park_first) {
        while (!state.parked()) std::this_thread::yield();
      }
      signal = i + 1;
      wakes[static_cast<std::size_t>(i)] = state.wake();
      if (wakes[static_cast<std::size_t>(i)] == after_wake::enqueue && handed != i + 1) {
        wakes[static_cast<std::size_t>(i)] = after_wake::nothing;  // makes the check below fail
      }
      went_first.store(i + 1, std::memory_order_relaxed);  // no edge: the state must carry them
      m.wait();
    }
  });
  int slept = 0;
  int ran_again = 0;
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    handed = i + 1;
    m.wait();
    if (forced == order::wake_first) {
      while (went_first.load(std::memory_order_relaxed) != i + 1) std::this_thread::yield();
    }
    const auto mine = state.commit_park();
    if (mine == after_park::run_again && signal != i + 1) ++wrong;
    m.wait();
    const auto theirs = wakes[static_cast<std::size_t>(i)];
    if (mine == after_park::pick_next && theirs == after_wake::enqueue) {
      ++slept;
    } else if (mine == after_park::run_again && theirs == after_wake::nothing) {
      ++ran_again;
    } else {
      ++wrong;
    }
  }
  waker.join();
  CHECK(wrong == 0);
  if (forced == order::wake_first) CHECK(ran_again == rounds);
  if (forced == order::park_first) CHECK(slept == rounds);
}

TEST_CASE("fiber_state: any number of wakes while running are one; the state then serves again") {
  detail::fiber_state state;
  for (int i = 0; i < 3; ++i) {
    CHECK(state.wake() == after_wake::nothing);
    CHECK(state.wake() == after_wake::nothing);
    CHECK(state.commit_park() == after_park::run_again);
    CHECK(state.commit_park() == after_park::pick_next);
    CHECK(state.parked());
    CHECK(state.wake() == after_wake::enqueue);
    CHECK_FALSE(state.parked());
  }
}

// The link of a fiber is plain. Only edge `handed` orders the two threads' uses of it.
TEST_CASE("fiber_state: the thread that must enqueue a fiber sees what its worker did with the fiber's link") {
  for (int round = 0; round < 20; ++round) {
    detail::fiber_state state;
    int link = 0;
    int seen = 0;
    std::thread waker([&] {
      while (!state.parked()) std::this_thread::yield();
      if (state.wake() == after_wake::enqueue) seen = std::exchange(link, 2);
    });
    link = 1;
    const auto then = state.commit_park();
    waker.join();
    CHECK(then == after_park::pick_next);
    CHECK(seen == 1);
  }
}

TEST_CASE("posted_wake: one caller sends the block until the wake has arrived") {
  detail::posted_wake posted;
  for (int round = 0; round < 2; ++round) {
    CHECK(posted.claim());
    CHECK_FALSE(posted.claim());
    CHECK_FALSE(posted.claim());
    posted.arrive();
  }
}

// Plain, so that ThreadSanitizer checks edge `signal`; `told` is relaxed, so that it orders nothing.
TEST_CASE("posted_wake: what was written before a claim that is told `nothing` is visible after the arrival") {
  for (int round = 0; round < 20; ++round) {
    detail::posted_wake posted;
    int signal = 0;
    int seen = 0;
    bool first = true;
    std::atomic<bool> told{false};
    CHECK(posted.claim());
    std::thread home([&] {
      while (!told.load(std::memory_order_relaxed)) std::this_thread::yield();
      posted.arrive();
      seen = signal;
    });
    signal = 1;
    first = posted.claim();
    told.store(true, std::memory_order_relaxed);
    home.join();
    CHECK_FALSE(first);
    CHECK(seen == 1);
  }
}

TEST_CASE("fiber_state: at home it follows its table, too") {
  detail::fiber_state state;
  for (int i = 0; i < 2; ++i) {
    CHECK(state.expire_at_home() == after_wake::nothing);
    CHECK(state.wake_at_home() == after_wake::nothing);
    CHECK(state.wake_at_home() == after_wake::nothing);
    CHECK(state.expire_at_home() == after_wake::nothing);
    CHECK(state.commit_park_at_home() == after_park::run_again);
    CHECK(state.commit_park_at_home() == after_park::pick_next);
    CHECK(state.parked());
    CHECK(state.wake_at_home() == after_wake::enqueue);
    CHECK_FALSE(state.parked());
    CHECK(state.commit_park_at_home() == after_park::pick_next);
    CHECK(state.expire_at_home() == after_wake::enqueue);
    CHECK_FALSE(state.parked());
  }
}

TEST_CASE("ready_ring: first in, first out, full and across growth") {
  constexpr std::size_t count = 130;
  const auto fibers = std::make_unique<detail::fiber[]>(count);
  detail::ready_ring ring;
  CHECK(ring.capacity() == 0);
  std::size_t in = 0;
  std::size_t out = 0;
  const auto turn = [&] { CHECK(ring.pop() == &fibers[out++ % count]); };
  for (const auto room : {std::size_t{64}, std::size_t{128}}) {
    ring.reserve(room - 1);
    CHECK(ring.capacity() == room);
    for (int lap = 0; lap < 3; ++lap) {
      while (ring.size() < room) ring.push(&fibers[in++ % count]);
      ring.reserve(room);
      CHECK(ring.capacity() == room);
      for (std::size_t i = 0; i < room - 20; ++i) turn();
    }
  }
  while (!ring.empty()) turn();
  CHECK(out == in);
}

namespace {

/// A worker and its fibers, as far as the ring is concerned. A fiber stops each time at another place.
struct ring_worker {
  explicit ring_worker(std::size_t most) : fibers(std::make_unique<detail::fiber[]>(most)) { ring.reserve(most); }

  /// As a switch would, when the running one leaves.
  void stop_in(shunt::context::place& at) {
    at.sp = reinterpret_cast<void*>(++places);
    at.fp = reinterpret_cast<void*>(places + 1);
    at.pc = reinterpret_cast<void*>(places + 2);
    at.kept = reinterpret_cast<void*>(places + 3);
    stopped[running] = places;
  }
  static bool is(const shunt::context::place& at, std::uintptr_t expected) {
    return at.sp == reinterpret_cast<void*>(expected) && at.fp == reinterpret_cast<void*>(expected + 1) &&
           at.pc == reinterpret_cast<void*>(expected + 2) && at.kept == reinterpret_cast<void*>(expected + 3);
  }
  /// As a switch would: `f` goes on where it stopped last.
  void go_on(detail::fiber* f, const shunt::context::place& at) {
    CHECK(is(at, stopped[f]));
    running = f;
    CHECK(ring.running() == f);
  }

  void yield() {
    if (detail::slot* const mine = ring.current()) {
      ++quick;
      detail::slot* const next = ring.after(mine);
      detail::fiber* const to = next->occupant;
      ring.advance_to(next);
      const auto at = next->at.sp != nullptr ? next->at : to->run;
      stop_in(mine->at);
      model.push_back(running);
      go_on(to, at);
    } else {
      ring.close();
      ring.push(running);
      detail::fiber* const next = ring.pop();
      ring.set_running(next);
      ring.take_slot();
      stop_in(running->run);
      model.push_back(running);
      go_on(next, next->run);
    }
    CHECK(running == model.front());
    model.pop_front();
  }
  /// The running one goes, and the first one, or `woken` goes on.
  void park(detail::fiber* woken = nullptr) {
    ring.leave_slot();
    stop_in(running->run);
    elsewhere.push_back(running);
    detail::fiber* next = woken;
    if (next == nullptr) {
      next = ring.pop_after_park();
      CHECK(next == model.front());
      model.pop_front();
    }
    ring.set_running(next);
    ring.take_slot();
    go_on(next, next->run);
  }
  void wake(detail::fiber* f) {
    ring.push(f);
    model.push_back(f);
  }
  detail::fiber* take_elsewhere(std::size_t which) {
    const auto at = elsewhere.begin() + static_cast<std::ptrdiff_t>(which % elsewhere.size());
    detail::fiber* const f = *at;
    elsewhere.erase(at);
    return f;
  }
  /// An observer finds each fiber where it stopped.
  void look() {
    ring.show_places();
    CHECK(ring.running() == running);
    CHECK(ring.has_running());
    for (const auto* f : model) CHECK(is(f->run, stopped[f]));
    for (const auto* f : elsewhere) CHECK(is(f->run, stopped[f]));
    CHECK(ring.size() == model.size());
  }

  std::unique_ptr<detail::fiber[]> fibers;
  detail::ready_ring ring;
  detail::fiber* running = nullptr;
  std::deque<detail::fiber*> model;  // the ready ones, in order
  std::vector<detail::fiber*> elsewhere;
  std::map<const detail::fiber*, std::uintptr_t> stopped;
  std::uintptr_t places = 100;
  long quick = 0;
};

}  // namespace

TEST_CASE("ready_ring: whatever yields, parks and wakes come, turns and places are a queue's") {
  std::mt19937 random(20);
  long quick = 0;
  for (int round = 0; round < 40; ++round) {
    const std::size_t most = 2 + random() % (round % 2 == 0 ? 6 : 150);
    ring_worker w(most);
    for (std::size_t i = 0; i < most; ++i) {
      w.running = &w.fibers[i];
      w.stop_in(w.running->run);
      if (i != 0) w.elsewhere.push_back(w.running);
    }
    w.running = &w.fibers[0];
    w.ring.set_running(w.running);
    // How seldom anything but a yield happens: closed regions must come and go, and last.
    const unsigned seldom = 1U << (random() % 11);
    for (int step = 0; step < 4000; ++step) {
      if (random() % seldom != 0) {
        if (!w.model.empty()) w.yield();
        continue;
      }
      switch (random() % 5) {
        case 0:
          if (!w.model.empty()) w.park();
          break;
        case 1:
          if (!w.elsewhere.empty()) w.park(w.take_elsewhere(random()));
          break;
        case 2:
        case 3:
          if (!w.elsewhere.empty()) w.wake(w.take_elsewhere(random()));
          break;
        default: w.look();
      }
    }
    w.look();
    quick += w.quick;
  }
  CHECK((quick > 1000) == shunt::context::places_suffice);
}

TEST_CASE("ready_ring: grows round the fibers in their slots") {
  ring_worker w(64);
  const auto more = std::make_unique<detail::fiber[]>(100);
  for (std::size_t i = 0; i < 64; ++i) {
    w.running = &w.fibers[i];
    w.stop_in(w.running->run);
    if (i != 63) w.wake(w.running);
  }
  w.ring.set_running(w.running);
  for (int i = 0; i < 200; ++i) w.yield();
  CHECK((w.ring.current() != nullptr) == shunt::context::places_suffice);
  w.ring.reserve(164);
  for (std::size_t i = 0; i < 100; ++i) {
    auto* const runs = w.running;
    w.running = &more[i];
    w.stop_in(more[i].run);
    w.running = runs;
    w.wake(&more[i]);
    w.yield();
  }
  w.look();
}

TEST_CASE("look_ahead: settles on what is faster, and notices when that changes") {
  using namespace std::chrono_literals;
  detail::look_ahead ahead;
  detail::look_ahead::time now{1s};
  bool asks = ahead.after(512, now);
  // Runs stretches of so many nanoseconds a switch; \return how many of them asked.
  const auto run = [&](int stretches, std::chrono::nanoseconds without, std::chrono::nanoseconds with) {
    int asked = 0;
    for (int i = 0; i < stretches; ++i) {
      asked += asks ? 1 : 0;
      now += 512 * (asks ? with : without);
      asks = ahead.after(512, now);
    }
    return asked;
  };
  constexpr int trial = detail::look_ahead::stretches_per_trial;
  CHECK(run(10 * trial, 30ns, 10ns) >= 10 * trial - 11);  // all but the first and the trials
  CHECK(run(10 * trial, 5ns, 15ns) < 10 * trial);
  CHECK(run(10 * trial, 5ns, 15ns) <= 10);
  // One stretch that took a thousand times as long, as where the CPU was taken away, decides nothing.
  now += 512 * 5us;
  asks = ahead.after(512, now);
  CHECK(run(trial, 5ns, 15ns) <= 1);
  // Nor does what was no stretch.
  ahead.forget_begin();
  now += 1h;
  asks = ahead.after(512, now);
  CHECK(run(trial, 5ns, 15ns) <= 2);
}

namespace {

struct node {
  node* link = nullptr;
  node* wake_link = nullptr;
  int from = 0;
  int number = 0;
};

}  // namespace

TEST_CASE("inbox: follows its table") {
  detail::inbox<node> box;
  node a;
  node b;
  SECTION("empty") {
    CHECK(box.drain().empty());
    CHECK_FALSE(box.has_anything());
    CHECK(box.arm() == after_arm::sleep);
  }
  SECTION("a node keeps the owner awake") {
    CHECK(box.push(&a) == after_push::nothing);
    CHECK(box.has_nodes());
    CHECK(box.arm() == after_arm::stay);
    CHECK(box.drain().pop() == &a);
    CHECK(box.arm() == after_arm::sleep);
  }
  SECTION("first pushed, first out") {
    CHECK(box.push(&a) == after_push::nothing);
    CHECK(box.push(&b) == after_push::nothing);
    auto items = box.drain();
    CHECK_FALSE(items.is_wake());
    CHECK(items.pop() == &a);
    CHECK(items.pop() == &b);
    CHECK(items.empty());
  }
  SECTION("nodes and wakes in one order; the same node as both") {
    CHECK(box.push_wake(&a) == after_push::nothing);
    CHECK(box.push(&b) == after_push::nothing);
    CHECK(box.push(&a) == after_push::nothing);
    CHECK(box.push_wake(&b) == after_push::nothing);
    auto items = box.drain();
    for (const auto& [expected, wake] : {std::pair{&a, true}, {&b, false}, {&a, false}, {&b, true}}) {
      REQUIRE_FALSE(items.empty());
      CHECK(items.is_wake() == wake);
      CHECK(items.pop() == expected);
    }
    CHECK(items.empty());
  }
  SECTION("a wake wakes the sleeper, too") {
    CHECK(box.arm() == after_arm::sleep);
    CHECK(box.push_wake(&a) == after_push::wake);
    CHECK(box.has_nodes());
    CHECK(box.drain().pop() == &a);
  }
  SECTION("a closed one refuses wakes, and stays closed until it is opened") {
    CHECK(box.push_wake(&a) == after_push::nothing);
    CHECK(box.close().pop() == &a);
    CHECK(box.is_closed());
    CHECK(box.push_wake(&b) == after_push::refused);
    CHECK(box.unpark() == after_push::nothing);
    CHECK(box.is_closed());
    box.open();
    CHECK(box.push_wake(&b) == after_push::nothing);
  }
  SECTION("the first push to a sleeper owes the wake, the second nothing") {
    CHECK(box.arm() == after_arm::sleep);
    CHECK(box.push(&a) == after_push::wake);
    CHECK(box.push(&b) == after_push::nothing);
    CHECK(box.unpark() == after_push::nothing);
    CHECK(box.drain().pop() == &a);
  }
  SECTION("an unpark to a sleeper owes the wake, once") {
    CHECK(box.arm() == after_arm::sleep);
    CHECK(box.unpark() == after_push::wake);
    CHECK(box.unpark() == after_push::nothing);
    CHECK_FALSE(box.has_nodes());
    CHECK(box.drain().empty());
  }
  SECTION("an unpark while awake is kept, and spends one arm") {
    CHECK(box.unpark() == after_push::nothing);
    CHECK(box.has_anything());
    CHECK(box.arm() == after_arm::stay);
    CHECK(box.arm() == after_arm::sleep);
  }
  SECTION("an unpark beside a node loses neither") {
    CHECK(box.push(&a) == after_push::nothing);
    CHECK(box.unpark() == after_push::nothing);
    CHECK(box.drain().pop() == &a);
  }
  SECTION("time ran out: drain ends the sleep") {
    CHECK(box.arm() == after_arm::sleep);
    CHECK(box.drain().empty());
    CHECK(box.push(&a) == after_push::nothing);
  }
}

TEST_CASE("inbox: nodes of each sender arrive once and in order, and a sleeping owner is woken") {
  constexpr int senders = 3;
  constexpr int each = 5'000;
  detail::inbox<node> box;
  detail::parker parker;
  std::vector<std::vector<node>> nodes(senders, std::vector<node>(each));
  std::vector<std::thread> threads;
  REQUIRE(box.arm() == after_arm::sleep);  // at least once, however the threads are scheduled
  for (int s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      for (int i = 0; i < each; ++i) {
        node& n = nodes[static_cast<std::size_t>(s)][static_cast<std::size_t>(i)];
        n.from = s;
        n.number = i;
        if (box.push(&n) == after_push::wake) parker.unpark();
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  }
  std::vector<int> expected(senders, 0);
  int got = 0;
  int wrong = 0;
  parker.park(std::chrono::nanoseconds::max());
  while (got < senders * each) {
    for (auto items = box.drain(); !items.empty();) {
      const node* const n = items.pop();
      wrong += n->number != expected[static_cast<std::size_t>(n->from)]++;
      ++got;
    }
    if (got < senders * each && box.arm() == after_arm::sleep) {
      parker.park(std::chrono::nanoseconds::max());  // a lost wake hangs here
    }
  }
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

// `turn` is relaxed, so that it orders nothing.
TEST_CASE("inbox: what its owner did before arm() or drain() is ordered before a later unpark()") {
  for (const bool drains : {false, true}) {
    CAPTURE(drains);
    detail::inbox<node> box;
    std::atomic<bool> turn{false};
    int done = 0;  // plain
    int seen = 0;
    std::thread other([&] {
      while (!turn.load(std::memory_order_relaxed)) std::this_thread::yield();
      static_cast<void>(box.unpark());
      seen = done;
    });
    static_cast<void>(box.unpark());
    done = 1;
    const bool right = drains ? box.drain().empty() : box.arm() == after_arm::stay;
    turn.store(true, std::memory_order_relaxed);
    other.join();
    CHECK(right);
    CHECK(seen == 1);
  }
}

TEST_CASE("parker: returns when its time runs out, and at once when a token lies there") {
  detail::parker parker;
  const auto begin = std::chrono::steady_clock::now();
  parker.park(std::chrono::milliseconds(5));
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(5));
  parker.unpark();
  parker.park(std::chrono::nanoseconds::max());
}

TEST_CASE("steal_deque: the owner takes the newest, a thief the oldest, across growth") {
  detail::steal_deque<int> deque(2);
  std::vector<int> items(10);
  CHECK(deque.looks_empty());
  CHECK(deque.take() == nullptr);
  CHECK(deque.steal() == nullptr);
  for (auto& i : items) deque.push(&i);
  CHECK_FALSE(deque.looks_empty());
  CHECK(deque.take() == &items[9]);
  CHECK(deque.steal() == &items[0]);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(deque.steal() == &items[i]);
    CHECK(deque.take() == &items[9 - i]);
  }
  CHECK(deque.looks_empty());
  CHECK(deque.take() == nullptr);
}

// Few items at a time, so that owner and thieves compete for the last one in most rounds.
TEST_CASE("steal_deque: every item goes to exactly one of owner and thieves, with its contents") {
  struct item {
    int contents = 0;  // plain: ThreadSanitizer checks edge `pushed`
    std::atomic<int> taken{0};
  };
  constexpr int count = 20'000;
  const int at_once = GENERATE(1, 2, 7);
  detail::steal_deque<item> deque(2);
  std::vector<item> items(count);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::atomic<int> stolen{0};
  const auto got = [&](item* i) {
    wrong += i->contents != 1;
    i->taken.fetch_add(1);  // the owner may reuse the item then
  };
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t) {
    thieves.emplace_back([&] {
      while (!done.load(std::memory_order_acquire)) {
        if (item* const i = deque.steal()) {
          got(i);
          stolen.fetch_add(1, std::memory_order_relaxed);
        }
      }
    });
  }
  while (stolen.load() == 0) {  // both sides get some, however few CPUs there are
    item extra;
    extra.contents = 1;
    deque.push(&extra);
    std::this_thread::yield();
    if (deque.take() == nullptr) {
      while (extra.taken.load() == 0) std::this_thread::yield();
    }
  }
  for (int next = 0; next < count;) {
    for (int k = 0; k < at_once && next < count; ++k, ++next) {
      items[static_cast<std::size_t>(next)].contents = 1;
      deque.push(&items[static_cast<std::size_t>(next)]);
    }
    while (item* const i = deque.take()) got(i);
  }
  while (!deque.looks_empty()) std::this_thread::yield();
  done.store(true, std::memory_order_release);
  for (auto& t : thieves) t.join();
  int not_once = 0;
  for (const auto& i : items) not_once += i.taken != 1;
  CHECK(not_once == 0);
  CHECK(wrong == 0);
  CHECK(stolen > 0);
}

// The owner is faster than the thief, so the array grows again and again while the thief looks at it.
TEST_CASE("steal_deque: a thief reads the array that the owner has just made") {
  constexpr std::size_t count = 1 << 13;
  std::vector<int> items(count);
  std::size_t wrong = 0;
  for (int round = 0; round < 20; ++round) {
    detail::steal_deque<int> deque(2);
    std::atomic<bool> done{false};
    std::atomic<bool> here{false};
    std::size_t stolen = 0;
    std::thread thief([&] {
      here.store(true, std::memory_order_relaxed);
      while (!done.load(std::memory_order_relaxed)) stolen += deque.steal() != nullptr;
    });
    while (!here.load(std::memory_order_relaxed)) std::this_thread::yield();
    for (auto& i : items) deque.push(&i);
    std::size_t taken = 0;
    while (deque.take() != nullptr) ++taken;
    done.store(true, std::memory_order_relaxed);
    thief.join();
    wrong += taken + stolen != count;
  }
  CHECK(wrong == 0);
}

TEST_CASE("fiber_filter: takes fibers of a scope, and two by their ids; not a later one in the same block") {
  detail::fiber first, second, third;
  const int scope = 0, other_scope = 0;
  const auto record = [](detail::fiber& f, const void* in) {
    detail::fiber_record r;
    r.fiber = &f;
    r.generation = f.generation;
    r.scope = in;
    return r;
  };
  const detail::fiber_filter some{&scope, detail::fiber::id_of(&first), detail::fiber::id_of(&second)};
  CHECK(some.takes(record(first, nullptr)));
  CHECK(some.takes(record(second, &other_scope)));
  CHECK(some.takes(record(third, &scope)));
  CHECK_FALSE(some.takes(record(third, nullptr)));
  CHECK_FALSE(some.takes(record(third, &other_scope)));
  CHECK_FALSE(detail::fiber_filter{}.takes(record(first, nullptr)));
  ++first.generation;
  ++second.generation;
  CHECK_FALSE(some.takes(record(first, nullptr)));
  CHECK_FALSE(some.takes(record(second, &other_scope)));
  CHECK(some.takes(record(first, &scope)));
}
