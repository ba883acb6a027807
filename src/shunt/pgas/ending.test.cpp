// A selector's end as a future: ending().
//
// Broken on purpose, one at a time, and seen red: no marks of the whole selector; hop 0 only; marks before the last
// mailbox has ended; end_everywhere() without the wait for marks; no entry of agreement::passed().
#include <support/jobs.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>
#include <shunt/sched/explore/explore.hpp>
#include <shunt/task.hpp>
#include <support/slowly.hpp>

using namespace shunt;
using namespace shunt::testing;
using namespace std::chrono_literals;
using Catch::Contains;
using Catch::StartsWith;

namespace {

using cell = pgas::symmetric<long>;

/// Sends n messages to each PE, each of which sends one on through mailbox 1.
template <class Selector>
void send_pairs(Selector& s, const pgas::pe& me, int n) {
  for (int i = 0; i < n; ++i) {
    for (int to = 0; to < me.count(); ++to) {
      s.template send<0>(to, [](long& part, auto& here) {
        ++part;
        here.template send<1>((here.index() + 1) % here.count(), [](long& next) { next += 1000; });
      });
    }
  }
}

/// Two mailboxes: what comes to the first goes on to the second of the next PE.
struct pairs : pgas::selector<pairs, int, long> {
  explicit pairs(pgas::pe& me, std::atomic<long>& processed) : selector(me), all(processed) {}
  void process(int n) { send<1>((me().index() + 1) % me().count(), long{n}); }
  void process(long n) { all.fetch_add(n, std::memory_order_relaxed); }
  std::atomic<long>& all;  // of all PEs: this process
};

shunt::coroutine_task<long> part_after(shunt::future<void> end, const cell& part) {
  co_await end;
  co_return *part;
}

}  // namespace

TEST_CASE("ending(): the future is satisfied when all messages have been processed, on every PE") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 4, 7);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  const int n = pes > 7 ? 3 : 40;
  std::atomic<long> processed{0};
  pgas::run(small(pes, workers, hops), [&](pgas::pe& me) {
    for (int round = 1; round <= 3; ++round) {
      pairs s(me, processed);
      for (int i = 0; i < n; ++i) {
        for (int to = 0; to < me.count(); ++to) s.send<0>(to, 1);
      }
      const auto end = s.ending();
      end.get();
      const long all = processed.load(std::memory_order_relaxed);
      const long wanted = long{round} * n * me.count() * me.count();
      expect(all == wanted, "processed " + std::to_string(all) + " of " + std::to_string(wanted));
      me.barrier();
    }
  });
}

TEST_CASE("ending(): meanwhile the program computes, runs other selectors and collectives; several end at once") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  CAPTURE(workers, hops);
  pgas::run(small(4, workers, hops), [](pgas::pe& me) {
    cell first(me), second(me), third(me);
    auto a = pgas::make_selector<2>(first);
    auto b = pgas::make_selector<2>(second);
    pgas::actor_of c(third);
    send_pairs(a, me, 30);
    const auto end_of_a = a.ending();
    send_pairs(b, me, 20);
    const auto end_of_b = b.ending();
    for (int epoch = 1; epoch <= 2; ++epoch) {
      for (int i = 0; i < 50; ++i) c.send(i % 4, [](long& n) { ++n; });
      c.finish();
    }
    expect(me.sum(*third) == 4 * 100);
    shunt::when_all(end_of_a, end_of_b).get();
    expect(*first == 4 * 30 * 1001 && *second == 4 * 20 * 1001);
  });
}

TEST_CASE("ending(): then, a coroutine, a time and a stop token") {
  const int workers = GENERATE(1, 2);
  pgas::run(small(4, workers), [](pgas::pe& me) {
    cell part(me);
    auto s = pgas::make_selector<2>(part);
    send_pairs(s, me, 10);
    const auto end = s.ending();
    std::stop_source stop;
    stop.request_stop();
    const bool in_time = end.wait(stop.get_token());  // returns at once
    expect(!in_time || *part == 4 * 10 * 1001);
    expect(!end.wait_for(0ns) || *part == 4 * 10 * 1001);
    const auto doubled = shunt::then(end, [&part] { return 2 * *part; });
    expect(doubled.get() == 2 * 4 * 10 * 1001);
    shunt::finish([&] { expect(shunt::start(part_after(end, part)).get() == 4 * 10 * 1001); });
    expect(end.ready());
  });
}

TEST_CASE("ending(): a PE that is late keeps the futures of all others waiting") {
  const int workers = GENERATE(1, 2, 4);
  std::atomic<bool> late_has_called{false};
  pgas::run(tiny(4, workers), [&](pgas::pe& me) {
    cell part(me), answer(me);
    pgas::actor_of s(part);
    pgas::actor_of ask(answer);
    if (me.index() % 2 == 0) {
      // Of another worker, where there are several: its PEs have called, and use another actor.
      s.send(3, [](long& n) { ++n; });
    }
    if (me.index() == 3) {
      for (int i = 0; i < 20; ++i) static_cast<void>(ask.fetch(0, [](const long& n) { return n; }));
      late_has_called = true;
    }
    const auto end = s.ending();
    expect(late_has_called || !end.ready());
    end.get();
    expect(late_has_called, "the future was satisfied before PE 3 had called");
    expect(me.sum(*part) == 2);
  });
}

TEST_CASE("ending(): shunt::finish waits for it, also where the future is dropped") {
  const int workers = GENERATE(1, 2);
  pgas::run(small(4, workers), [](pgas::pe& me) {
    cell part(me);
    auto s = pgas::make_selector<2>(part);
    shunt::finish([&] {
      send_pairs(s, me, 25);
      static_cast<void>(s.ending());
    });
    expect(*part == 4 * 25 * 1001);
  });
}

TEST_CASE("ending(): shunt::finish waits also where only a second call lies in it") {
  const int workers = GENERATE(1, 2);
  pgas::run(small(4, workers), [](pgas::pe& me) {
    cell part(me);
    auto s = pgas::make_selector<2>(part);
    send_pairs(s, me, 25);
    static_cast<void>(s.ending());
    shunt::finish([&] { static_cast<void>(s.ending()); });
    expect(*part == 4 * 25 * 1001);
  });
}

TEST_CASE("ending(): a dropped future: the destructor waits; finish() waits; a second call returns the same") {
  const int workers = GENERATE(1, 2);
  const bool finishes = GENERATE(false, true);
  pgas::run(small(4, workers), [finishes](pgas::pe& me) {
    cell part(me);
    {
      auto s = pgas::make_selector<2>(part);
      send_pairs(s, me, 25);
      static_cast<void>(s.ending());
      static_cast<void>(s.ending());
      if (finishes) {
        s.finish();
        expect(s.ending().ready());
        expect(*part == 4 * 25 * 1001);
      }
    }
    expect(*part == 4 * 25 * 1001);
  });
}

TEST_CASE("ending(): epochs that finish() ends come before; tasks of the PE send in the last one") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  pgas::run(small(4, workers, hops), [](pgas::pe& me) {
    cell part(me);
    auto s = pgas::make_selector<2>(part);
    for (int epoch = 0; epoch < 3; ++epoch) {
      send_pairs(s, me, 10);
      s.finish();
    }
    shunt::finish([&] {
      for (int t = 0; t < 8; ++t) shunt::async([&] { send_pairs(s, me, 1); });
    });
    s.ending().get();
    expect(*part == 4 * 38 * 1001);
  });
}

TEST_CASE("ending(): what is sent afterwards is refused") {
  const int workers = GENERATE(1, 2);
  const auto message = failure_of(tiny(4, workers), [](pgas::pe& me) {
    cell part(me);
    pgas::actor_of s(part);
    s.send(0, [](long& n) { ++n; });
    s.ending().get();
    if (me.index() == 1) s.send(0, [](long& n) { ++n; });
    me.barrier();
  });
  CHECK_THAT(message, StartsWith("PE 1: send to mailbox 0 of ") && Contains("after done() or ending()"));
}

TEST_CASE("ending(): what is sent before the end is refused as well, to any mailbox, into an open batch too") {
  const int workers = GENERATE(1, 2);
  const int mailbox = GENERATE(0, 1);
  const auto message = failure_of(small(4, workers), [mailbox](pgas::pe& me) {
    cell part(me);
    auto s = pgas::make_selector<2>(part);
    const auto send = [&](int to) {
      if (mailbox == 0) s.send<0>(to, [](long& n) { ++n; });
      if (mailbox == 1) s.send<1>(to, [](long& n) { ++n; });
    };
    for (int i = 0; i < 10; ++i) send(i % 4);
    s.done<0>();
    const auto end = s.ending();
    if (me.index() == 1) send(0);
    end.get();
  });
  CHECK_THAT(message, StartsWith("PE 1: send to mailbox " + std::to_string(mailbox) + " of ") &&
                          Contains("after done() or ending()"));
}

TEST_CASE("ending(): an object that is destroyed before its end fails the job") {
  const int workers = GENERATE(1, 2);
  std::atomic<long> processed{0};
  const auto message = failure_of(tiny(2, workers), [&](pgas::pe& me) {
    cell answer(me);
    pgas::actor_of ask(answer);
    {
      pairs s(me, processed);
      s.send<0>(0, 1);
      static_cast<void>(s.ending());
    }
    static_cast<void>(ask.fetch(1 - me.index(), [](const long& n) { return n; }));
  });
  CHECK_THAT(message, Contains("pairs is destroyed before its end; wait for ending() first"));
}

TEST_CASE("ending(): PEs that disagree are told so") {
  const int workers = GENERATE(1, 2, 4);
  const std::string other = GENERATE("finish()", "barrier()", "the end of the program", "ending() of selector 2");
  CAPTURE(workers, other);
  const auto message = failure_of(tiny(4, workers), [&](pgas::pe& me) {
    cell part(me);
    struct counter : pgas::actor<counter, int> {
      explicit counter(pgas::pe& of) : actor(of) {}
      void process(int) {}
    };
    counter s(me), t(me);
    if (me.index() != 2) {
      s.ending().get();
      me.barrier();
    } else if (other == "finish()") {
      s.finish();
    } else if (other == "barrier()") {
      me.barrier();
    } else if (other == "ending() of selector 2") {
      t.ending().get();
      me.barrier();
    }
  });
  if (other == "the end of the program") {  // on one worker its objects go while the selector ends
    CHECK_THAT(message, StartsWith("PE ") && (Contains("in ending() of selector 1") || Contains("before its end")));
  } else {
    CHECK_THAT(message,
               StartsWith("PE ") && Contains("PEs disagree: one is ") && Contains("in ending() of selector 1"));
  }
}

TEST_CASE("ending(): PEs that made other calls before are told so by the next one, though it is the same") {
  const int workers = GENERATE(1, 2, 4);
  const std::string next = GENERATE("barrier()", "reduce()");
  const bool in_other_order = GENERATE(false, true);
  CAPTURE(workers, next, in_other_order);
  const auto message = failure_of(tiny(4, workers), [&](pgas::pe& me) {
    cell part(me);
    pgas::actor_of s(part), t(part);
    shunt::future<void> first, second;
    if (me.index() != 2) first = s.ending();
    if (in_other_order) {
      second = t.ending();
      if (me.index() == 2) first = s.ending();
    }
    if (next == "barrier()") me.barrier();
    if (next == "reduce()") static_cast<void>(me.sum(1));
    if (first.valid()) first.get();
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("PEs disagree: one is "));
}

TEST_CASE("ending(): an object that goes by an exception before its end fails the job, caught or not") {
  const int workers = GENERATE(1, 2);
  const bool in_finish = GENERATE(false, true);
  CAPTURE(workers, in_finish);
  const auto message = failure_of(tiny(2, workers), [in_finish](pgas::pe& me) {
    cell part(me);
    const auto body = [&] {
      pgas::actor_of s(part);
      for (int i = 0; i < 100; ++i) s.send(0, [](long& n) { ++n; });
      const auto end = s.ending();
      if (me.index() == 1) throw std::runtime_error("the program's own");
      end.get();
    };
    try {
      if (in_finish) {
        shunt::finish(body);
      } else {
        body();
      }
    } catch (const std::runtime_error& own) {
      expect(own.what() == std::string("the program's own"));
    }
  });
  CHECK_THAT(message, Contains("a PE has destroyed its object before the end"));
}

TEST_CASE("ending(): a task outside any finish waits for it, and the job fails: pgas::run says why") {
  const int workers = GENERATE(1, 2);
  const auto message = failure_of(tiny(2, workers), [](pgas::pe& me) {
    cell part(me);
    pgas::actor_of s(part);
    s.send(1 - me.index(), [](long&) { throw std::runtime_error("no more"); });
    const auto end = s.ending();
    shunt::async([end] { end.get(); });
    end.get();
  });
  CHECK_THAT(message, Contains("threw: no more"));
}

TEST_CASE("ending(): a handler that throws ends the job, and all that wait for the future leave") {
  const int workers = GENERATE(1, 2, 4);
  const bool in_task = GENERATE(false, true);
  const auto message = failure_of(tiny(4, workers), [in_task](pgas::pe& me) {
    cell part(me);
    pgas::actor_of s(part);
    if (me.index() == 1) s.send(2, [](long&) { throw std::runtime_error("no more"); });
    if (in_task) {
      shunt::finish([&s] { static_cast<void>(s.ending()); });
    } else {
      s.ending().get();
    }
  });
  CHECK_THAT(message, StartsWith("PE 2: handler ") && Contains("threw: no more"));
}

TEST_CASE("ending(): a program that throws with its future open ends the job") {
  const int workers = GENERATE(1, 2);
  const auto message = failure_of(tiny(3, workers), [](pgas::pe& me) {
    cell part(me);
    pgas::actor_of s(part);
    if (me.index() != 0) {
      s.ending().get();
    } else {
      for (int i = 0; i < 100; ++i) s.send(i % 3, [](long& n) { ++n; });
      const auto end = s.ending();
      throw std::runtime_error("the program's own");
    }
  });
  CHECK(message == "PE 0: the program's own");
}

TEST_CASE("explored job: ending() is satisfied after every message, in any order") {
  const auto how = GENERATE(test::policy::random, test::policy::pct);
  const auto found = test::explore(
      [] {
        pgas::run({.pes = 3}, [](pgas::pe& me) {
          cell part(me), other(me);
          auto s = pgas::make_selector<2>(part);
          pgas::actor_of c(other);
          send_pairs(s, me, 1);
          const auto end = s.ending();
          c.send((me.index() + 1) % 3, [](long& n) { ++n; });
          c.finish();
          expect(*other == 1);
          end.get();
          expect(*part == 3 * 1001, "processed " + std::to_string(*part));
        });
      },
      200 / slowly, {.how = how});
  CHECK(found.failure == "");
}
