// Parts of a worker whose loop does not run: what it does without ready fibers, how fibers that migrate get to another
// worker, and what it does with what is sent to it. No thread works; the test's own thread takes each worker's part.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <shunt/sched/detail/idle.hpp>
#include <shunt/sched/detail/migration.hpp>
#include <shunt/sched/detail/worker.hpp>

using namespace shunt::sched::detail;
using namespace std::chrono_literals;
namespace sched = shunt::sched;

namespace {

/// Workers without threads, and fibers without stacks.
struct company {
  explicit company(int workers) : all(face, {.workers = workers, .pin = false, .spin = 0ns, .stuck_after = 0ns}) {
    for (const auto& w : all.workers) w->ready.reserve(256);
    all.oversubscribed = false;
  }
  ~company() {
    if (keeps_inbox) return;
    for (const auto& w : all.workers) static_cast<void>(w->remote.inbox.drain());
  }
  company(const company&) = delete;
  company& operator=(const company&) = delete;

  worker& at(int index) { return *all.workers[static_cast<std::size_t>(index)]; }
  fiber* make() { return made.emplace_back(std::make_unique<fiber>()).get(); }
  fiber* make_started(worker& on) {
    fiber* const f = make();
    f->started = true;
    f->set_home(&on.remote);
    return f;
  }
  static fiber* made_to_migrate(fiber* f) {
    f->migrates = true;
    f->through_loop = true;
    f->moves = {};
    return f;
  }
  /// Started, and ready on that worker.
  std::vector<fiber*> make_migratable(worker& on, std::size_t count) {
    std::vector<fiber*> some;
    for (std::size_t i = 0; i < count; ++i) {
      some.push_back(made_to_migrate(make_started(on)));
      on.migratable.push(some.back());
    }
    return some;
  }

  sched::runtime face{{.workers = 1}};
  shared all;
  std::vector<std::unique_ptr<fiber>> made;
  bool keeps_inbox = false;  // the end finds what lies there
};

std::vector<fiber*> taken_from(fiber_list& list) {
  std::vector<fiber*> found;
  while (!list.empty()) found.push_back(list.pop());
  return found;
}
std::vector<fiber*> sent_to(worker& w) {
  std::vector<fiber*> found;
  for (auto items = w.remote.inbox.drain(); !items.empty();) found.push_back(items.pop());
  return found;
}

/// Asks the test at each step of a worker that looks around and sleeps.
struct asking final : sched::poller {
  bool poll() override { return ++polls, on_poll(); }
  bool arm() override { return ++arms, on_arm(); }
  void disarm() override { ++disarms; }
  std::chrono::nanoseconds patience() override { return longest; }

  std::function<bool()> on_poll = [] { return false; };
  std::function<bool()> on_arm = [] { return true; };
  std::chrono::nanoseconds longest = 0ns;
  int polls = 0, arms = 0, disarms = 0;
};

}  // namespace

// --- idle ---

TEST_CASE("idle: rounds of stealing begin at every worker, and not at the same ones for all") {
  std::vector<std::vector<std::size_t>> begun;
  for (int index = 0; index < 4; ++index) {
    idle one(index);
    std::vector<std::size_t> counts(5), order;
    for (int round = 0; round < 1'000; ++round) {
      const auto first = one.next_victim(5);
      REQUIRE(first < 5);
      ++counts[first];
      order.push_back(first);
    }
    for (const auto count : counts) CHECK(count > 100);
    begun.push_back(order);
  }
  std::sort(begun.begin(), begun.end());
  CHECK(std::adjacent_find(begun.begin(), begun.end()) == begun.end());
}

TEST_CASE("idle: find_work() looks at inbox, pollers, deadlines and other workers' tasks, and says whether any moved") {
  company c(3);
  worker& w = c.at(0);
  asking outside;
  w.attach(outside);
  CHECK_FALSE(w.idle.find_work(w));
  CHECK(outside.polls == 1);

  SECTION("the inbox") {
    fiber* const f = c.make();
    f->set_home(&w.remote);
    w.remote.send(f);
    CHECK(w.idle.find_work(w));
    CHECK(taken_from(w.unstarted) == std::vector{f});
  }
  SECTION("a poller") {
    outside.on_poll = [] { return true; };
    CHECK(w.idle.find_work(w));
  }
  SECTION("a deadline") {
    fiber* const f = c.make_started(w);
    REQUIRE(f->state.commit_park() == after_park::pick_next);
    w.deadlines.reserve();
    w.deadlines.add(*f, sched::now());
    CHECK(w.idle.find_work(w));
    CHECK(w.ready.pop() == f);
    CHECK(f->timed_out);
    CHECK(w.deadlines.empty());
  }
  SECTION("another worker's task: the oldest one, and only one") {
    fiber *const older = c.make(), *const newer = c.make();
    worker& other = c.at(GENERATE(1, 2));
    other.tasks.push(older);
    other.tasks.push(newer);
    CHECK(w.idle.find_work(w));
    CHECK(taken_from(w.unstarted) == std::vector{older});
    CHECK(other.tasks.take() == newer);
  }
  SECTION("nothing is stolen while there is something here; and never an own task") {
    fiber* const task = c.make();
    c.at(1).tasks.push(task);
    outside.on_poll = [] { return true; };
    CHECK(w.idle.find_work(w));
    CHECK(c.at(1).tasks.take() == task);
    outside.on_poll = [] { return false; };
    w.tasks.push(task);
    CHECK_FALSE(w.idle.find_work(w));
    CHECK(w.tasks.take() == task);
  }
  w.detach(outside);
}

TEST_CASE("idle: spin() looks until there is work, the time is over, or the runtime stops") {
  company c(2);
  worker& w = c.at(0);
  asking outside;
  w.attach(outside);
  c.all.settings.spin = 1h;

  SECTION("work") {
    outside.on_poll = [&] { return outside.polls == 3; };
    CHECK(w.idle.spin(w));
    CHECK(outside.polls == 3);
  }
  SECTION("the end") {
    outside.on_poll = [&] {
      if (outside.polls == 3) c.all.stop();
      return false;
    };
    CHECK_FALSE(w.idle.spin(w));
    CHECK(outside.polls == 3);
    CHECK_FALSE(w.idle.spin(w));
    CHECK(outside.polls == 3);
  }
  SECTION("the time") {
    c.all.settings.spin = 1ns;
    CHECK_FALSE(w.idle.spin(w));
    CHECK(outside.polls >= 1);
    c.all.settings.spin = 0ns;
    outside.polls = 0;
    CHECK_FALSE(w.idle.spin(w));
    CHECK(outside.polls == 0);
  }
  SECTION("the fiber that left last expects nothing soon") {
    c.all.settings.spin = 1ns;
    w.idle.last_fiber_rests = true;
    CHECK_FALSE(w.idle.spin(w));
    CHECK(outside.polls == 0);
  }
  SECTION("more workers than CPUs: some looks") {
    c.all.oversubscribed = true;
    CHECK_FALSE(w.idle.spin(w));
    CHECK(outside.polls == 8);
    outside.on_poll = [&] { return outside.polls == 10; };
    CHECK(w.idle.spin(w));
    CHECK(outside.polls == 10);
  }
  w.detach(outside);
}

TEST_CASE(
    "idle: a worker announces its sleep before it looks a last time, and nothing says that it sleeps afterwards") {
  company c(2);
  worker& w = c.at(1);
  asking outside;
  outside.on_arm = [&] {
    CHECK(w.remote.inbox.is_armed());
    CHECK(c.all.asleep.claim() == 1);
    c.all.asleep.enter(1);
    return true;
  };
  w.attach(outside);
  const auto before = w.published.times_asleep();
  w.idle.sleep(w);
  CHECK(outside.arms == 1);
  CHECK(outside.disarms == 1);
  CHECK(w.published.times_asleep() == before + 1);
  CHECK_FALSE(w.published.sleeps());
  CHECK_FALSE(w.remote.inbox.is_armed());
  CHECK(c.all.asleep.none());
  w.detach(outside);
}

TEST_CASE("idle: a worker does not sleep on work") {
  company c(2);
  worker& w = c.at(0);
  asking outside;
  w.attach(outside);
  const auto before = w.published.times_asleep();
  int looks = 0;

  SECTION("in its inbox") {
    fiber* const f = c.make();
    w.remote.send(f);
    w.idle.sleep(w);
    CHECK(c.all.asleep.none());
    CHECK(w.remote.inbox.has_nodes());  // the next look takes it
  }
  SECTION("that it was told of") {
    w.remote.unpark();
    w.idle.sleep(w);
    CHECK(c.all.asleep.none());
  }
  SECTION("that any worker may start") {
    c.at(GENERATE(0, 1)).tasks.push(c.make());
    w.idle.sleep(w);
  }
  SECTION("that a poller has seen") {
    outside.on_arm = [&] { return ++looks, false; };
    w.idle.sleep(w);
    CHECK(looks == 1);
  }
  SECTION("at the end of all") {
    c.all.stop();
    static_cast<void>(w.remote.inbox.drain());  // the wake that goes with it
    w.idle.sleep(w);
  }
  CHECK(outside.arms == looks);
  CHECK(outside.disarms == 0);
  CHECK(w.published.times_asleep() == before);
  CHECK(c.all.asleep.none());
  CHECK_FALSE(w.remote.inbox.is_armed());
  w.detach(outside);
}

TEST_CASE("idle: a worker sleeps until its first deadline at most, or while its pollers have patience") {
  company c(1);
  worker& w = c.at(0);
  asking outside;
  const bool polls = GENERATE(false, true);
  if (polls) w.attach(outside);
  outside.longest = 1h;
  fiber *const now = c.make_started(w), *const later = c.make_started(w);
  w.deadlines.reserve();
  w.deadlines.add(*later, sched::now() + 1h);
  SECTION("a deadline") {
    w.deadlines.add(*now, sched::now() + 1ms);
    do {
      w.idle.sleep(w);  // which may return for no reason
    } while (sched::now() < w.deadlines.first());
    w.deadlines.remove(*now);
  }
  SECTION("a deadline that has passed") {
    w.deadlines.add(*now, sched::now() - 1h);
    w.idle.sleep(w);
    w.deadlines.remove(*now);
  }
  if (polls) {
    SECTION("patience") {
      outside.longest = 1ms;
      w.idle.sleep(w);
    }
  }
  CHECK((outside.arms >= 1) == polls);
  CHECK(outside.disarms == outside.arms);
  w.deadlines.remove(*later);
  if (polls) w.detach(outside);
}

TEST_CASE("idle: a sleeping worker wakes when a fiber is sent to it, or when it is told to poll") {
  company c(2);
  worker& w = c.at(0);
  const bool polls = GENERATE(false, true);
  asking outside;
  outside.longest = std::chrono::nanoseconds::max();
  if (polls) w.attach(outside);
  for (int round = 0; round < 20; ++round) {
    fiber* const f = round % 2 == 0 ? c.make() : nullptr;
    std::atomic<bool> comes{false};
    std::thread other([&] {
      while (!w.remote.inbox.is_armed()) std::this_thread::yield();
      comes = true;  // before it comes: then no sleep begins that nothing ends
      if (f == nullptr) return w.remote.unpark();
      f->set_home(&w.remote);
      w.remote.send(f);
    });
    while (!comes) w.idle.sleep(w);  // which may return for no reason
    other.join();
    w.drain();
    CHECK(taken_from(w.unstarted) == (f == nullptr ? std::vector<fiber*>{} : std::vector{f}));
    CHECK_FALSE(w.published.sleeps());
  }
  if (polls) w.detach(outside);
}

// --- migration ---

TEST_CASE(
    "migration: a sleeping worker gets half of the migratable fibers, the oldest ones, never the only ready one") {
  company c(3);
  worker& w = c.at(0);
  const auto count = GENERATE(as<std::size_t>(), 1, 2, 3, 4, 9, 64, 65, 100);
  const bool others = GENERATE(false, true);
  CAPTURE(count, others);
  const auto all = c.make_migratable(w, count);
  if (others) w.ready.push(c.make_started(w));
  c.all.asleep.enter(2);
  hand_over(w);
  const auto handed = std::min<std::size_t>((count + (others ? 1 : 0)) / 2, 32);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(handed);
  CHECK(c.all.asleep.none() == (handed != 0));
  const auto there = sent_to(c.at(2));
  CHECK(there == std::vector(all.begin(), end));
  CHECK(std::all_of(there.begin(), there.end(), [](fiber* f) { return f->where() == nullptr; }));
  const auto here = taken_from(w.migratable);
  CHECK(here == std::vector(end, all.end()));
  CHECK(std::all_of(here.begin(), here.end(), [&](fiber* f) { return f->where() == &w.remote; }));
  CHECK(sent_to(c.at(1)).empty());
}

TEST_CASE("migration: any ready fiber counts as another one, started or not, also the one that was woken last") {
  company c(2);
  worker& w = c.at(0);
  const auto all = c.make_migratable(w, 1);
  c.all.asleep.enter(1);
  const int where = GENERATE(0, 1, 2);
  if (where == 0) w.run_next = c.make_started(w);
  if (where == 1) w.ready.push(c.make_started(w));
  if (where == 2) w.unstarted.push(c.make());
  hand_over(w);
  CHECK(sent_to(c.at(1)) == all);
  w.run_next = nullptr;
}

TEST_CASE("migration: while no worker sleeps all stay, in their order") {
  company c(2);
  worker& w = c.at(0);
  const auto all = c.make_migratable(w, 6);
  hand_over(w);
  CHECK(taken_from(w.migratable) == all);
  CHECK(sent_to(c.at(1)).empty());
}

TEST_CASE("migration: a fiber that is pinned or has a deadline stays, and no sleeper is claimed for it") {
  company c(2);
  worker& w = c.at(0);
  c.all.asleep.enter(1);
  SECTION("some") {
    const auto all = c.make_migratable(w, 8);
    all[0]->moves.pins = 1;
    all[2]->timer = 0;
    hand_over(w);
    CHECK(sent_to(c.at(1)) == std::vector{all[1], all[3], all[4], all[5]});
    CHECK(taken_from(w.migratable) == std::vector{all[6], all[7], all[0], all[2]});
  }
  SECTION("all") {
    const auto all = c.make_migratable(w, 8);
    for (fiber* const f : all) f->moves.pins = 2;
    hand_over(w);
    CHECK(sent_to(c.at(1)).empty());
    CHECK(taken_from(w.migratable) == all);
    CHECK_FALSE(c.all.asleep.none());
  }
  SECTION("so many that only some are looked at") {
    const auto all = c.make_migratable(w, 200);
    for (std::size_t i = 0; i < 64; ++i) all[i]->moves.pins = 1;
    hand_over(w);
    CHECK(sent_to(c.at(1)).empty());
    CHECK(w.migratable.pop() == all[64]);
  }
}

TEST_CASE("migration: a fiber that has ended elsewhere goes back to the worker whose stack it has") {
  company c(3);
  fiber* const f = company::made_to_migrate(c.make_started(c.at(2)));
  f->moves.first_worker = 1;
  send_to_first_worker(c.at(2), f);
  CHECK(f->ended_away);
  CHECK(f->where() == nullptr);
  CHECK(sent_to(c.at(1)) == std::vector{f});
}

// --- posted wakes ---

// Each row of the way that a wake takes when its fiber has no worker (any more): it must not stay under way, for then
// the next fiber with this block could never be woken.
TEST_CASE("post_wake: without a worker to send it to, a wake is over") {
  company c(1);
  fiber* const f = c.make();
  SECTION("the fiber has no home") {}
  SECTION("its home's worker is gone") {
    f->set_home(&c.at(0).remote);
    CHECK(c.at(0).remote.inbox.close().empty());
  }
  post_wake(*f);
  CHECK(f->posted.claim());
  c.at(0).remote.inbox.open();
}

TEST_CASE("post_wake: one wake is under way, until the worker empties its inbox") {
  company c(1);
  worker& w = c.at(0);
  fiber* const f = c.make_started(w);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(f->state.commit_park_at_home() == after_park::pick_next);
    for (int i = 0; i < 3; ++i) post_wake(*f);
    CHECK(w.drain());
    CHECK(w.ready.pop() == f);
    CHECK(w.ready.empty());
    CHECK_FALSE(w.drain());
  }
}

// The one wake is of a fiber that has ended, the other of the next one with the same block, which has just started. The
// second waker may be told that the first one's wake is under way: then the first must find the new home.
// forbidden  an empty inbox: the fiber would never be woken
TEST_CASE("post_wake: a wake that finds no home loses no wake that comes meanwhile") {
  constexpr int rounds = 20'000;
  company c(1);
  worker& w = c.at(0);
  fiber* const f = c.make();
  std::atomic<int> turn{0};
  const auto meet = [&turn](int at) {
    turn.fetch_add(1, std::memory_order_acq_rel);
    for (int spins = 0; turn.load(std::memory_order_acquire) < at; ++spins) {
      if (spins > 200) std::this_thread::yield();
    }
  };
  std::thread late([&] {
    for (int i = 0; i < rounds; ++i) {
      meet(4 * i + 2);
      post_wake(*f);
      meet(4 * i + 4);
    }
  });
  int lost = 0;
  for (int i = 0; i < rounds; ++i) {
    meet(4 * i + 2);
    for (int delay = 0; delay < i % 16; ++delay) std::atomic_signal_fence(std::memory_order_seq_cst);
    f->set_home(&w.remote);
    post_wake(*f);
    meet(4 * i + 4);
    const auto sent = w.remote.inbox.drain();
    lost += sent.empty();
    f->posted.arrive();
    f->set_home(nullptr);
  }
  late.join();
  CHECK(lost == 0);
}

TEST_CASE("post_wake: the end of a runtime ends its wakes, or sends them to where the block's next fiber is") {
  company there(1);
  std::vector<std::unique_ptr<fiber>> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(std::make_unique<fiber>());
  std::thread other;
  {
    company c(1);
    c.keeps_inbox = true;
    std::atomic<bool> posted{false};
    for (const auto& f : blocks) f->set_home(&c.at(0).remote);
    other = std::thread([&blocks, &posted] {
      for (const auto& f : blocks) post_wake(*f);
      posted.store(true, std::memory_order_relaxed);  // no edge: the inbox must carry the links
    });
    while (!posted.load(std::memory_order_relaxed)) std::this_thread::yield();
    blocks[1]->set_home(nullptr);
    blocks[2]->set_home(&there.at(0).remote);
  }
  other.join();
  CHECK(blocks[0]->posted.claim());
  CHECK(blocks[1]->posted.claim());
  CHECK(sent_to(there.at(0)) == std::vector{blocks[2].get()});
}

// --- worker ---

TEST_CASE("worker: what was sent goes into the queue that it belongs to, and becomes this worker's") {
  company c(3);
  worker& w = c.at(0);
  CHECK_FALSE(w.drain());
  fiber* const woken = c.make_started(w);
  REQUIRE(woken->state.commit_park_at_home() == after_park::pick_next);
  fiber* const awake = c.make_started(w);  // it gets a wake while it runs
  fiber* const elsewhere = c.make_started(c.at(2));
  fiber* const over = c.make();
  fiber* const migrates = company::made_to_migrate(c.make_started(c.at(1)));
  migrates->set_home(nullptr);  // on its way
  fiber* const pinned = c.make();
  pinned->set_home(&w.remote);
  fiber *const task = c.make(), *const newer_task = c.make();
  c.all.asleep.enter(1);
  w.remote.send(task);
  for (fiber* const f : {woken, awake, elsewhere, over}) {
    REQUIRE(f->posted.claim());
    CHECK(w.remote.send_wake(f));
  }
  for (fiber* const f : {pinned, migrates, newer_task}) w.remote.send(f);
  CHECK(w.has_runnable());
  CHECK(w.drain());
  CHECK(taken_from(w.migratable) == std::vector{migrates});
  CHECK(migrates->where() == &w.remote);
  CHECK(taken_from(w.unstarted) == std::vector{pinned});
  CHECK(w.ready.pop() == woken);
  CHECK(w.ready.empty());
  CHECK(awake->state.commit_park_at_home() == after_park::run_again);
  CHECK(sent_to(c.at(2)) == std::vector{elsewhere});  // a wake that went to the wrong worker goes on
  for (fiber* const f : {woken, awake, over}) CHECK(f->posted.claim());
  CHECK_FALSE(elsewhere->posted.claim());  // it is under way
  CHECK(w.tasks.steal() == task);
  CHECK(w.tasks.take() == newer_task);
  CHECK(c.all.asleep.none());  // a sleeper is told of the tasks
  CHECK(c.at(1).remote.inbox.has_anything());
  CHECK_FALSE(w.has_runnable());
}

TEST_CASE("worker: a task wakes one sleeper, if there is one") {
  company c(3);
  c.all.asleep.enter(1);
  c.all.asleep.enter(2);
  for (int i = 0; i < 3; ++i) {
    c.at(0).push_task(c.make());
    CHECK(c.at(1).remote.inbox.has_anything());
    CHECK(c.at(2).remote.inbox.has_anything() == (i > 0));
  }
  for (int i = 0; i < 3; ++i) CHECK(c.at(0).tasks.take() == c.made[static_cast<std::size_t>(2 - i)].get());
}

TEST_CASE("worker: the inbox is emptied before the pollers look, as a wake promises a poll after it") {
  company c(1);
  worker& w = c.at(0);
  asking outside;
  fiber* const f = c.make_started(w);
  outside.on_poll = [&] {
    CHECK_FALSE(w.remote.inbox.has_anything());
    CHECK(w.has_runnable());
    return false;
  };
  w.attach(outside);
  REQUIRE(f->state.commit_park_at_home() == after_park::pick_next);
  post_wake(*f);
  w.remote.unpark();
  CHECK(w.look_outside());
  CHECK(outside.polls == 1);
  CHECK(w.ready.pop() == f);
  w.detach(outside);
}

TEST_CASE("worker: of the fibers whose deadlines have passed those are made ready that nothing else has woken") {
  company c(1);
  worker& w = c.at(0);
  CHECK_FALSE(w.expire());
  std::vector<fiber*> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(c.make_started(w));
    REQUIRE(all.back()->state.commit_park() == after_park::pick_next);
    w.deadlines.reserve();
    w.deadlines.add(*all.back(), i == 3 ? sched::now() + 1h : sched::now() - std::chrono::hours(3 - i));
  }
  REQUIRE(all[1]->state.wake() == after_wake::enqueue);
  company::made_to_migrate(all[2]);
  CHECK(w.expire());
  CHECK(w.ready.pop() == all[0]);
  CHECK(w.ready.empty());
  CHECK(taken_from(w.migratable) == std::vector{all[2]});
  CHECK(w.deadlines.first_fiber() == all[3]);
  CHECK(all[0]->timed_out);
  CHECK_FALSE(all[1]->timed_out);
  CHECK(all[1]->timer == fiber::no_timer);
  CHECK_FALSE(w.expire());
  w.deadlines.remove(*all[3]);
}
