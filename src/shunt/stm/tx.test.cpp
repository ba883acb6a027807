#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <numeric>
#include <shunt/sched/jobs/jobs.hpp>
#include <shunt/stm.hpp>
#include <shunt/stm/detail/engine/names.hpp>
#include <shunt/stm/detail/engine/registry.hpp>
#include <stdexcept>
#include <string>
#include <support/expect.hpp>
#include <support/runtimes.hpp>
#include <support/transactions.hpp>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using shunt::atomically;
using shunt::ro_tx;
using shunt::tvar;
using shunt::tx;
namespace stm = shunt::stm;
namespace this_fiber = shunt::sched::this_fiber;
using shunt::testing::on_workers;
using shunt::testing::retries;
using shunt::testing::thrown_by;

namespace {

/// Calls a function under each setting of the policies that changes how transactions run; restores the default ones.
void under_each_policy(const std::function<void()>& body) {
  for (const auto& p :
       {stm::policies{}, stm::policies{.adapt = false, .exclusive = false}, stm::policies{.adapt = false, .workers = 1},
        stm::policies{.adapt = false, .workers = 2, .exclusive = false}, stm::policies{.queue_losers = false},
        stm::policies{.adapt = false, .oldest_first = false}}) {
    stm::set_policies(p);
    body();
  }
  stm::set_policies({});
}

struct three_words {
  long a, b, c;
};

/// Counts the objects that live.
struct counted {
  explicit counted(int v = 0) : value(v) { ++alive; }
  counted(const counted& other) : value(other.value) { ++alive; }
  counted(counted&& other) noexcept : value(other.value) { ++alive; }
  counted& operator=(const counted&) = default;
  ~counted() { --alive; }
  int value;
  static inline std::atomic<long> alive{0};
};

}  // namespace

namespace {

int count_by_function(tx& t, tvar<int>& x) {
  t.modify(x, [](int n) { return n + 1; });
  return t.read(x);
}
tvar<int> for_a_function{0};
void plain_function(tx& t) { count_by_function(t, for_a_function); }

/// As small as a body that is handed on by copy, but cannot be copied.
struct body_of_one_place {
  explicit body_of_one_place(tvar<int>& its) : x(&its) {}
  body_of_one_place(const body_of_one_place&) = delete;
  body_of_one_place(body_of_one_place&&) = default;
  void operator()(tx& t) const { count_by_function(t, *x); }
  tvar<int>* x;
};

}  // namespace

TEST_CASE("a body may be a function, or an object that cannot be copied") {
  tvar<int> x{0};
  atomically(plain_function);
  atomically(body_of_one_place(x));
  CHECK(for_a_function.load() == 1);
  CHECK(x.load() == 1);
}

TEST_CASE("participant: one that has never been inside does not enter as before, whatever the mode is") {
  // No other participant is inside, or enters, meanwhile. The last mode is another participant's exclusive mode.
  auto& mode = stm::detail::the_mode.now;
  const auto before = mode.load();
  for (const auto now : {stm::detail::mode_open, stm::detail::mode_changing, stm::detail::word{1} << 2 | 2}) {
    stm::detail::participant fresh(7);
    mode.store(now);
    CHECK_FALSE(fresh.try_enter_as_before(fresh.own_number()));
    fresh.leave();
  }
  mode.store(before);
}

TEST_CASE("class_record: a number of workers that the policies fix stays, whatever its ticks say") {
  stm::set_policies({.adapt = false, .workers = 1});
  stm::detail::class_record fixed(0, "a test");
  fixed.reset(stm::current_policies());
  REQUIRE(fixed.allowed() == 1);
  for (int tick = 1; tick <= 20; ++tick) {
    fixed.tick(stm::detail::time_point(tick * 2ms));
    CHECK(fixed.allowed() == 1);
  }
  stm::set_policies({});
}

TEST_CASE("class_record: threads may set the policies at the same time") {
  stm::detail::class_record record(0, "a test");
  const auto sets = [&] {
    for (int i = 0; i < 2000; ++i) record.reset({.adapt = i % 2 == 0, .workers = 2});
  };
  std::thread other(sets);
  sets();
  other.join();
  CHECK(record.allowed() == 2);
}

// Transactions that only read, and `turn`, which is relaxed, order nothing.
TEST_CASE("transaction_class: a thread that finds its record finds what the thread that made it wrote") {
  const shunt::transaction_class common("found by another thread");
  const tvar<int> one{1};
  const tvar<int> two{2};
  std::atomic<int> turn{0};
  int seen = 0;
  const auto read = [](const tvar<int>& v) { return [&v](tx& t) { return t.read(v); }; };
  const auto await = [&turn](int mine) {
    while (turn.load(std::memory_order_relaxed) != mine) std::this_thread::yield();
  };
  std::thread finds([&] {
    seen = atomically(read(two));  // it has a participant from here on
    turn.store(1, std::memory_order_relaxed);
    await(2);
    seen += atomically(common, read(two));
  });
  await(1);
  const int made = atomically(common, read(one));
  turn.store(2, std::memory_order_relaxed);
  finds.join();
  CHECK(made == 1);
  CHECK(seen == 4);
}

TEST_CASE("tvar: any value, small or large, inline or boxed, is read as it was written") {
  tvar<bool> flag{true};
  tvar<char> letter{'a'};
  tvar<float> number{1.5F};
  tvar<three_words> three{{1, 2, 3}};
  tvar<std::string> text{"one"};
  tvar<std::unique_ptr<int>> owner{std::make_unique<int>(7)};
  const auto sum = atomically([&](tx& t) {
    t.write(flag, !t.read(flag));
    t.write(letter, 'b');
    t.modify(number, [](float f) { return f * 2; });
    t.modify(three, [](three_words w) { return three_words{w.c, w.b, w.a}; });
    const std::string& before = t.read(text);
    t.write(text, before + " two");
    CHECK(before == "one");  // valid though replaced
    CHECK(t.read(text) == "one two");
    const int seven = *t.read(owner);
    t.write(owner, std::make_unique<int>(8));
    return seven + *t.read(owner);
  });
  CHECK(sum == 15);
  CHECK_FALSE(flag.load());
  CHECK(letter.load() == 'b');
  CHECK(number.load() == 3.0F);
  CHECK(three.load().a == 3);
  CHECK(three.load().c == 1);
  CHECK(text.load() == "one two");
}

TEST_CASE("tvar: single-variable operations are transactions, and inside a transaction parts of it") {
  tvar<int> x{1};
  tvar<std::string> s{"a"};
  x.store(5);
  CHECK(x.update([](int v) { return v * 2; }) == 10);
  CHECK(x.load() == 10);
  s.update([](const std::string& v) { return v + "b"; });
  CHECK(s.load() == "ab");
  CHECK_THROWS_AS(atomically([&] {
                    x.store(1);
                    CHECK(x.load() == 1);
                    s.store("gone");
                    throw std::runtime_error("undo");
                  }),
                  std::runtime_error);
  CHECK(x.load() == 10);
  CHECK(s.load() == "ab");
}

TEST_CASE("atomically: an exception undoes everything, boxes and made objects too") {
  const long before = counted::alive;
  {
    tvar<int> a{1};
    tvar<counted> b{counted(2)};
    const auto attempt = [&](int fail_at) {
      atomically([&](tx& t) {
        int step = 0;
        const auto reached = [&] {
          if (++step == fail_at) throw std::logic_error("here");
        };
        reached();
        t.write(a, 10);
        reached();
        t.write(b, counted(20));
        reached();
        t.write(b, counted(21));
        reached();
        auto* const made = t.make<counted>(3);
        reached();
        t.destroy(made);
        reached();
        t.nested([&] {
          t.write(b, counted(22));
          t.write(a, 11);
          reached();
        });
        reached();
      });
    };
    for (int fail_at = 1; fail_at <= 8; ++fail_at) {
      CHECK_THROWS_AS(attempt(fail_at), std::logic_error);
      CHECK(a.load() == 1);
      CHECK(b.load().value == 2);
      CHECK(counted::alive == before + 1);
    }
    attempt(0);
    CHECK(a.load() == 11);
    CHECK(b.load().value == 22);
  }
  stm::tx_quiesce();
  CHECK(counted::alive == before);
}

TEST_CASE("atomically: inside a transaction it is a part of that one; results come out by value") {
  tvar<int> x{0};
  const std::string text = atomically([&](tx& t) {
    t.write(x, 1);
    const int inner = atomically([&](tx& u) {
      u.write(x, u.read(x) + 1);
      return u.read(x);
    });
    return std::to_string(inner);
  });
  CHECK(text == "2");
  CHECK(x.load() == 2);
  CHECK_THROWS_AS(atomically([&] { static_cast<void>(shunt::atomically_for(1ms, [&](tx& t) { t.check(false); })); }),
                  shunt::usage_error);
}

TEST_CASE("atomically: finds each of many written variables again") {
  std::vector<std::unique_ptr<tvar<int>>> all;
  for (int i = 0; i < 1000; ++i) all.push_back(std::make_unique<tvar<int>>(i));
  atomically([&](tx& t) {
    for (auto& x : all) t.write(*x, t.read(*x) + 1);
    for (auto& x : all) t.write(*x, t.read(*x) + 1);
    t.or_else(
        [&] {
          for (auto& x : all) t.write(*x, -1);
          tvar<int> more{0};
          t.retry();
        },
        [] {});
    for (int i = 0; i < 1000; ++i) CHECK(t.read(*all[static_cast<std::size_t>(i)]) == i + 2);
  });
  for (int i = 0; i < 1000; ++i) CHECK(all[static_cast<std::size_t>(i)]->load() == i + 2);
}

TEST_CASE("or_else: the first branch's writes are gone, the outer ones stay") {
  tvar<int> a{1};
  tvar<std::string> b{"b"};
  const int taken = atomically([&](tx& t) {
    t.write(a, 2);
    t.write(b, std::string("outer"));
    return t.or_else(
        [&](tx& u) -> int {
          u.write(a, 3);
          u.write(b, std::string("inner"));
          u.retry();
        },
        [&] {
          CHECK(t.read(a) == 2);
          CHECK(t.read(b) == "outer");
          return 2;
        });
  });
  CHECK(taken == 2);
  CHECK(a.load() == 2);
  CHECK(b.load() == "outer");
}

TEST_CASE("nested: an exception that is caught outside undoes the part only") {
  tvar<int> a{1}, b{1};
  atomically([&](tx& t) {
    t.write(a, 2);
    try {
      t.nested([&] {
        t.write(a, 3);
        t.write(b, 3);
        t.commute(b, [](int v) { return v + 100; });
        throw std::runtime_error("part");
      });
    } catch (const std::runtime_error&) {
    }
    CHECK(t.read(a) == 2);
    CHECK(t.read(b) == 1);
  });
  CHECK(a.load() == 2);
  CHECK(b.load() == 1);
}

TEST_CASE("commute: is applied at the commit, in order, or by an earlier read") {
  tvar<int> x{1};
  tvar<std::string> s{"a"};
  atomically([&](tx& t) {
    t.commute(x, [](int v) { return v + 1; });
    t.commute(x, [](int v) { return v * 10; });
    t.commute(s, [](const std::string& v) { return v + "b"; });
    t.commute(s, [](const std::string& v) { return v + "c"; });
  });
  CHECK(x.load() == 20);
  CHECK(s.load() == "abc");
  atomically([&](tx& t) {
    t.commute(x, [](int v) { return v + 1; });
    t.commute(s, [](const std::string& v) { return v + "d"; });
    CHECK(t.read(x) == 21);
    CHECK(t.read(s) == "abcd");
    t.commute(x, [](int v) { return v + 1; });
  });
  CHECK(x.load() == 22);
  CHECK(s.load() == "abcd");
  atomically([&](tx& t) {  // several at one variable, then a read
    t.commute(x, [](int v) { return v + 1; });
    t.commute(x, [](int v) { return v * 2; });
    t.commute(x, [](int v) { return v - 24; });
    t.commute(s, [](const std::string& v) { return v + "e"; });
    t.commute(s, [](const std::string& v) { return v + "f"; });
    CHECK(t.read(x) == 22);
    CHECK(t.read(s) == "abcdef");
    t.write(s, std::string("abcd"));
  });
  CHECK(x.load() == 22);
  CHECK(s.load() == "abcd");
  CHECK_THROWS_AS(atomically([&](tx& t) {
                    t.write(s, std::string("gone"));
                    t.commute(x, [](int) -> int { throw std::runtime_error("no"); });
                  }),
                  std::runtime_error);
  CHECK(x.load() == 22);
  CHECK(s.load() == "abcd");
}

TEST_CASE("on_commit: is called once, after the commit; on_abort: when the attempt is undone") {
  tvar<int> x{0};
  std::string log;
  atomically([&](tx& t) {
    t.on_commit([&] {
      log += 'c';
      CHECK(x.load() == 1);
    });
    t.on_abort([&] { log += 'x'; });
    t.write(x, 1);
  });
  CHECK(log == "c");
  log.clear();
  CHECK_THROWS_AS(atomically([&](tx& t) {
                    t.on_commit([&] { log += 'c'; });
                    t.on_abort([&] { log += '1'; });
                    t.on_abort([&] { log += '2'; });
                    throw std::runtime_error("undo");
                  }),
                  std::runtime_error);
  CHECK(log == "21");
}

TEST_CASE("irrevocable: runs once, without others") {
  tvar<int> x{0};
  int runs = 0;
  atomically(shunt::irrevocable, [&](tx& t) {
    ++runs;
    CHECK(t.irrevocable());
    t.write(x, 1);
  });
  CHECK(runs == 1);
  runs = 0;
  int after = 0;
  atomically([&](tx& t) {
    ++runs;
    t.write(x, t.read(x) + 1);
    t.become_irrevocable();
    ++after;
  });
  CHECK(runs == 2);
  CHECK(after == 1);
  CHECK(x.load() == 2);
}

TEST_CASE("a body that waits or spawns gets an exception that names the call") {
  shunt::sched::runtime rt({.workers = 1});
  rt.run([&] {
    tvar<int> x{0};
    const auto refused = [&](const std::function<void()>& what) {
      return thrown_by<shunt::blocking_in_transaction>([&] {
        atomically([&](tx& t) {
          t.write(x, 1);
          what();
        });
      });
    };
    CHECK_THAT(refused([] { this_fiber::yield(); }), Catch::StartsWith("yield: called inside a transaction"));
    CHECK_THAT(refused([] { this_fiber::park(); }), Catch::StartsWith("park: called inside a transaction"));
    CHECK_THAT(refused([] { this_fiber::sleep_for(1ms); }),
               Catch::StartsWith("sleep_for: called inside a transaction"));
    CHECK_THAT(refused([] { this_fiber::sleep_until(shunt::sched::after(1ms)); }),
               Catch::StartsWith("sleep_until: called inside a transaction"));
    CHECK_THAT(refused([] { static_cast<void>(this_fiber::park_until(shunt::sched::after(1ms))); }),
               Catch::StartsWith("park_until: called inside a transaction"));
    CHECK_THAT(refused([&] { rt.spawn([] {}); }), Catch::StartsWith("spawn: called inside a transaction"));
    CHECK(x.load() == 0);
    this_fiber::yield();  // allowed again
  });
}

TEST_CASE("retry: parks until a variable that was read has been committed to") {
  on_workers([] {
    auto& rt = shunt::sched::this_worker::current();
    tvar<int> stage{0};
    tvar<std::string> word{""};
    std::atomic<int> ended{0};
    for (int i = 1; i <= 20; ++i) {
      rt.spawn([&, i] {
        atomically([&](tx& t) {
          t.check(t.read(stage) == i);
          t.write(word, t.read(word) + 'x');
          t.write(stage, i + 1);
        });
        ++ended;
      });
    }
    stage.store(1);
    atomically([&](tx& t) { t.check(t.read(word).size() == 20); });
    while (ended < 20) this_fiber::yield();
    CHECK(stage.load() == 21);
  });
}

TEST_CASE("retry: a deadline or a stop ends the wait without effects") {
  tvar<int> x{0};
  CHECK_FALSE(shunt::atomically_for(2ms, [&](tx& t) {
    t.write(x, 1);
    t.check(false);
  }));
  CHECK(shunt::atomically_for(1h, [&](tx& t) { return t.read(x); }) == std::optional<int>(0));
  on_workers([&] {
    auto& rt = shunt::sched::this_worker::current();
    CHECK_FALSE(shunt::atomically_for(2ms, [&](tx& t) { t.check(t.read(x) == 1); }));
    std::stop_source stop;
    const auto before = retries();
    std::atomic<bool> over{false};
    rt.spawn([&] {
      CHECK_FALSE(shunt::atomically_until(
          std::chrono::steady_clock::time_point::max(), [&](tx& t) { t.check(t.read(x) == 1); }, stop.get_token()));
      over = true;
    });
    while (retries() == before) this_fiber::yield();
    stop.request_stop();
    while (!over) this_fiber::yield();
  });
  CHECK(x.load() == 0);
  CHECK_THROWS_AS(atomically([](tx& t) { t.retry(); }), shunt::error);
}

TEST_CASE("retry: threads and fibers wait for each other") {
  tvar<int> turn{0};
  constexpr int rounds = 2000;
  std::thread plain([&] {
    for (int i = 0; i < rounds; ++i) {
      atomically([&](tx& t) {
        t.check(t.read(turn) % 2 == 1);
        t.modify(turn, [](int v) { return v + 1; });
      });
    }
  });
  shunt::sched::runtime({.workers = 1}).run([&] {
    for (int i = 0; i < rounds; ++i) {
      atomically([&](tx& t) {
        t.check(t.read(turn) % 2 == 0);
        t.modify(turn, [](int v) { return v + 1; });
      });
    }
  });
  plain.join();
  CHECK(turn.load() == 2 * rounds);
}

TEST_CASE("or_else: waits for the variables of both branches") {
  for (const int which : {0, 1}) {
    std::array<tvar<int>, 2> boxes;
    std::thread giver([&, before = retries()] {
      while (retries() == before) std::this_thread::yield();
      boxes[static_cast<std::size_t>(which)].store(5);
    });
    const auto take = [](tx& t, tvar<int>& from) {
      t.check(t.read(from) != 0);
      return t.read(from);
    };
    const int got = atomically(
        [&](tx& t) { return t.or_else([&] { return take(t, boxes[0]); }, [&] { return take(t, boxes[1]) + 1; }); });
    giver.join();
    CHECK(got == 5 + which);
  }
}

TEST_CASE("opacity: inside bodies and snapshots sums always hold, under every policy") {
  under_each_policy([] {
    constexpr int accounts = 8, fibers = 6, transfers = 3000;
    std::array<tvar<int>, accounts> money;
    std::array<tvar<std::string>, 2> names;
    tvar<three_words> wide{{0, 0, 0}};
    for (auto& m : money) m.store(100);
    std::atomic<long> wrong{0};
    const auto work = [&](unsigned seed) {
      for (int i = 0; i < transfers; ++i) {
        seed = seed * 1664525 + 1013904223;
        const auto from = (seed >> 8) % accounts, to = (seed >> 16) % accounts;
        atomically([&](tx& t) {
          int sum = 0;
          for (auto& m : money) sum += t.read(m);
          if (sum != 100 * accounts) ++wrong;
          t.modify(money[from], [](int v) { return v - 1; });
          t.modify(money[to], [](int v) { return v + 1; });
          if (i % 4 == 0) {
            const auto w = t.read(wide);
            if (w.a != w.b || w.b != w.c) ++wrong;
            t.write(wide, {w.a + 1, w.b + 1, w.c + 1});
            if (t.read(names[0]) != t.read(names[1])) ++wrong;
            t.write(names[0], std::to_string(i));
            t.write(names[1], std::to_string(i));
          }
        });
        if (i % 8 == 0) {
          const int sum = shunt::snapshot([&](ro_tx& t) {
            int s = 0;
            for (auto& m : money) s += t.read(m);
            return s;
          });
          if (sum != 100 * accounts) ++wrong;
          const auto w = wide.load();
          if (w.a != w.b || w.b != w.c) ++wrong;
          if (names[0].load().empty() && i > 8) ++wrong;
        }
      }
    };
    std::thread plain(work, 99U);
    shunt::sched::runtime rt({.workers = 2});
    rt.run([&] {
      for (int f = 0; f < fibers; ++f) rt.spawn([&, f] { work(static_cast<unsigned>(f)); }, {.worker = f % 2});
    });
    plain.join();
    CHECK(wrong == 0);
    int sum = 0;
    for (auto& m : money) sum += m.load();
    CHECK(sum == 100 * accounts);
    CHECK(wide.load().a == (fibers + 1) * transfers / 4);
  });
}

TEST_CASE("progress: a transaction that reads ten thousand variables commits against writers") {
  std::vector<std::unique_ptr<tvar<int>>> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(std::make_unique<tvar<int>>(0));
  std::atomic<bool> over{false};
  std::atomic<int> runs{0};
  shunt::sched::runtime rt({.workers = 2});
  rt.run([&] {
    for (int w = 0; w < 2; ++w) {
      rt.spawn(
          [&, w] {
            for (unsigned i = static_cast<unsigned>(w); !over; ++i) {
              all[i * 7919 % all.size()]->update([](int v) { return v + 1; });
              if (i % 1024 == 0) this_fiber::yield();
            }
          },
          {.worker = w});
    }
    rt.spawn(
        [&] {
          static_cast<void>(atomically([&](tx& t) {
            ++runs;
            long sum = 0;
            for (auto& x : all) sum += t.read(*x);
            t.write(*all[0], 0);
            return sum;
          }));
          over = true;
        },
        {.worker = 1});
  });
  CHECK(runs <= 10);  // eight attempts, and an irrevocable one
}

TEST_CASE("memory: replaced boxes and destroyed objects are deleted once no other transaction can see them") {
  const long before = counted::alive;
  {
    struct node {
      tvar<int> value{1};
      counted mark{0};
    };
    tvar<node*> head{nullptr};
    std::atomic<long> wrong{0};
    shunt::sched::runtime rt({.workers = 2});
    rt.run([&] {
      for (int f = 0; f < 4; ++f) {
        rt.spawn(
            [&] {
              for (int i = 0; i < 5000; ++i) {
                atomically([&](tx& t) {
                  if (node* const n = t.read(head)) {
                    if (t.read(n->value) != 1) ++wrong;
                    t.write(n->value, 2);
                    t.destroy(n);
                  }
                  t.write(head, t.make<node>());
                });
              }
            },
            {.worker = f % 2});
      }
    });
    CHECK(wrong == 0);
    delete head.load();
  }
  stm::tx_quiesce();
  CHECK(counted::alive == before);
}

TEST_CASE("snapshot: a transaction inside it is refused; another snapshot and load() are not") {
  tvar<int> x{1};
  CHECK(shunt::snapshot([&](ro_tx& t) {
          return t.read(x) + x.load() + shunt::snapshot([&](ro_tx& u) { return u.read(x); });
        }) == 3);
  CHECK_THROWS_AS(shunt::snapshot([&](ro_tx& t) {
                    x.store(2);
                    return t.read(x);
                  }),
                  shunt::usage_error);
  CHECK(x.load() == 1);
}

TEST_CASE("a body that catches conflicts and goes on is run again all the same") {
  const shunt::testing::side_by_side allowed;
  tvar<int> x{0}, y{0};
  int runs = 0;
  atomically([&](tx& t) {
    ++runs;
    static_cast<void>(t.read(x));
    if (runs == 1)
      std::thread([&] {
        atomically([&](tx& u) {
          u.write(x, 1);
          u.write(y, 1);
        });
      }).join();
    int seen = -1;
    try {
      seen = t.read(y);
    } catch (...) {
      t.write(x, 100);
    }
    if (seen != t.read(x)) throw std::logic_error("an inconsistent view");
  });
  CHECK(runs == 2);
  CHECK(x.load() == 1);
}

TEST_CASE("statistics: commits by class, by place or by name") {
  shunt::transaction_class named("a named class");
  tvar<int> x{0};
  for (int i = 0; i < 10; ++i) atomically(named, [&](tx& t) { t.modify(x, [](int v) { return v + 1; }); });
  const auto s = stm::collect_statistics();
  const auto mine =
      std::find_if(s.classes.begin(), s.classes.end(), [](const auto& c) { return c.name == "a named class"; });
  REQUIRE(mine != s.classes.end());
  CHECK(mine->commits == 10);
  CHECK_THAT(to_text(s), Catch::Contains("a named class"));
}

TEST_CASE("named: reports of waits that nothing will end, and of lost attempts, name the variables") {
  struct shop {
    tvar<int> stock{0};
    tvar<int> orders{0};
  } ours;
  tvar<int> other{0};
  std::string told;
  // The whole, and a part that begins where it does: the innermost name counts.
  const stm::named of_shop(ours, "the shop");
  {
    const stm::named of_stock(ours.stock, "stock");
    shunt::sched::runtime one({.workers = 1, .stuck_after = 10ms, .report = [&](std::string_view text) {
                                 told = text;
                                 std::thread([&] { ours.stock.store(1); }).join();
                               }});
    one.run(
        [&] { atomically([&](tx& t) { t.check(t.read(other) + t.read(ours.orders) + t.read(ours.stock) != 0); }); });
  }
  CAPTURE(told);
  CHECK(told.find("waits for a commit to what tx.test.cpp:") != std::string::npos);
  CHECK((told.find("has read: `stock`, `the shop`; ") != std::string::npos ||
         told.find("has read: `the shop`, `stock`; ") != std::string::npos));
  CHECK_THROWS_AS(stm::named(ours, "again"), shunt::usage_error);

  stm::detail::names some;
  some.add(&ours, sizeof ours, "a");
  CHECK(some.of(&ours.orders) == "a");
  CHECK(some.of(&other) == "");
  some.remove(&ours, sizeof ours);
  CHECK(some.of(&ours.orders) == "");
}

TEST_CASE("statistics: the commits of each class are exact where classes take turns in one thread") {
  const shunt::transaction_class even("even ones"), odd("odd ones"), seldom("seldom ones");
  const auto commits = [](const std::string& name) {
    const auto s = stm::collect_statistics();
    const auto found = std::find_if(s.classes.begin(), s.classes.end(), [&](const auto& c) { return c.name == name; });
    return found == s.classes.end() ? 0 : found->commits;
  };
  tvar<int> x{0};
  const auto add = [&](tx& t) { t.modify(x, [](int v) { return v + 1; }); };
  constexpr int rounds = 1001;
  const auto work = [&] {
    for (int i = 0; i < rounds; ++i) {
      atomically(i % 2 == 0 ? even : odd, add);
      if (i % 100 == 0) {
        atomically(seldom, add);
        CHECK_THROWS(atomically(seldom, [&](tx& t) {
          add(t);
          throw std::runtime_error("counts for nothing");
        }));
      }
    }
  };
  work();
  CHECK(commits("even ones") == 501);
  CHECK(commits("odd ones") == 500);
  CHECK(commits("seldom ones") == 11);
  std::thread(work).join();
  shunt::sched::runtime({.workers = 1}).run(work);
  CHECK(commits("even ones") == 3 * 501);
  CHECK(commits("odd ones") == 3 * 500);
  CHECK(commits("seldom ones") == 3 * 11);
  CHECK(x.load() == 3 * (rounds + 11));
}

TEST_CASE("participants: a thread that has ended is not counted, and the next one takes its place") {
  auto& all = stm::detail::the_registry();
  const auto ever = [&] {
    int n = 0;
    for (const auto* p = all.first(); p != nullptr; p = p->next) ++n;
    return n;
  };
  tvar<int> x{0};
  x.store(1);
  const int before = all.alive();
  int meanwhile = 0;
  const auto visit = [&] {
    x.store(2);
    meanwhile = all.alive();
  };
  std::thread(visit).join();
  CHECK(meanwhile == before + 1);
  CHECK(all.alive() == before);
  const int made = ever();
  for (int i = 0; i < 3; ++i) {
    std::thread(visit).join();
    CHECK(meanwhile == before + 1);
    CHECK(all.alive() == before);
  }
  CHECK(ever() == made);
}

TEST_CASE(
    "retry: in exclusive mode, where reads are not logged, the body runs again with a log, and then waits for them") {
  tvar<int> x{0}, y{0};
  int runs = 0;
  bool without_log = false;
  shunt::sched::runtime rt({.workers = 1});
  rt.run([&] {
    // Once a class has waited it logs all reads: so each round has a new class. Now and then one logs all the same.
    for (int i = 0; i < 20; ++i) {
      const std::string name = "waits in exclusive mode " + std::to_string(i);
      const shunt::transaction_class waits(name.c_str());
      const auto wait_for_x = [&] {
        return atomically(waits, [&](tx& t) {
          ++runs;
          t.check(t.read(x) != 0);
          return t.read(x) + t.read(y);
        });
      };
      x.store(1);
      CHECK(wait_for_x() == 1);
      // In exclusive mode a commit does not change the clock.
      for (auto before = ~stm::detail::word{0}; before != stm::detail::the_clock.now.load();) {
        before = stm::detail::the_clock.now.load();
        x.store(0);
      }
      rt.spawn([&] { x.store(1); });  // runs once the transaction waits
      runs = 0;
      CHECK(wait_for_x() == 1);
      CHECK(runs <= 3);  // without a log, with a log, and when x has changed
      without_log = without_log || runs == 3;
    }
  });
  CHECK(without_log);
}

namespace {

/// Without other participants: calls `body` until a transaction has found exclusive mode a hundred times.
void in_exclusive_mode(const std::function<void()>& body) {
  tvar<int> x{0};
  shunt::sched::runtime rt({.workers = 1});
  rt.run([&] {
    for (int found = 0; found < 100;) {
      body();
      const bool exclusive = atomically([&](tx& t) {
        t.modify(x, [](int n) { return n + 1; });
        return stm::detail::the_mode.now.load() != stm::detail::mode_open;
      });
      found += exclusive ? 1 : 0;
    }
  });
}

}  // namespace

TEST_CASE("exclusive mode: a body that has caught a conflict reads no more") {
  tvar<int> x{0};
  int caught = 0;
  in_exclusive_mode([&] {
    atomically([&](tx& t) {
      if (t.irrevocable()) return;
      CHECK(t.read(x) == 0);
      try {
        t.become_irrevocable();
      } catch (const stm::detail::conflict&) {
        ++caught;
        CHECK_THROWS_AS(static_cast<void>(t.read(x)), stm::detail::conflict);
      }
    });
  });
  CHECK(caught >= 100);
}

TEST_CASE("exclusive mode: a transaction and a snapshot in it see what it has written, whichever variables") {
  constexpr int count = 128;  // more than the bits of the write log's filter
  std::vector<tvar<int>> all(count);
  in_exclusive_mode([&] {
    atomically([&](tx& t) {
      shunt::snapshot([&](ro_tx& r) {
        CHECK(r.read(all[0]) == 0);
        t.write(all[0], 1);
        CHECK(r.read(all[0]) == 1);
      });
      for (int i = 0; i < count; ++i) t.write(all[static_cast<std::size_t>(i)], i);
      for (int i = 0; i < count; ++i) CHECK(t.read(all[static_cast<std::size_t>(i)]) == i);
    });
    for (int i = 0; i < count; ++i) {
      auto& one = all[static_cast<std::size_t>(i)];
      CHECK(atomically([&](tx& t) {
              CHECK(t.read(one) == i);
              t.write(one, 0);
              return t.read(one);
            }) == 0);
    }
  });
}

TEST_CASE("a fiber may wait, spawn and push jobs between transactions, and not inside them") {
  tvar<int> x{0};
  shunt::sched::runtime rt({.workers = 1});
  rt.run([&] {
    for (int i = 0; i < 3; ++i) {
      x.update([](int v) { return v + 1; });
      CHECK(this_fiber::may_wait());
      this_fiber::yield();
      x.update([](int v) { return v + 1; });
      static_cast<void>(this_fiber::park_until(shunt::sched::after(1us), "a test"));
      x.update([](int v) { return v + 1; });
      rt.spawn([] {});
      x.update([](int v) { return v + 1; });
      CHECK(shunt::sched::job_deque::runs_dry_elsewhere());  // false where pushing is refused
      CHECK_THROWS_AS(atomically([&](tx& t) {
                        t.write(x, 0);
                        CHECK(!this_fiber::may_wait());
                        this_fiber::yield();
                      }),
                      shunt::blocking_in_transaction);
      CHECK_THROWS_AS(atomically([&] { rt.spawn([] {}); }), shunt::blocking_in_transaction);
    }
  });
  CHECK(x.load() == 12);
}

TEST_CASE("a ban on waits from before a transaction is in force after it") {
  tvar<int> x{0};
  shunt::sched::runtime({.workers = 1}).run([&] {
    const shunt::testing::no_waiting guard;
    x.store(1);
    CHECK(shunt::sched::this_worker::forbid_wait(&guard) != &guard);
    x.store(2);
    CHECK_THROWS_AS(this_fiber::yield(), shunt::testing::refused);
    CHECK_THROWS_AS(atomically([&] { this_fiber::yield(); }), shunt::blocking_in_transaction);
    CHECK_THROWS_AS(this_fiber::yield(), shunt::testing::refused);
    CHECK(shunt::sched::this_worker::forbid_wait(nullptr) == &guard);
    this_fiber::yield();
  });
}
