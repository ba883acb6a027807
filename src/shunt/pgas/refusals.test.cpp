// What must not be done is said clearly, in bounded time, and the next job of the process works.
#include <support/jobs.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

namespace {

using cell = pgas::symmetric<long>;

/// A job that uses everything a failed one may have left behind.
void check_that_a_job_works() {
  for (const int hops : {1, 2}) {
    long sum = 0;
    CHECK(failure_of(tiny(4, 2, hops), [&](pgas::pe& me) {
            cell count(me);
            pgas::actor_of adder(count);
            for (int i = 0; i < 400; ++i) adder.send(i % 4, [](long& n) { ++n; });
            adder.finish();
            expect(*count == 400);
            const long all = me.sum(*count);
            if (me.index() == 0) sum = all;
          }) == "");
    CHECK(sum == 1600);
  }
}

int times(const std::string& text, const std::string& what) {
  int n = 0;
  for (auto p = text.find(what); p != text.npos; p = text.find(what, p + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("send: a PE that is out of range is refused where it is sent, at either end") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  const int to = GENERATE(-1, 4, 65'536, -65'536);
  const auto message = failure_of(tiny(4, workers, hops), [to](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    if (me.index() == 2) adder.send(to, [](long& n) { ++n; });
    adder.finish();
  });
  CHECK_THAT(message, StartsWith("PE 2: send to PE " + std::to_string(to) + ", but the job has PEs 0..3"));
  CHECK_THAT(message, Contains("refusals.test.cpp:"));
  check_that_a_job_works();
}

TEST_CASE("send: a program may catch what was refused, and go on") {
  CHECK(failure_of(tiny(3, 3), [](pgas::pe& me) {
          cell count(me);
          pgas::actor_of adder(count);
          for (const int to : {-1, 0, 3, 1, 2}) {
            try {
              adder.send(to, [](long& n) { ++n; });
              expect(to >= 0 && to < 3);
            } catch (const error& e) {
              expect(to < 0 || to > 2);
              expect(e.known().pe == me.index());
            }
          }
          adder.finish();
          expect(*count == 3);
        }) == "");
}

TEST_CASE("send: out of range in a handler names the handler's PE") {
  const auto message = failure_of(tiny(4, 2), [](pgas::pe& me) {
    cell count(me);
    auto s = pgas::make_selector<2>(count);
    if (me.index() == 0) s.send<0>(3, [](long&, auto& here) { here.template send<1>(4, [](long&) {}); });
    s.finish();
  });
  CHECK_THAT(message, Contains("PE 3") && Contains("send to PE 4") && Contains("handler") && Contains("lambda"));
}

TEST_CASE("send: to a mailbox that is done is refused") {
  SECTION("by the program, in any epoch") {
    const int epochs_before = GENERATE(0, 2);
    const auto message = failure_of(tiny(2, 2), [epochs_before](pgas::pe& me) {
      cell count(me);
      pgas::actor_of adder(count);
      for (int epoch = 0; epoch < epochs_before; ++epoch) {
        adder.done();
        adder.finish();
      }
      adder.send(0, [](long& n) { ++n; });
      adder.done();
      adder.done();  // twice is once
      if (me.index() == 1) adder.send(0, [](long& n) { ++n; });
      adder.finish();
    });
    CHECK_THAT(message, StartsWith("PE 1: send to mailbox 0 of") && Contains("after done()"));
  }
  SECTION("by a handler, to its own mailbox") {
    const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
      cell count(me);
      pgas::actor_of adder(count);
      // A chain that never ends: finish() closes the mailbox under it.
      struct again {
        void operator()(long& n, pgas::here_of<1, long>& here) const {
          ++n;
          here.send(1 - here.index(), *this);
        }
      };
      if (me.index() == 0) adder.send(1, again{});
      adder.finish();
    });
    CHECK_THAT(message, Contains("handler") && Contains("send to mailbox 0") && Contains("use quiesce()"));
  }
  check_that_a_job_works();
}

namespace {
struct of_two_types : pgas::selector<of_two_types, int, long> {
  of_two_types(pgas::pe& me) : selector(me) {}
  void process(int) {}
  void process(long) {}
};
}  // namespace

TEST_CASE("a mailbox chosen while running that is not there, or of another type, is refused at the call") {
  const auto refusal = [](const std::function<void(pgas::pe&)>& program) { return failure_of(tiny(2, 2), program); };
  const auto by_program = refusal([](pgas::pe& me) {
    cell count(me);
    auto s = pgas::make_selector<2>(count);
    if (me.index() == 1) s.send_through(2, 0, [](long& n) { ++n; });
  });
  CHECK_THAT(by_program, StartsWith("PE 1: send_through(): mailbox 2 of ") && Contains("which has 2, 0 the first") &&
                             Contains("refusals.test.cpp:"));
  const auto by_handler = refusal([](pgas::pe& me) {
    cell count(me);
    auto s = pgas::make_selector<2>(count);
    if (me.index() == 1) s.send(0, [](long&, auto& here) { here.send_through(5, 1, [](long& n) { ++n; }); });
  });
  CHECK_THAT(by_handler, StartsWith("PE 0: ") && Contains("send_through(): mailbox 5 of "));
  const auto other_type = refusal([](pgas::pe& me) {
    of_two_types s(me);
    if (me.index() == 0) s.send_through(1, 0, 7);
    s.finish();
  });
  CHECK_THAT(other_type, StartsWith("PE 0: send_through(): mailbox 1 of ") && Contains("carries another type"));
  const auto done = refusal([](pgas::pe& me) {
    of_two_types s(me);
    s.done(std::size_t{2});
    s.finish();
  });
  CHECK_THAT(done, Contains("done(): mailbox 2 of ") && Contains("which has 2"));
  check_that_a_job_works();
}

namespace {
struct blob_600 {
  char bytes[600];
};
struct long_message : pgas::actor<long_message, blob_600> {
  explicit long_message(pgas::pe& me) : actor(me) {}
  void process(const blob_600&) {}
};
}  // namespace

TEST_CASE("send: a message that no train can carry is refused, and names PE and lengths") {
  const int workers = GENERATE(1, 2);
  SECTION("captures") {
    const auto message = failure_of(tiny(2, workers), [](pgas::pe& me) {
      cell count(me);
      pgas::actor_of adder(count);
      if (me.index() == 1) adder.send(0, [big = blob_600{}](long& n) { n += big.bytes[0]; });
      adder.finish();
    });
    CHECK_THAT(message, StartsWith("PE 1: a message of ") && Contains("too long") && Contains("--train"));
  }
  SECTION("a class's message") {
    const auto message = failure_of(tiny(2, workers), [](pgas::pe& me) {
      long_message actor(me);
      if (me.index() == 1) actor.send(0, {});
      actor.finish();
    });
    CHECK_THAT(message, StartsWith("PE 1: a message of ") && Contains("too long"));
  }
  check_that_a_job_works();
}

TEST_CASE("ask: a reply that no train can carry is refused, and names the PE that answers") {
  const int workers = GENERATE(1, 2);
  const int hops = GENERATE(1, 2);
  const auto message = failure_of(tiny(2, workers, hops), [](pgas::pe& me) {
    cell count(me);
    pgas::actor_of asker(count);
    if (me.index() == 0)
      asker.ask(1, [](long&) { return blob_600{}; }, [](long& n, const blob_600& b) { n += b.bytes[0]; });
    asker.finish();
  });
  CHECK_THAT(message, StartsWith("PE 1: ") && Contains("a message of ") && Contains("too long"));
  check_that_a_job_works();
}

TEST_CASE("ask: what is kept for the reply, too long for a train, is refused where it is sent") {
  const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
    cell count(me);
    pgas::actor_of asker(count);
    if (me.index() == 0) asker.ask(1, [](long& n) { return n; }, [b = blob_600{}](long& n, long) { n += b.bytes[0]; });
    asker.finish();
  });
  CHECK_THAT(message, StartsWith("PE 0: a message of ") && Contains("too long"));
  check_that_a_job_works();
}

TEST_CASE("a handler that throws ends the job, with one message: application, PE, handler, what") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  auto o = tiny(4, workers, hops);
  o.name = "flights";
  SECTION("a std::exception") {
    const auto message = failure_of(o, [](pgas::pe& me) {
      cell count(me);
      pgas::actor_of adder(count);
      // Every PE sends poison, so that several handlers may throw: one message all the same.
      for (int i = 0; i < 100; ++i) {
        adder.send(3, [i](long& n) {
          ++n;
          if (i == 50) throw std::runtime_error("no such gate");
        });
      }
      adder.finish();
    });
    CHECK_THAT(message, StartsWith("flights: PE 3: handler ") && Contains("lambda") && EndsWith("threw: no such gate"));
    CHECK(times(message, "no such gate") == 1);
  }
  SECTION("anything") {
    const auto message = failure_of(o, [](pgas::pe& me) {
      cell count(me);
      pgas::actor_of adder(count);
      if (me.index() == 1) adder.send(2, [](long&) { throw 42; });
      adder.finish();
    });
    CHECK_THAT(message, StartsWith("flights: PE 2: handler ") && Contains("not a std::exception"));
  }
  check_that_a_job_works();
}

namespace {
struct thrower : pgas::selector<thrower, int, long> {
  explicit thrower(pgas::pe& me) : selector(me) {}
  void process(int) {}
  void process(long n) { throw std::out_of_range("entry " + std::to_string(n)); }
};
}  // namespace

TEST_CASE("a class's process() that throws is named by its class") {
  const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
    thrower t(me);
    t.send<0>(0, 1);
    if (me.index() == 0) t.send<1>(1, 7);
    t.finish();
  });
  CHECK_THAT(message, StartsWith("PE 1: handler ") && Contains("thrower") && EndsWith("threw: entry 7"));
}

TEST_CASE("a PE's program that throws ends the job, wherever the others wait") {
  const int workers = GENERATE(1, 2, 3);
  const auto others = GENERATE(0, 1, 2, 3, 4, 5);
  const bool known = GENERATE(true, false);
  const auto message = failure_of(tiny(3, workers), [&](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    if (me.index() == 1) {
      if (known) throw std::logic_error("not today");
      throw 1;
    }
    switch (others) {
      case 0: me.barrier(); break;
      case 1: adder.finish(); break;
      case 2: adder.quiesce(); break;
      case 3: static_cast<void>(me.sum(1)); break;
      case 4: static_cast<void>(me.gather(1)); break;
      default:
        for (;;) adder.send(1, [](long& n) { ++n; });
    }
  });
  CHECK(message == (known ? "PE 1: not today" : "PE 1: threw something that is not a std::exception"));
}

TEST_CASE("a PE's program that throws ends the job while others construct") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  const auto message = failure_of(tiny(4, workers, hops), [](pgas::pe& me) {
    cell count(me);
    pgas::actor_of first(count);
    first.finish();
    if (me.index() == 2) throw std::runtime_error("no second one");
    pgas::actor_of second(count);
    second.send(0, [](long& n) { ++n; });
  });
  CHECK(message == "PE 2: no second one");
}

TEST_CASE("what was thrown while selectors stand on the stack passes their destructors") {
  const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
    cell count(me);
    pgas::actor_of outer(count);
    pgas::actor_of inner(count);
    thrower of_a_class(me);
    outer.send(0, [](long&) {});
    if (me.index() == 0) of_a_class.send<0>(1, 1);
    throw std::runtime_error("leaving");
  });
  CHECK_THAT(message, EndsWith(": leaving"));
  check_that_a_job_works();
}

TEST_CASE("a handler that would wait is refused, and named") {
  const int workers = GENERATE(1, 2);
  struct forbidden {
    const char* name;
    void (*call)(pgas::pe&, pgas::actor_of<long>&);
  };
  const auto f = GENERATE(
      forbidden{"barrier()", [](pgas::pe& me, pgas::actor_of<long>&) { me.barrier(); }},
      forbidden{"finish()", [](pgas::pe&, pgas::actor_of<long>& a) { a.finish(); }},
      forbidden{"quiesce()", [](pgas::pe&, pgas::actor_of<long>& a) { a.quiesce(); }},
      forbidden{"fetch()",
                [](pgas::pe&, pgas::actor_of<long>& a) { static_cast<void>(a.fetch(0, [](long& n) { return n; })); }},
      forbidden{"reduce()", [](pgas::pe& me, pgas::actor_of<long>&) { static_cast<void>(me.sum(1)); }},
      forbidden{"scan()", [](pgas::pe& me, pgas::actor_of<long>&) { static_cast<void>(me.scan(1)); }},
      forbidden{"gather()", [](pgas::pe& me, pgas::actor_of<long>&) { static_cast<void>(me.gather(1)); }},
      forbidden{"gather() or broadcast()",
                [](pgas::pe& me, pgas::actor_of<long>&) { static_cast<void>(me.broadcast(1, 0)); }},
      forbidden{"yield", [](pgas::pe&, pgas::actor_of<long>&) { sched::this_fiber::yield(); }},
      forbidden{"park", [](pgas::pe&, pgas::actor_of<long>&) { sched::this_fiber::park(); }},
      forbidden{"future::get", [](pgas::pe&, pgas::actor_of<long>&) {
                  promise<int> never;
                  static_cast<void>(never.get_future().get());
                }});
  CAPTURE(f.name, workers);
  const auto message = failure_of(tiny(2, workers), [f](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    // The message is for its sender: what it points to is there.
    if (me.index() == 1) adder.send(1, [call = f.call, me = &me, a = &adder](long&) { call(*me, *a); });
    adder.finish();
  });
  CHECK_THAT(message, StartsWith("PE 1: handler ") && Contains(f.name) && Contains("must not wait"));
  check_that_a_job_works();
}

TEST_CASE("handlers that send more than the budget holds end the job with an error that says what to raise") {
  const int workers = GENERATE(1, 2);
  const auto message = failure_of(tiny(2, workers), [](pgas::pe& me) {
    cell count(me);
    auto s = pgas::make_selector<2>(count);
    if (me.index() == 0) {
      s.send<0>(1, [](long&, auto& here) {
        for (int i = 0; i < 10'000; ++i) here.template send<1>(0, [i](long& n) { n += i; });
      });
    }
    s.finish();
  });
  CHECK_THAT(message,
             StartsWith("PE 1: handler ") && Contains("handlers have sent more than") && Contains("raise --budget"));
  check_that_a_job_works();
}

TEST_CASE("a selector of a class that is destroyed before its messages are processed ends the job") {
  struct counter : pgas::actor<counter, int> {
    explicit counter(pgas::pe& me) : actor(me) {}
    void process(int n) { sum += n; }
    int sum = 0;
  };
  SECTION("after sends") {
    const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
      counter c(me);
      if (me.index() == 0) c.send(1, 1);
    });
    CHECK_THAT(message, StartsWith("PE 0: ") && Contains("counter") && Contains("call finish() first"));
  }
  SECTION("unused is no error, and leaves nothing behind") {
    const int pes = GENERATE(2, 4);
    CHECK(failure_of(tiny(pes, 2), [](pgas::pe& me) {
            {
              counter unused(me);
            }
            me.barrier();
            counter c(me);
            c.send(0, 1);
            c.finish();
            if (me.index() == 0) expect(c.sum == me.count());
          }) == "");
  }
  SECTION("after quiesce() is no error") {
    CHECK(failure_of(tiny(2, 2), [](pgas::pe& me) {
            {
              counter c(me);
              c.send(1, 1);
              c.quiesce();
              expect(c.sum == (me.index() == 1 ? 2 : 0));
            }
            me.barrier();
          }) == "");
  }
  check_that_a_job_works();
}

TEST_CASE("PEs that disagree about the next collective call are told so") {
  const int workers = GENERATE(1, 2);  // neighbours on one worker, or on two
  struct quarrel {
    const char* name;
    void (*one)(pgas::pe&, pgas::actor_of<long>&, pgas::actor_of<long>&);
    void (*other)(pgas::pe&, pgas::actor_of<long>&, pgas::actor_of<long>&);
  };
  using a = pgas::actor_of<long>;
  const auto q = GENERATE(
      quarrel{"barrier, finish", [](pgas::pe& me, a&, a&) { me.barrier(); }, [](pgas::pe&, a& x, a&) { x.finish(); }},
      quarrel{"barrier, sum", [](pgas::pe& me, a&, a&) { me.barrier(); },
              [](pgas::pe& me, a&, a&) { static_cast<void>(me.sum(1)); }},
      quarrel{"gather, sum", [](pgas::pe& me, a&, a&) { static_cast<void>(me.gather(1)); },
              [](pgas::pe& me, a&, a&) { static_cast<void>(me.sum(1)); }},
      quarrel{"finish, gather", [](pgas::pe&, a& x, a&) { x.finish(); },
              [](pgas::pe& me, a&, a&) { static_cast<void>(me.gather(1)); }},
      quarrel{"finish, quiesce", [](pgas::pe&, a& x, a&) { x.finish(); }, [](pgas::pe&, a& x, a&) { x.quiesce(); }},
      quarrel{"finish of two actors", [](pgas::pe&, a& x, a&) { x.finish(); }, [](pgas::pe&, a&, a& y) { y.finish(); }},
      quarrel{"quiesce of two actors", [](pgas::pe&, a& x, a&) { x.quiesce(); },
              [](pgas::pe&, a&, a& y) { y.quiesce(); }},
      quarrel{"one constructs, another waits in a barrier",
              [](pgas::pe& me, a&, a&) {
                cell count(me);
                pgas::actor_of more(count);
                more.finish();
              },
              [](pgas::pe& me, a&, a&) { me.barrier(); }},
      quarrel{"the end, barrier", [](pgas::pe&, a&, a&) {}, [](pgas::pe& me, a&, a&) { me.barrier(); }},
      quarrel{"sums of two types", [](pgas::pe& me, a&, a&) { static_cast<void>(me.sum(1)); },
              [](pgas::pe& me, a&, a&) { static_cast<void>(me.sum(1L)); }},
      quarrel{"gathers of two types", [](pgas::pe& me, a&, a&) { static_cast<void>(me.gather(1)); },
              [](pgas::pe& me, a&, a&) { static_cast<void>(me.gather(1L)); }},
      quarrel{"two roots", [](pgas::pe& me, a&, a&) { static_cast<void>(me.broadcast(1, 0)); },
              [](pgas::pe& me, a&, a&) { static_cast<void>(me.broadcast(1, 1)); }});
  const int odd_one = GENERATE(0, 1);
  CAPTURE(q.name, workers, odd_one);
  const auto message = failure_of(tiny(2, workers), [&](pgas::pe& me) {
    cell count(me);
    pgas::actor_of x(count);
    pgas::actor_of y(count);
    (me.index() == odd_one ? q.one : q.other)(me, x, y);
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("PEs disagree"));
}

TEST_CASE("PEs whose numbers of barriers differ are told so") {
  const int workers = GENERATE(1, 2, 3);
  const int pes = GENERATE_COPY(range(std::max(2, workers), 7));
  struct counts {
    int of_one, of_others;
  };
  const auto barriers = GENERATE(counts{0, 1}, counts{1, 0}, counts{1, 2}, counts{2, 1}, counts{0, 2});
  const int one = GENERATE_COPY(0, pes - 1);
  CAPTURE(workers, pes, one, barriers.of_one, barriers.of_others);
  const auto message = failure_of(tiny(pes, workers), [&](pgas::pe& me) {
    const int mine = me.index() == one ? barriers.of_one : barriers.of_others;
    for (int i = 0; i < mine; ++i) me.barrier();
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("PEs disagree: one is ") && Contains("in barrier()") &&
                          Contains("at the end of the program"));
}

TEST_CASE("a PE that catches its own exception and returns leaves no PE behind in a collective call") {
  const int workers = GENERATE(1, 2);
  const auto call = GENERATE(
      +[](pgas::pe& me) { me.barrier(); }, +[](pgas::pe& me) { static_cast<void>(me.sum(1)); },
      +[](pgas::pe& me) { static_cast<void>(me.gather(1)); });
  const auto message = failure_of(tiny(4, workers), [&](pgas::pe& me) {
    try {
      if (me.index() == 1) throw std::runtime_error("caught");
      call(me);
    } catch (const std::runtime_error&) {
    }
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("PEs disagree") && Contains("at the end of the program"));
  check_that_a_job_works();
}

TEST_CASE("a disagreement ends the job, also where the PE that was told catches it") {
  const int workers = GENERATE(1, 2);
  const bool goes_on = GENERATE(false, true);
  std::atomic<int> came_through{0};
  const auto message = failure_of(tiny(4, workers), [&](pgas::pe& me) {
    try {
      if (me.index() == 1) {
        static_cast<void>(me.sum(1));
      } else {
        me.barrier();
      }
      ++came_through;
    } catch (const error&) {
      if (goes_on) me.barrier();
    }
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("PEs disagree") && Contains("barrier()") && Contains("reduce()"));
  CHECK(came_through == 0);
  check_that_a_job_works();
}

namespace {
struct takes_int : pgas::actor<takes_int, int> {
  explicit takes_int(pgas::pe& me) : actor(me) {}
  void process(int) {}
};
struct takes_two : pgas::selector<takes_two, int, long> {
  explicit takes_two(pgas::pe& me) : selector(me) {}
  void process(int) {}
  void process(long n) { last = n; }
  long last = 0;
};
}  // namespace

TEST_CASE("PEs that construct different selectors are told so") {
  const int workers = GENERATE(1, 2);
  const bool sends = GENERATE(false, true);
  const int odd_one = GENERATE(0, 1);
  const auto message = failure_of(tiny(2, workers), [&](pgas::pe& me) {
    if (me.index() == odd_one) {
      takes_int s(me);
      if (sends) s.send(1 - odd_one, 1);
      s.finish();
    } else {
      takes_two s(me);
      if (sends) s.send<1>(odd_one, 1);
      s.finish();
    }
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("PEs disagree") && Contains("takes_"));
  check_that_a_job_works();
}

TEST_CASE("a job inside a job is refused") {
  const auto message = failure_of(tiny(2, 2), [](pgas::pe& me) {
    me.barrier();
    pgas::run(tiny(1, 1), [](pgas::pe&) {});
  });
  CHECK_THAT(message, StartsWith("PE "));
  check_that_a_job_works();
}

TEST_CASE("a message that a PE's actor is given on another thread is refused at the call, and none is lost") {
  const auto form = GENERATE(0, 1, 2, 3);  // a lambda, a text, a request, a message of the class form
  const int hops = GENERATE(1, 2);
  CHECK(failure_of(tiny(4, 4, hops), [&](pgas::pe& me) {
          cell count(me);
          pgas::actor_of adder(count);
          takes_int taker(me);
          const int there = (me.index() + 1) % me.count();
          const auto send = [&] {
            switch (form) {
              case 0: adder.send(there, [](long& n) { ++n; }); break;
              case 1: adder.send(there, std::string_view("text"), [](long& n, std::string_view) { ++n; }); break;
              case 2: adder.ask(there, [](long& n) { return ++n; }, [](long&, long) {}); break;
              default: taker.send(there, 1);
            }
          };
          send();
          std::string said;
          std::thread other([&] { said = thrown_by<usage_error>(send); });
          other.join();
          expect(said.starts_with("PE " + std::to_string(me.index()) + ": send on a thread that is no worker"));
          expect(said.find("refusals.test.cpp:") != said.npos);
          adder.finish();
          taker.finish();
          expect(*count == (form == 3 ? 0 : 1));
        }) == "");
}
