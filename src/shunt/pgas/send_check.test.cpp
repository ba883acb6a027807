// A job that checks (options::check) refuses what would give a wrong answer: addresses in messages, and operands of
// collectives that messages may still change.
#include <support/jobs.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::StartsWith;

namespace {

using cell = pgas::symmetric<long>;

pgas::options checked(int pes, int workers, int hops = 1) {
  auto o = small(pes, workers, hops);
  o.check = true;
  return o;
}

/// What the job says when PE 0 calls `send(adder)`.
template <class Send>
std::string failure_of_send(const pgas::options& o, Send send) {
  return failure_of(o, [&send](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    if (me.index() == 0) send(adder);
    adder.finish();
  });
}

void check_names_the_address(const std::string& message) {
  CHECK_THAT(message, StartsWith("PE 0: a message to PE 1 holds the address of a variable on the sender's stack"));
  CHECK_THAT(message, Contains("lambda"));
  CHECK_THAT(message, Contains("send_check.test.cpp:"));
}

/// Adds to a variable of its sender.
struct tally {
  explicit tally(pgas::actor_of<long>& to) {
    to.send(1, [this](long& n) { n += mine; });
  }
  long mine = 1;
};

struct nested {
  int before;
  struct {
    const long* where;
  } inner;
};

/// Messages by value, with an address in them.
struct carrier : pgas::actor<carrier, nested> {
  explicit carrier(pgas::pe& me) : actor(me) {}
  void process(const nested&) { ++got; }
  long got = 0;
};

/// It sends its own address.
struct selfish : pgas::actor<selfish, std::uintptr_t> {
  explicit selfish(pgas::pe& me) : actor(me) {}
  void process(std::uintptr_t) { ++got; }
  void send_this(int to) { send(to, reinterpret_cast<std::uintptr_t>(this)); }
  long got = 0;
};

/// Without it messages with padding are not looked at, and over two hops none.
#if __has_builtin(__builtin_clear_padding)
constexpr bool padding_is_cleared = true;
#else
constexpr bool padding_is_cleared = false;
#endif

long of_the_program = 7;
void function() {}

}  // namespace

TEST_CASE("send_check: a message that captures the address of a variable ends the job, and is named") {
  const int workers = GENERATE(1, 2);
  const int hops = padding_is_cleared ? GENERATE(1, 2) : 1;
  check_names_the_address(failure_of_send(checked(2, workers, hops), [](auto& adder) {
    long x = 1;
    adder.send(1, [at = &x](long& n) { n += *at; });
  }));
}

TEST_CASE("send_check: so does one that captures a pointer, this, or a struct that holds one") {
  check_names_the_address(failure_of_send(checked(2, 2), [](auto& adder) {
    long x = 1;
    const long* const p = &x;
    adder.send(1, [p](long& n) { n += *p; });
  }));
  check_names_the_address(failure_of_send(checked(2, 2), [](auto& adder) { const tally t(adder); }));
  if (!padding_is_cleared) return;
  check_names_the_address(failure_of_send(checked(2, 2), [](auto& adder) {
    const long x = 1;
    adder.send(1, [it = nested{3, {&x}}](long& n) { n += *it.inner.where; });
  }));
}

TEST_CASE("send_check: so do messages of varying length, requests and fetches") {
  check_names_the_address(failure_of_send(checked(2, 2), [](auto& adder) {
    long x = 1;
    adder.send(1, std::string_view("text"),
               [at = &x](long& n, std::string_view t) { n += *at + static_cast<long>(t.size()); });
  }));
  check_names_the_address(failure_of_send(checked(2, 2), [](auto& adder) {
    long x = 1;
    adder.ask(1, [at = &x](const long& n) { return n + *at; }, [](long& n, long r) { n += r; });
  }));
  check_names_the_address(failure_of_send(checked(2, 2), [](auto& adder) {
    long x = 1;
    static_cast<void>(adder.fetch(1, [at = &x](const long& n) { return n + *at; }));
  }));
}

TEST_CASE("send_check: so do messages of handlers, and of a class") {
  const auto of_handler = failure_of(checked(2, 2), [](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    if (me.index() == 1) {
      adder.send(0, [](long&, auto& here) {
        long x = 1;
        here.send(1, [at = &x](long& n) { n += *at; });
      });
    }
    adder.quiesce();
    adder.finish();
  });
  CHECK_THAT(of_handler, Contains("a message to PE 1 holds the address of a variable on the sender's stack"));
  if (!padding_is_cleared) return;
  const auto of_class = failure_of(checked(2, 2), [](pgas::pe& me) {
    carrier c(me);
    const long x = 1;
    if (me.index() == 0) c.send(1, {1, {&x}});
    c.finish();
  });
  CHECK_THAT(of_class, StartsWith("PE 0: a message to PE 1 holds the address of a variable on the sender's stack"));
  CHECK_THAT(of_class, Contains("carrier"));
}

TEST_CASE("send_check: an object of the heap is found where it is a part") {
  const auto message = failure_of(checked(2, 2), [](pgas::pe& me) {
    const auto s = std::make_unique<selfish>(me);
    me.barrier();
    s->send_this(me.index() == 0 ? 1 : 1);
    s->finish();
  });
  CHECK_THAT(message, StartsWith("PE 0: a message to PE 1 holds the address of the sender's part of an object"));
}

TEST_CASE("send_check: tasks on other workers are looked at too") {
  const auto message = failure_of(checked(2, 2), [](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    if (me.index() == 0) {
      shunt::finish([&] {
        for (int i = 0; i < 64; ++i) {
          async([&adder] {
            long x = 1;
            adder.send(1, [at = &x](long& n) { n += *at; });
          });
        }
      });
    }
    adder.finish();
  });
  CHECK_THAT(message, Contains("holds the address of a variable on the sender's stack"));
}

TEST_CASE("send_check: allowed are static objects, literals, functions, numbers, and what a PE sends to itself") {
  const int hops = GENERATE(1, 2);
  const int workers = GENERATE(1, 3);
  CHECK(failure_of(checked(3, workers, hops), [](pgas::pe& me) {
          static long for_all = 1;
          cell count(me);
          pgas::actor_of adder(count);
          long mine = 1;
          for (int to = 0; to < me.count(); ++to) {
            adder.send(to, [p = &of_the_program](long& n) { n += *p; });
            adder.send(to, [p = &for_all](long& n) { n += *p; });
            adder.send(to, [text = "abc"](long& n) { n += text[0]; });
            adder.send(to, [f = &function](long& n) { n += f != nullptr ? 1 : 0; });
            adder.send(to, [a = std::array<long, 3>{1, -1, 1L << 46}](long& n) { n += a[0] + a[1]; });
          }
          adder.send(me.index(), [at = &mine](long& n) { n += *at; });
          long replies = 0;
          adder.ask((me.index() + 1) % 3, [](const long&) { return 1L; }, [&replies](long&, long r) { replies += r; });
          adder.finish();
          expect(replies == 1);
          expect(*count == 3 * (7 + 1 + 'a' + 1 + 1) - 3 + 1);
        }) == "");
}

TEST_CASE("send_check: old addresses in the padding of a message are none") {
  struct alignas(16) padded {
    long value;
    char tag;
  };
  CHECK(failure_of(checked(2, 1), [](pgas::pe& me) {
          cell count(me);
          pgas::actor_of adder(count);
          alignas(padded) std::array<const void*, 4> old;
          static_assert(sizeof old == 2 * sizeof(padded));
          old.fill(&old);
          auto* const it = ::new (old.data()) padded;
          it->value = 1;
          it->tag = 'p';
          adder.send(1 - me.index(), [m = *it](long& n) { n += m.value; });
          adder.send(1 - me.index(), std::string_view("x"), [m = *it](long& n, std::string_view) { n += m.value; });
          adder.finish();
          expect(*count == 2);
        }) == "");
}

TEST_CASE("send_check: a collective of a part amid messages ends the job, and names the last send") {
  const int workers = GENERATE(1, 2);
  const int which = GENERATE(0, 1, 2, 3);
  const auto message = failure_of(checked(2, workers), [which](pgas::pe& me) {
    cell count(me);
    pgas::actor_of adder(count);
    adder.send(0, [](long& n) { ++n; });
    if (which == 0) static_cast<void>(me.sum(*count));
    if (which == 1) static_cast<void>(me.gather(*count));
    if (which == 2) static_cast<void>(me.scan(*count));
    if (which == 3) static_cast<void>(me.broadcast(*count, me.index()));
    adder.finish();
  });
  const std::string calls[] = {"reduce()", "gather()", "scan()", "broadcast()"};
  CHECK_THAT(message, Contains(": " + calls[which] + " of a part of "));
  CHECK_THAT(message, Contains("call finish() or quiesce() first"));
  CHECK_THAT(message, Contains("send_check.test.cpp:"));
}

TEST_CASE("send_check: an item of a vector, and each of several parts, are parts") {
  const int which = GENERATE(0, 1, 2);
  const auto message = failure_of(checked(2, 2), [which](pgas::pe& me) {
    cell count(me);
    pgas::symmetric<std::vector<long>> many(me, 10);
    pgas::actor_of adder(count, many);
    adder.send(0, [](long& n, std::vector<long>& items) { n = ++items[3]; });
    if (which == 0) static_cast<void>(me.sum(*count));
    if (which == 1) static_cast<void>(me.sum((*many)[3]));
    if (which == 2) static_cast<void>(me.gather(std::span<const long>(*many)));
    adder.finish();
  });
  CHECK_THAT(message, Contains(" of a part of "));
}

TEST_CASE("send_check: a selector that goes without finish() after a collective amid its messages ends the job") {
  const auto message = failure_of(checked(2, 2), [](pgas::pe& me) {
    pgas::symmetric<std::vector<long>> many(me, 10);
    pgas::actor_of adder(many);
    adder.send(0, [](std::vector<long>& items) { ++items[3]; });
    long mine = 0;
    for (const long n : *many) mine += n;
    static_cast<void>(me.sum(mine));
  });
  CHECK_THAT(message, Contains("reduce() was called while messages of "));
  CHECK_THAT(message, Contains("no finish() or quiesce() has followed"));
  CHECK_THAT(message, Contains("send_check.test.cpp:"));
}

TEST_CASE("send_check: allowed is a collective of something else amid messages, if finish() follows") {
  CHECK(failure_of(checked(3, 2), [](pgas::pe& me) {
          cell count(me), other(me);
          pgas::actor_of adder(count), others(other);
          adder.send(0, [](long& n) { ++n; });
          expect(me.sum(1) == 3);
          expect(me.sum(*other) == 0);
          adder.finish();
          adder.send(0, [](long& n) { ++n; });
          others.finish();
          expect(me.sum(*other) == 0);  // the end of `others`, not of `adder`, stands before it
        }) == "");
}

TEST_CASE("send_check: so it does amid messages of a class, and requests") {
  CHECK_THAT(failure_of(checked(2, 2),
                        [](pgas::pe& me) {
                          carrier c(me);
                          c.send(1, {1, {nullptr}});
                          static_cast<void>(me.sum(c.got));
                          c.finish();
                        }),
             Contains("carrier"));
  CHECK_THAT(failure_of(checked(2, 2),
                        [](pgas::pe& me) {
                          cell count(me);
                          pgas::actor_of adder(count);
                          adder.ask(1, [](const long& n) { return n; }, [](long& n, long r) { n += r; });
                          static_cast<void>(me.sum(*count));
                          adder.finish();
                        }),
             Contains("reduce() of a part of "));
}

TEST_CASE("send_check: allowed are barriers, and collectives after finish(), quiesce() or fetch()") {
  const int hops = GENERATE(1, 2);
  const int workers = GENERATE(1, 3);
  CHECK(failure_of(checked(3, workers, hops), [](pgas::pe& me) {
          cell count(me);
          pgas::actor_of adder(count);
          for (int round = 0; round < 3; ++round) {
            for (int to = 0; to < 3; ++to) adder.send(to, [](long& n) { ++n; });
            me.barrier();
            if (round == 1) {
              adder.quiesce();
            } else {
              adder.finish();
            }
            expect(me.sum(*count) == 9 * (round + 1));
            static_cast<void>(adder.fetch(1, [](const long& n) { return n; }));
            expect(me.max(*count) == 3 * (round + 1));
            me.barrier();
          }
        }) == "");
}

TEST_CASE("send_check: a job that does not check sends the same trains as one that does") {
  std::array<pgas::traffic, 2> moved;
  for (const bool check : {false, true}) {
    auto o = tiny(4, 1);
    o.check = check;
    CHECK(failure_of(o, [&](pgas::pe& me) {
            cell count(me);
            pgas::actor_of adder(count);
            for (int i = 0; i < 1000; ++i) adder.send(i % 4, [i](long& n) { n += i; });
            adder.finish();
            const auto all = me.traffic();
            if (me.index() == 0) moved[check ? 1 : 0] = all;
          }) == "");
  }
  CHECK(moved[0].messages == moved[1].messages);
  CHECK(moved[0].trains == moved[1].trains);
  CHECK(moved[0].bytes == moved[1].bytes);
}

TEST_CASE("send_check: allowed are fetches by several tasks at once") {
  pgas::run(checked(3, 3), [](pgas::pe& me) {
    cell x(me);
    *x = me.index();
    pgas::actor_of reader(x);
    me.barrier();
    for (int round = 0; round < 50; ++round) {
      std::atomic<long> got{0};
      finish([&] {
        for (int i = 1; i < 3; ++i) {
          async([&, i] { got += reader.fetch((me.index() + i) % 3, [](const long& n) { return n; }); });
        }
      });
      expect(got + *x == 3);
      expect(me.sum(*x) == 3);
    }
  });
}

namespace {
struct settings {
  virtual ~settings() = default;
  long words[8] = {};
};
struct with_settings : settings, pgas::actor<with_settings, std::uintptr_t> {
  explicit with_settings(pgas::pe& me) : actor(me) {}
  void process(std::uintptr_t n) { got += n; }
  std::uintptr_t got = 0;
};
}  // namespace

TEST_CASE("send_check: the parts of an actor of several, what lies in them, and an object with another base") {
  const int workers = GENERATE(1, 2);
  for (const bool second : {false, true}) {
    const auto message = failure_of(checked(2, workers), [second](pgas::pe& me) {
      const auto x = std::make_unique<cell>(me);
      const auto y = std::make_unique<pgas::symmetric<std::array<long, 4>>>(me);
      pgas::actor_of both(*x, *y);
      const long* const p = second ? &(**y)[3] : &**x;
      if (me.index() == 0) both.send(1, [p](long& n, std::array<long, 4>&) { n += *p; });
      both.finish();
    });
    CHECK_THAT(message, StartsWith("PE 0: a message to PE 1 holds the address of the sender's part of an object"));
  }
  const auto of_object = failure_of(checked(2, workers), [](pgas::pe& me) {
    const auto all = std::make_unique<with_settings>(me);
    if (me.index() == 0) all->send(1, reinterpret_cast<std::uintptr_t>(all.get()));
    all->finish();
  });
  CHECK_THAT(of_object, StartsWith("PE 0: a message to PE 1 holds the address of the sender's part of an object"));
}

TEST_CASE("send_check: allowed are the receiver's own address, and an operand behind an object with another base") {
  const int workers = GENERATE(1, 2);
  pgas::run(checked(2, workers), [](pgas::pe& me) {
    cell x(me);
    pgas::actor_of adder(x);
    const auto handles = me.gather(reinterpret_cast<std::uintptr_t>(&*x));
    const int to = 1 - me.index();
    adder.send(to, [h = handles[static_cast<std::size_t>(to)]](long&) { *reinterpret_cast<long*>(h) += 1; });
    adder.finish();
    expect(*x == 1);
    struct {
      with_settings object;
      long behind[8];
    } both{with_settings(me), {1}};
    both.object.send(to, 1);
    expect(me.sum(both.behind[0]) == 2);
    both.object.finish();
  });
}

TEST_CASE("send_check: a collective amid messages counts, also where the program sends more after it") {
  const auto message = failure_of(checked(2, 2), [](pgas::pe& me) {
    cell x(me);
    pgas::actor_of adder(x);
    adder.send(1 - me.index(), [](long& n) { ++n; });
    const long copy = *x;
    static_cast<void>(me.sum(copy));
    adder.send(1 - me.index(), [](long& n) { ++n; });
  });
  CHECK_THAT(message, StartsWith("PE ") && Contains("finish()"));
}
