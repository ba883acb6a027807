#include <shunt/templet.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>
#include <shunt/base/sanitizers.hpp>
#include <shunt/sched.hpp>
#include <shunt/sched/waiter.hpp>
#include <shunt/templet/detail/inbox.hpp>
#include <shunt/templet/detail/run_queue.hpp>
#include <support/expect.hpp>
#include <support/runtimes.hpp>
#include <support/workers.hpp>

namespace templet = shunt::templet;
namespace detail = shunt::templet::detail;
using Catch::Matchers::Contains;
using shunt::testing::expect;
using shunt::testing::on_workers;
using shunt::testing::thrown_by;
using templet::access;
using templet::actor;
using templet::engine;
using templet::message;

namespace {

#if defined(SHUNT_TSAN)
constexpr int effort = 1;
#else
constexpr int effort = 10;
#endif

/// Calls a function of any kind with each message.
struct caller : actor {
  template <class F>
  explicit caller(F f) : body(std::move(f)) {
    recv = [](message& m, actor& self) { static_cast<caller&>(self).body(m); };
  }
  std::function<void(message&)> body;
};

std::string error_of(engine& e, int workers = 1) {
  return thrown_by([&] { run(e, workers); });
}

}  // namespace

TEST_CASE("templet: a ball goes to and fro as often as it is sent, and run returns") {
  const int workers = GENERATE(1, 2, 4);
  engine e;
  message ball;
  int left = 10'000;
  std::unique_ptr<caller> pong;
  caller ping([&](message& m) {
    if (left-- > 0) send(e, m, *pong);
  });
  pong = std::make_unique<caller>([&](message& m) {
    if (left-- > 0) send(e, m, ping);
  });
  send(e, ball, ping);
  const auto done = run(e, workers);
  CHECK(done.messages == 10'001);
  CHECK(left == -1);
  CHECK(access(ball, ping));
  CHECK_FALSE(access(ball, *pong));
}

namespace {

/// The published listing: rows of a field, one actor a row, one message between two rows.
struct heat {
  static constexpr int rows = 40, columns = 8, steps = 200, count = rows - 2;
  struct row : actor {
    heat* all = nullptr;
    int id = 0, t = 1;
  };

  void compute(int i) {
    for (std::size_t j = 1; j < columns - 1; ++j) {
      auto& f = field;
      const auto r = static_cast<std::size_t>(i);
      f[r][j] = (f[r][j - 1] + f[r][j + 1] + f[r - 1][j] + f[r + 1][j]) * 0.25;
    }
  }
  void fill() {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) field[i][j] = double((i * 7919 + j * 104729) % 1000);
    }
  }
  static void on_message(message&, actor& self) {
    auto& me = static_cast<row&>(self);
    heat& h = *me.all;
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    if (me.id != 0 && !access(h.ms[at(me.id - 1)], me)) return;
    if (me.id != count - 1 && !access(h.ms[at(me.id)], me)) return;
    if (me.t > steps) return;
    h.compute(me.id + 1);
    if (++me.t > steps) templet::ended(me);
    if (me.id != 0) send(h.e, h.ms[at(me.id - 1)], h.as[at(me.id - 1)]);
    if (me.id != count - 1) send(h.e, h.ms[at(me.id)], h.as[at(me.id + 1)]);
  }

  engine e;
  std::array<row, count> as;
  std::array<message, count - 1> ms;
  double field[rows][columns] = {};
};

}  // namespace

TEST_CASE("templet: the published heat listing computes what a loop computes, to the last bit") {
  const int workers = GENERATE(1, 2, 4);
  const auto one = std::make_unique<heat>();
  one->fill();
  for (int t = 1; t <= heat::steps; ++t) {
    for (int i = 1; i < heat::rows - 1; ++i) one->compute(i);
  }
  for (int round = 0; round < effort; ++round) {
    const auto other = std::make_unique<heat>();
    other->fill();
    for (int i = 0; i < heat::count; ++i) {
      auto& a = other->as[static_cast<std::size_t>(i)];
      a.recv = heat::on_message;
      a.all = other.get();
      a.id = i;
      templet::must_end(other->e, a, "its rows");
      if (i < heat::count - 1) give(other->e, other->ms[static_cast<std::size_t>(i)], a);
    }
    send(other->e, other->ms[0], other->as[0]);
    run(other->e, workers);
    REQUIRE(std::equal(&one->field[0][0], &one->field[0][0] + heat::rows * heat::columns, &other->field[0][0]));
  }
}

TEST_CASE("templet: no message is lost or doubled, and no actor runs twice at once") {
  const int workers = GENERATE(1, 2, 4);
  constexpr int crowd = 50, letters = 200;
  const int hops = 100 * effort;
  struct letter : message {
    int left = 0;
    std::uint64_t to = 0;
  };
  struct person : actor {
    std::atomic<bool> inside{false};
    long got = 0;  // not atomic: only the actor's handler touches it
  };
  struct world {
    engine e;
    std::array<person, crowd> people;
    std::array<letter, letters> post;
    std::atomic<int> twice{0};
  };
  static world* all;
  const auto here = std::make_unique<world>();
  all = here.get();
  for (auto& p : all->people) {
    p.recv = [](message& m, actor& self) {
      auto& me = static_cast<person&>(self);
      auto& l = static_cast<letter&>(m);
      if (me.inside.exchange(true)) ++all->twice;
      ++me.got;
      l.to = l.to * 6364136223846793005U + 1442695040888963407U;
      const bool on = --l.left > 0;
      me.inside = false;
      if (on) send(all->e, l, all->people[(l.to >> 33) % crowd]);
    };
  }
  for (std::size_t i = 0; i < letters; ++i) {
    all->post[i].left = hops;
    all->post[i].to = i;
    send(all->e, all->post[i], all->people[i % crowd]);
  }
  const auto done = run(all->e, workers);
  long got = 0;
  for (const auto& p : all->people) got += p.got;
  CHECK(got == static_cast<long>(letters) * hops);
  CHECK(done.messages == static_cast<std::uint64_t>(got));
  CHECK(all->twice == 0);
}

TEST_CASE("templet: a message that is on its way is not sent again, and the error names the receiver") {
  engine e;
  message m;
  caller other([](message&) {});
  other.name = "other";
  caller twice([&](message& got) {
    send(e, got, other);
    send(e, got, other);
  });
  send(e, m, twice);
  CHECK_THROWS_WITH(send(e, m, other), Contains("send to `other`") && Contains("on its way to actor 0x"));
  CHECK_THAT(error_of(e), Contains("send to `other`") && Contains("on its way to `other` already"));
  CHECK(access(m, other));  // delivered unread
}

TEST_CASE("templet: an actor without access cannot send, and the error names the one that has the message") {
  const int workers = GENERATE(1, 2);
  engine e;
  message first;
  message others;
  caller owner([](message&) {});
  owner.name = "owner";
  give(e, others, owner);
  caller thief([&](message&) { send(e, others, owner); });
  thief.name = "thief";
  send(e, first, thief);
  CHECK_THAT(error_of(e, workers), Contains("send to `owner`: the message is `owner`'s: only its handler may send it"));
  CHECK(access(others, owner));
}

TEST_CASE("templet: a thread that runs no handler cannot send while the engine runs") {
  engine e;
  message first;
  message fresh;
  caller other([](message&) {});
  std::string said;
  caller asks([&](message&) {
    std::thread([&] {
      said = thrown_by<shunt::usage_error>([&] { send(e, fresh, other); });
      if (!thrown_by<shunt::usage_error>([&] { send(e, first, other); }).empty()) said += "; and so";
    }).join();
  });
  send(e, first, asks);
  run(e, 2);
  CHECK_THAT(said, Contains("called outside of a handler while the engine runs") && Contains("; and so"));
}

TEST_CASE("templet: a message that was never sent may be sent by any handler, once") {
  engine e;
  message first;
  message fresh;
  int got = 0;
  caller sink([&](message&) { ++got; });
  caller source([&](message&) { send(e, fresh, sink); });
  send(e, first, source);
  run(e);
  CHECK(got == 1);
  CHECK(access(fresh, sink));
}

TEST_CASE("templet: what leaves a handler leaves run, later messages are not handled, and the engine serves again") {
  const int workers = GENERATE(1, 2, 4);
  engine e;
  message bad;
  std::deque<message> rest(100);
  int calls = 0;
  caller thrower([&](message&) {
    ++calls;
    throw std::runtime_error("no more");
  });
  send(e, bad, thrower);
  for (auto& m : rest) send(e, m, thrower);
  CHECK(error_of(e, workers) == "no more");
  CHECK(calls == 1);
  for (const auto& m : rest) CHECK(access(m, thrower));

  int good = 0;
  caller fine([&](message&) { ++good; });
  send(e, bad, fine);
  for (auto& m : rest) send(e, m, fine);
  CHECK(run(e, workers).messages == 101);
  CHECK(good == 101);
}

TEST_CASE("templet: an actor without a handler ends the run with its name") {
  engine e;
  message m;
  actor empty;
  empty.name = "empty";
  send(e, m, empty);
  CHECK(error_of(e) == "run: `empty` has got a message, and has no handler [SHUNT-0605]");
}

TEST_CASE("templet: run names the actors that must end and have not") {
  engine e;
  message m;
  caller done([&](message&) { templet::ended(done); });
  caller waits([](message&) {});
  caller never([](message&) {});
  done.name = "done";
  waits.name = "waits";
  never.name = "never";
  for (auto* a : {&done, &waits, &never}) templet::must_end(e, *a, "a second message");
  send(e, m, done);
  const auto said = thrown_by<templet::stalled>([&] { run(e, 2); });
  CHECK_THAT(said, Contains("2 of 3 actors that must end have not") && Contains("`waits` waits for a second message") &&
                       Contains("`never`") && !Contains("`done`"));
  send(e, m, waits);
  CHECK_NOTHROW(run(e, 2));  // it forgot them
}

TEST_CASE("templet: an actor queued behind a busy one is taken over by an idle worker, awake or asleep") {
  // Ends only if another worker runs the others, alone in the queue or not.
  const std::size_t behind = GENERATE(1U, 2U, 7U);
  const bool asleep = GENERATE(false, true);
  engine e;
  std::deque<message> ms(behind + 1);
  std::atomic<std::size_t> ran{0};
  std::deque<caller> others;
  for (std::size_t i = 0; i < behind; ++i) others.emplace_back([&](message&) { ++ran; });
  caller busy([&](message& m) {
    if (asleep) {
      const shunt::testing::idle_workers idle;
      expect(idle.falls_asleep(1 - shunt::sched::this_worker::index()));
    }
    for (std::size_t i = 0; i < behind; ++i) send(e, i == 0 ? m : ms[i], others[i]);
    while (ran != behind) std::this_thread::yield();
  });
  send(e, ms[0], busy);
  CHECK(run(e, 2).thefts >= 1);
}

TEST_CASE("templet: receivers run on the sender's worker in the order in which they were sent to") {
  engine e;
  std::deque<message> ms(5);
  std::vector<int> order;
  std::deque<caller> others;
  for (int i = 0; i < 4; ++i) others.emplace_back([&order, i](message&) { order.push_back(i); });
  caller first([&](message&) {
    for (std::size_t i = 0; i < 4; ++i) send(e, ms[i + 1], others[i]);
  });
  send(e, ms[0], first);
  run(e, 1);
  CHECK(order == std::vector{0, 1, 2, 3});
}

TEST_CASE("templet: more actors may be ready than a queue has room for") {
  const int workers = GENERATE(1, 3);
  constexpr std::size_t many = 5000;
  engine e;
  std::deque<message> ms(many + 1);
  std::atomic<std::size_t> ran{0};
  std::deque<caller> others;
  for (std::size_t i = 0; i < many; ++i) others.emplace_back([&](message&) { ++ran; });
  caller first([&](message&) {
    for (std::size_t i = 0; i < many; ++i) send(e, ms[i + 1], others[i]);
  });
  send(e, ms[0], first);
  CHECK(run(e, workers).messages == many + 1);
  CHECK(ran == many);
}

TEST_CASE("templet: in a fiber, run uses its runtime's workers and lets other fibers run; handlers may wait") {
  on_workers([] {
    engine e;
    message m;
    std::atomic<shunt::sched::waiter*> gate{nullptr};
    bool passed = false;
    caller waits([&](message&) {
      shunt::sched::waiter me;
      gate = &me;
      me.wait("the other fiber", "a test");
      passed = true;
    });
    send(e, m, waits);
    shunt::sched::this_worker::current().spawn([&] {
      while (gate == nullptr) shunt::sched::this_fiber::yield();
      gate.load()->wake();
    });
    run(e);
    CHECK(passed);
    CHECK_THROWS_AS(run(e, -1), shunt::usage_error);
  });
}

TEST_CASE("templet: run within a handler of the same engine is refused") {
  engine e;
  message m;
  caller again([&](message&) { run(e); });
  send(e, m, again);
  CHECK_THAT(error_of(e), Contains("run: called while the engine runs"));
}

TEST_CASE("templet: an empty run ends at once, and runs may follow each other without end") {
  const int workers = GENERATE(1, 2, 4);
  on_workers([] {
    engine e;
    CHECK(run(e).messages == 0);
  });
  shunt::sched::options o;
  o.workers = workers;
  shunt::sched::runtime rt(o);
  const int rounds = 200 * effort;
  std::uint64_t handled = 0;
  rt.run([&] {
    engine e;
    std::deque<message> ms(3);
    std::deque<actor> as(4);
    for (auto& a : as) a.recv = [](message&, actor&) {};
    for (int i = 0; i < rounds; ++i) {
      const auto sent = static_cast<std::size_t>(i % 4);
      for (std::size_t k = 0; k < sent; ++k) send(e, ms[k], as[k + 1]);
      handled += run(e).messages;
    }
  });
  CHECK(handled == static_cast<std::uint64_t>(rounds) / 4 * 6);
}

namespace {
struct note {
  note* next_ = nullptr;
  int number = 0;
};
}  // namespace

TEST_CASE("inbox: one push gets queue_it, and begin() returns everything, oldest first") {
  detail::inbox<note> in;
  note notes[4];
  CHECK(in.idle());
  CHECK(in.push(notes[0]) == detail::after_push::queue_it);
  CHECK(in.push(notes[1]) == detail::after_push::nothing);
  note* got = in.begin();
  CHECK(got == &notes[0]);
  CHECK(got->next_ == &notes[1]);
  CHECK(got->next_->next_ == nullptr);
  CHECK(in.push(notes[2]) == detail::after_push::nothing);  // busy
  CHECK(in.finish() == detail::after_push::queue_it);
  got = in.begin();
  CHECK(got == &notes[2]);
  CHECK(got->next_ == nullptr);
  CHECK(in.finish() == detail::after_push::nothing);
  CHECK(in.idle());
  CHECK(in.push(notes[3]) == detail::after_push::queue_it);
}

TEST_CASE("inbox: of senders that race with a loop that finishes, exactly one gets queue_it") {
  detail::inbox<note> in;
  const int rounds = 5'000 * effort;
  std::atomic<int> runs{0};
  std::atomic<bool> running{false};
  std::atomic<int> twice{0};
  std::atomic<int> seen{0};
  int not_atomic = 0;  // edge `left`: activations follow each other
  const auto activate = [&] {
    bool again = true;
    while (again) {
      if (running.exchange(true, std::memory_order_relaxed)) ++twice;
      for (note* n = in.begin(); n != nullptr; n = n->next_) seen.fetch_add(1, std::memory_order_relaxed);
      ++not_atomic;
      runs.fetch_add(1, std::memory_order_relaxed);
      running.store(false, std::memory_order_relaxed);
      again = in.finish() == detail::after_push::queue_it;
    }
  };
  std::vector<std::vector<note>> notes(2, std::vector<note>(static_cast<std::size_t>(rounds)));
  std::vector<std::thread> senders;
  for (auto& mine : notes) {
    senders.emplace_back([&] {
      for (auto& n : mine) {
        if (in.push(n) == detail::after_push::queue_it) activate();
      }
    });
  }
  for (auto& s : senders) s.join();
  CHECK(seen == 2 * rounds);
  CHECK(twice == 0);
  CHECK(runs == not_atomic);
}

TEST_CASE("run_queue: oldest first; push and pop tell full and empty; thieves take the older half") {
  detail::run_queue<int, 4> q;
  detail::run_queue<int, 4> mine;
  int items[5] = {};
  CHECK(q.pop() == nullptr);
  CHECK(q.steal_half(mine) == nullptr);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) CHECK(q.push(&items[i]));
    CHECK_FALSE(q.push(&items[4]));
    CHECK(q.look().items == 4);
    CHECK(q.steal_half(mine) == &items[0]);
    CHECK(mine.pop() == &items[1]);
    CHECK(mine.looks_empty());
    CHECK(q.pop() == &items[2]);
    CHECK(q.steal_half(mine) == &items[3]);
    CHECK(mine.looks_empty());
    CHECK(q.looks_empty());
  }
}

TEST_CASE("run_queue: every item leaves once, by the owner or a thief, with what its owner wrote before") {
  struct item {
    int number = 0;  // edge `filled`
    std::atomic<int> left{0};
  };
  constexpr int thieves = 2;
  const int count = 20'000 * effort;
  detail::run_queue<item, 4> q;
  std::vector<item> items(static_cast<std::size_t>(count));
  std::atomic<bool> over{false};
  std::atomic<long> sum{0};
  const auto take = [&](item& got) {
    got.left.fetch_add(1, std::memory_order_relaxed);
    sum.fetch_add(got.number, std::memory_order_relaxed);
  };
  std::vector<std::thread> team;
  for (int t = 0; t < thieves; ++t) {
    team.emplace_back([&] {
      detail::run_queue<item, 4> mine;
      while (!over.load(std::memory_order_acquire) || !q.looks_empty()) {
        auto* got = q.steal_half(mine);
        if (got == nullptr) std::this_thread::yield();  // where there is one CPU, another thread needs it
        for (; got != nullptr; got = mine.pop()) take(*got);
      }
    });
  }
  long expected = 0;
  for (auto& one : items) {
    one.number = static_cast<int>(&one - items.data()) % 1000;
    expected += one.number;
    while (!q.push(&one)) {
      if (one.number % 2 != 0) {
        std::this_thread::yield();  // until a thief has been here
      } else if (auto* got = q.pop()) {
        take(*got);
      }
    }
  }
  while (auto* got = q.pop()) take(*got);
  over.store(true, std::memory_order_release);
  for (auto& t : team) t.join();
  CHECK(std::all_of(items.begin(), items.end(), [](const auto& i) { return i.left == 1; }));
  CHECK(sum == expected);
}

// `filled` is relaxed: only the two queues order the first thread and the last one.
TEST_CASE("run_queue: what is stolen twice comes with what its first owner wrote before") {
  detail::run_queue<int, 4> first;
  detail::run_queue<int, 4> second;
  std::array<int, 4> items{};
  std::atomic<bool> filled{false};
  int seen = 0;
  const auto steal = [](auto& from, auto& mine) {
    for (;;) {
      if (auto* const got = from.steal_half(mine)) return got;
      std::this_thread::yield();
    }
  };
  std::thread thief([&] {
    while (!filled.load(std::memory_order_relaxed)) std::this_thread::yield();
    static_cast<void>(steal(first, second));  // one more goes to `second`
  });
  std::thread last([&] {
    detail::run_queue<int, 4> third;
    seen = *steal(second, third);
  });
  for (auto& i : items) {
    i = 7;  // plain: edge `filled`
    CHECK(first.push(&i));
  }
  filled.store(true, std::memory_order_relaxed);
  thief.join();
  last.join();
  CHECK(seen == 7);
}

TEST_CASE("send: a message sent twice in some order only is found by exploring, and found again") {
  const auto program = [] {
    // `first` sends the ball to `goal`; `second` does so too if `goal` has not had it yet: a mistake, that needs the
    // order first, second, goal.
    struct player : actor {
      engine* e = nullptr;
      message* ball = nullptr;
      player* goal = nullptr;
    };
    engine e;
    message ball;
    message whistle[3];
    player first;
    player goal;
    player second;
    for (player* p : {&first, &goal, &second}) {
      p->e = &e;
      p->ball = &ball;
      p->goal = &goal;
    }
    first.recv = [](message&, actor& self) {
      auto& me = static_cast<player&>(self);
      send(*me.e, *me.ball, *me.goal);
    };
    second.recv = [](message&, actor& self) {
      auto& me = static_cast<player&>(self);
      if (!access(*me.ball, *me.goal)) send(*me.e, *me.ball, *me.goal);
    };
    goal.recv = [](message&, actor&) {};
    send(e, whistle[0], first);
    send(e, whistle[1], goal);
    send(e, whistle[2], second);
    run(e, 1);
  };
  const auto how = GENERATE(shunt::test::policy::random, shunt::test::policy::exhaustive);
  const auto found = shunt::test::explore(program, 1'000, {.how = how});
  CAPTURE(found.schedule, found.failure);
  REQUIRE_FALSE(found.schedule.empty());
  CHECK_THAT(found.failure, Contains("send to actor") && Contains("the message is"));
  CHECK(shunt::test::explore(program, 1, {.schedule = found.schedule}).failure == found.failure);
  // In the order of the queue nothing is wrong.
  CHECK(shunt::test::explore(program, 1, {.schedule = "path:"}).failure == "");
}
