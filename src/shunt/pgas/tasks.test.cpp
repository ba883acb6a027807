// Tasks of a PE send through its actors, on whatever worker they run: each message is handled once, before finish()
// returns. A fiber that is pinned to another PE's worker forces what a task meets there by chance.
//
// Broken on purpose, one at a time, and seen red: lends() without its look at `closed` ("a worker whose PEs are done"
// hangs, as the end mark announced too few); requests lent too ("requests"); done() without task_sends::finish() ("a
// worker whose PEs are done", refused); `sender_bits` without the worker's number ("requests", several PEs a worker).
#include <support/jobs.hpp>

#include <atomic>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

using counts = pgas::symmetric<std::vector<long>>;
constexpr std::size_t spots = 64;

/// Runs `body` in a fiber of the worker where PE `of` lives, and waits for its end.
void in_a_fiber_of(const pgas::pe& me, int of, const std::function<void()>& body) {
  sched::waiter over;
  sched::this_worker::current().spawn(
      [&] {
        body();
        over.wake();
      },
      {.worker = of * sched::this_worker::current().workers() / me.count()});
  over.wait("a fiber elsewhere", "test");
}

struct takes : pgas::selector<takes, long, pgas::varying<char>> {
  explicit takes(pgas::pe& me) : selector(me) {}
  void process(long n, int from) {
    sum += n;
    senders.at(static_cast<std::size_t>(from)) += 1;
  }
  void process(std::string_view text) { letters += static_cast<long>(text.size()); }
  long sum = 0;
  long letters = 0;
  std::vector<long> senders = std::vector<long>(64);
};

}  // namespace

TEST_CASE("tasks: eight of each PE send, ask and read, and each message is handled once") {
  const auto [pes, workers] = GENERATE(std::pair(2, 2), std::pair(4, 2), std::pair(1, 2), std::pair(7, 3));
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);
  CAPTURE(pes, workers, hops, roomy);
  constexpr int tasks = 8, each = 100;
  for (int run = 0; run < 5; ++run) {
    pgas::run(roomy ? small(pes, workers, hops) : tiny(pes, workers, hops), [&](pgas::pe& me) {
      counts table(me, spots);
      pgas::symmetric<long> answers(me);
      pgas::actor_of updates(table);
      pgas::actor_of asks(answers);
      takes other(me);
      for (int epoch = 1; epoch <= 2; ++epoch) {
        finish([&] {
          for (int t = 0; t < tasks; ++t) {
            async([&, t] {
              for (int i = 0; i < each; ++i) {
                const int to = (me.index() + t + i) % me.count();
                updates.send(to, [spot = static_cast<std::size_t>(i) % spots](auto& there) { ++there[spot]; });
                other.send(to, 1L);
                if (i % 10 == 0) {
                  asks.ask(to, [](long&) { return 1L; }, [](long& mine, long one) { mine += one; });
                  other.send<1>(to, std::string_view("four"));
                }
                if (i % 7 == 0) sched::this_fiber::yield();
              }
            });
          }
        });
        updates.finish();
        asks.finish();
        other.finish();
        expect(me.sum(std::accumulate(table->begin(), table->end(), 0L)) == long{epoch} * pes * tasks * each);
        expect(me.sum(other.sum) == long{epoch} * pes * tasks * each);
        expect(me.sum(other.letters) == long{epoch} * pes * tasks * each / 10 * 4);
        expect(*answers == epoch * tasks * each / 10);  // each PE gets the replies that its own tasks asked for
        for (int p = 0; p < pes; ++p) {
          expect(me.sum(other.senders[static_cast<std::size_t>(p)]) == long{epoch} * tasks * each, "from PE p");
        }
      }
    });
  }
}

TEST_CASE("tasks: on a worker whose PEs are done, what a task sends goes through its own PE's worker") {
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);
  CAPTURE(hops, roomy);
  constexpr long many = 3000;
  std::atomic<int> done_at{0};
  pgas::run(roomy ? small(2, 2, hops) : tiny(2, 2, hops), [&](pgas::pe& me) {
    counts table(me, spots);
    pgas::actor_of updates(table);
    takes other(me);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      if (me.index() == 1) {
        updates.done();
        other.done<0>();
        ++done_at;
      } else {
        in_a_fiber_of(me, 1, [&] {
          while (done_at < epoch) sched::this_fiber::yield();
          for (long i = 0; i < many; ++i) {
            updates.send(static_cast<int>(i % 2), [spot = static_cast<std::size_t>(i) % spots](auto& t) { ++t[spot]; });
            other.send(1, i);
          }
        });
      }
      updates.finish();
      other.finish();
      expect(me.sum(std::accumulate(table->begin(), table->end(), 0L)) == epoch * many);
      expect(me.sum(other.sum) == epoch * (many * (many - 1) / 2));
      expect(me.sum(other.senders[0]) == epoch * many);
      expect(me.sum(other.senders[1]) == 0);
    }
  });
}

TEST_CASE("tasks: requests of a task on another worker are answered to its own PE, also amid that worker's own") {
  const int pes = GENERATE(2, 6);  // 6: a buffer a worker, and batches of several PEs' requests
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, hops);
  pgas::run(tiny(pes, 2, hops), [&](pgas::pe& me) {
    counts table(me, spots);
    pgas::symmetric<std::vector<long>> got(me);
    pgas::actor_of reads(table, got);
    for (std::size_t i = 0; i < spots; ++i) (*table)[i] = me.index() * 1000 + static_cast<long>(i);
    me.barrier();
    const auto ask = [&](int n) {
      for (int i = 0; i < n; ++i) {
        const int to = (me.index() + i) % me.count();
        reads.ask(
            to, [spot = static_cast<std::size_t>(i) % spots](auto& there, auto&) { return there[spot]; },
            [](auto&, auto& mine, long value) { mine.push_back(value); });
        if (i % 16 == 0) sched::this_fiber::yield();
      }
    };
    const int away = (me.index() + me.count() / 2) % me.count();
    in_a_fiber_of(me, away, [&] {
      ask(200);
      expect(reads.fetch(away, [](auto& there, auto&) { return there[5]; }) == away * 1000 + 5);
    });
    ask(200);
    reads.finish();
    expect(got->size() == 400);
    long expected = 0;
    for (int i = 0; i < 200; ++i)
      expected += 2 * (((me.index() + i) % me.count()) * 1000 + i % static_cast<int>(spots));
    expect(std::accumulate(got->begin(), got->end(), 0L) == expected);
  });
}

TEST_CASE("tasks: parallel_for over what a PE sends") {
  const int pes = GENERATE(1, 2, 4);
  pgas::run(small(pes, 2), [&](pgas::pe& me) {
    counts table(me, spots);
    pgas::actor_of updates(table);
    parallel_for(0, 10'000, [&](long i) {
      updates.send(static_cast<int>(i % me.count()),
                   [spot = static_cast<std::size_t>(i) % spots](auto& t) { ++t[spot]; });
    });
    updates.finish();
    expect(me.sum(std::accumulate(table->begin(), table->end(), 0L)) == long{10'000} * pes);
  });
}

TEST_CASE("tasks: the calls that all PEs make together belong to the PE's program") {
  const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
    counts table(me, spots);
    pgas::actor_of updates(table);
    const int away = 1 - me.index();
    const auto refused = [&](const std::string& call, const std::function<void()>& by_task) {
      std::string said;
      in_a_fiber_of(me, away, [&] { said = thrown_by<usage_error>(by_task); });
      expect(said.starts_with("PE " + std::to_string(me.index()) + ": " + call + " in a task on another worker"));
    };
    refused("done()", [&] { updates.done(); });
    refused("finish()", [&] { updates.finish(); });
    refused("quiesce()", [&] { updates.quiesce(); });
    updates.finish();
  });
  CHECK(message.empty());
}

TEST_CASE("tasks: one that sends after its PE is done ends the job, with both names") {
  const auto message = failure_of(tiny(2, 2), [&](pgas::pe& me) {
    counts table(me, spots);
    pgas::actor_of updates(table);
    updates.done();
    me.barrier();
    if (me.index() == 0) {
      sched::waiter over;
      sched::this_worker::current().spawn(
          [&] {
            updates.send(1, [](auto& there) { ++there[0]; });
            over.wake();
          },
          {.worker = 1, .name = "latecomer"});
      over.wait("the latecomer", "test");
    }
    updates.finish();
  });
  CHECK_THAT(message, Catch::StartsWith("PE 0: send to mailbox 0 of ") && Catch::Contains("after done()") &&
                          Catch::Contains("tasks.test.cpp:") && Catch::Contains("a task sent it, `latecomer`"));
}

TEST_CASE("tasks: one that waits for a value leaves when the job has failed") {
  const auto message = failure_of(tiny(2, 2), [&](pgas::pe& me) {
    counts table(me, spots);
    pgas::actor_of reads(table);
    me.barrier();
    if (me.index() == 1) throw error("gives up");
    finish([&] {
      async([&] {
        for (;;) static_cast<void>(reads.fetch(1, [](auto& there) { return there[0]; }));
      });
    });
  });
  CHECK_THAT(message, Catch::StartsWith("PE 1: gives up"));
}
