// Messages of varying length, in both forms: every length from nothing to what a train carries.
#include <support/jobs.hpp>

#include <array>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/wire.hpp>

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;
using Catch::StartsWith;

namespace {

/// Bytes of captures and payload that fit into a train.
std::size_t longest(const pgas::pe& me) {
  return me.train_bytes() - sizeof(wire::batch_head) - sizeof(wire::span_head);
}

struct log_of {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
};

}  // namespace

TEST_CASE("payload: every length from 0 to the longest arrives as it was") {
  const int pes = GENERATE(1, 4);
  const int workers = GENERATE(1, 4);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<std::vector<int>> seen(me, longest(me) + 1);
    pgas::actor_of actor(seen);
    const auto most = longest(me);
    for (std::size_t length = 0; length <= most; ++length) {
      const auto what = text(length, me.index());
      actor.send(static_cast<int>(length) % me.count(), what, [](auto& n, std::string_view t, auto& here) {
        expect(t == text(t.size(), here.from()));
        ++n[t.size()];
      });
    }
    // Captures in front of the payload take their share.
    const std::vector<std::uint16_t> items(77, static_cast<std::uint16_t>(me.index()));
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, items.size()}) {
      actor.send(me.index(), std::span<const std::uint16_t>(items).first(count),
                 [count, sender = me.index()](auto&, std::span<const std::uint16_t> got) {
                   expect(got.size() == count);
                   for (const auto x : got) expect(x == sender);
                 });
    }
    actor.finish();
    for (std::size_t length = 0; length <= most; ++length) {
      expect((*seen)[length] == (static_cast<int>(length) % me.count() == me.index() ? me.count() : 0));
    }
  });
}

TEST_CASE("payload: captures of any alignment in front of it") {
  const int workers = GENERATE(1, 2);
  const int hops = GENERATE(1, 2);
  struct alignas(16) wide {
    long double value;
    char tag;
  };
  pgas::run(tiny(2, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> sum(me, 0);
    pgas::actor_of actor(sum);
    const std::array<double, 3> items{1, 2, 3};
    for (int i = 0; i < 50; ++i) {
      actor.send(i % 2, std::span<const char>("abcdefg", static_cast<std::size_t>(i % 7)),
                 [i](long&, std::string_view t) {
                   expect(t == std::string("abcdefg").substr(0, static_cast<std::size_t>(i % 7)));
                 });
      actor.send(1 - i % 2, std::span<const double>(items), [w = wide{0.5L, 'w'}](long& n, std::span<const double> d) {
        expect(reinterpret_cast<std::uintptr_t>(&w) % alignof(wide) == 0);
        expect(reinterpret_cast<std::uintptr_t>(d.data()) % alignof(double) == 0);
        expect(w.value == 0.5L && w.tag == 'w' && d.size() == 3);
        n += static_cast<long>(d[0] + d[1] + d[2]);
      });
    }
    actor.finish();
    expect(*sum == 50 * 6);
  });
}

TEST_CASE("payload: one byte more than a train carries is refused, and PE and length are named") {
  const int workers = GENERATE(1, 2);
  const int hops = GENERATE(1, 2);
  std::size_t most = 0;
  const auto message = failure_of(tiny(2, workers, hops), [&](pgas::pe& me) {
    pgas::symmetric<long> n(me, 0);
    pgas::actor_of actor(n);
    if (me.index() == 1) {
      most = longest(me);
      actor.send(0, text(most, 1), [](long& x, std::string_view) { ++x; });
      actor.send(0, text(most + 1, 1), [](long& x, std::string_view) { ++x; });
    }
    actor.finish();
  });
  CHECK_THAT(message, StartsWith("PE 1: a message of ") && Contains("too long") && Contains("--train"));
}

TEST_CASE("payload: larger trains carry longer messages, past 64 KiB too") {
  auto o = tiny(2, 2, GENERATE(1, 2));
  o.train_bytes = 200'000;
  o.budget = 8 << 20;
  pgas::run(o, [](pgas::pe& me) {
    pgas::symmetric<std::size_t> n(me, std::size_t{0});
    pgas::actor_of actor(n);
    actor.send(1 - me.index(), text(longest(me), 3), [](std::size_t& x, std::string_view t) {
      expect(t == text(t.size(), 3));
      x = t.size();
    });
    actor.finish();
    expect(*n == longest(me) && *n > 190'000);
  });
}

namespace {

struct post : pgas::selector<post, pgas::varying<char>, int, pgas::varying<double>> {
  explicit post(pgas::pe& me) : selector(me) {}
  void process(std::string_view t, int from) {
    expect(t == text(t.size(), from));
    letters.bytes += t.size();
    letters.lines.emplace_back(t);
    send<1>(from, static_cast<int>(t.size()));
    const std::vector<double> echo(t.size() % 50, static_cast<double>(t.size()));
    if (echo.size() < 2) {
      send<2>(from, echo);
    } else {  // the same message, of two pieces
      send<2>(from, {echo[0], echo[1]}, std::span(echo).subspan(2));
    }
  }
  void process(int n) { receipts += n; }
  void process(pgas::mailbox_index<2>, std::span<const double> d) {
    for (const double x : d) expect(static_cast<std::size_t>(x) % 50 == d.size());
    ++echoes;
  }
  log_of letters;
  long receipts = 0;
  int echoes = 0;
};

}  // namespace

TEST_CASE("payload: mailboxes of varying length of a class, whose handlers send more of them") {
  const int pes = GENERATE(1, 2, 5);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(small(pes, workers, hops), [](pgas::pe& me) {
    post p(me);
    std::size_t sent = 0;
    for (int i = 0; i < 90; ++i) {
      const auto t = text(static_cast<std::size_t>(5 * i), me.index());
      sent += t.size();
      p.send<0>((me.index() + i) % me.count(), t);
    }
    p.finish();
    expect(p.receipts == static_cast<long>(sent));
    expect(p.echoes == 90);
    expect(me.sum(p.letters.bytes) == me.sum(sent));
  });
}

TEST_CASE("payload: short and long, varying and fixed messages share trains") {
  const int workers = GENERATE(1, 3);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(3, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<log_of> log(me);
    pgas::actor_of actor(log);
    for (int i = 0; i < 300; ++i) {
      const int to = i % 3;
      if (i % 2 == 0) {
        actor.send(to, text(static_cast<std::size_t>(i % 37), i), [i](log_of& l, std::string_view t) {
          expect(t == text(static_cast<std::size_t>(i % 37), i));
          l.bytes += t.size() + 1;
        });
      } else {
        actor.send(to, [i](log_of& l) { l.bytes += static_cast<std::size_t>(i % 37) + 1; });
      }
    }
    actor.finish();
    std::size_t wanted = 0;
    for (int i = me.index(); i < 300; i += 3) wanted += 3 * (static_cast<std::size_t>(i % 37) + 1);
    expect(log->bytes == wanted);
  });
}

namespace {
/// A class whose requests ask for the sender, and whose replies are sent on.
struct looked_up : pgas::selector<looked_up, pgas::asking<int, long, long>, long> {
  explicit looked_up(pgas::pe& me) : selector(me) {}
  long process(int n, int from) const { return 1000L * me().index() + 10L * from + n; }
  void replied(long kept, long reply, int from) {
    expect(reply == 1000L * from + 10L * me().index() + kept);
    send<1>(from, 1L);
  }
  void process(long n) { answered += n; }
  long answered = 0;
};
}  // namespace

TEST_CASE("requests among many PEs share trains by worker: every form, by programs and by tasks") {
  const int pes = GENERATE(64, 65, 130);  // 64: each PE has its own
  const int workers = GENERATE(1, 2, 5);
  CAPTURE(pes, workers);
  pgas::run(small(pes, workers), [](pgas::pe& me) {
    pgas::symmetric<long> part(me, long{me.index()});
    pgas::actor_of reads(part);
    const auto ask_all = [&](int n) {
      for (int i = 0; i < n; ++i) {
        const int to = (me.index() + 7 * i) % me.count();
        reads.ask(
            to, [](const long& there) { return there; },
            [to](long& here, long there) {
              expect(there % 1'000'000 == to);
              here += 1'000'000;
            });
      }
    };
    ask_all(100);
    reads.finish();
    expect(*part == 100'000'000L + me.index());
    shunt::finish([&] {
      for (int t = 0; t < 4; ++t) shunt::async([&] { ask_all(5); });
    });
    expect(reads.fetch((me.index() + 1) % me.count(), [](const long& there) { return there; }) % 1'000'000 ==
           (me.index() + 1) % me.count());
    reads.finish();
    expect(*part == 120'000'000L + me.index());

    looked_up all(me);
    for (int i = 0; i < 50; ++i) all.ask((me.index() * 3 + i) % me.count(), i, long{i});
    all.finish();
    expect(me.sum(all.answered) == 50L * me.count());
  });
}

namespace {

/// What a PE has seen of messages that prepare.
struct prepared_part {
  mutable long prepared = 0;
  long handled = 0;
};
struct preparing {
  long number;
  void prepare(const prepared_part& part) const { part.prepared += number; }
  void operator()(prepared_part& part) const {
    part.handled += number;
    expect(part.prepared >= part.handled);
  }
};

}  // namespace

TEST_CASE("a message with prepare() is prepared once, before its turn, in batches of any length") {
  for (const auto& job : all_jobs(tiny)) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::symmetric<prepared_part> seen(me);
      pgas::actor_of actor(seen);
      long sent = 0;
      for (const int messages : {1, 11, 12, 13, 100}) {
        for (int i = 1; i <= messages; ++i, sent += i - 1) actor.send(i % me.count(), preparing{i});
        actor.finish();
        expect(seen->prepared == seen->handled);
        expect(me.sum(seen->handled) == me.sum(sent));
      }
    });
  }
}

TEST_CASE("payload: a handler sends one on") {
  for (const auto& job : all_jobs(small)) {
    pgas::run(job, [](pgas::pe& me) {
      pgas::symmetric<std::string> heard(me);
      auto ring = pgas::make_selector<2>(heard);
      ring.send<0>((me.index() + 1) % me.count(), std::string_view("abc"),
                   [](std::string&, std::string_view said, auto& here) {
                     const std::string twice = std::string(said) + std::string(said);
                     here.template send<1>((here.index() + 1) % here.count(), std::string_view(twice),
                                           [](std::string& to, std::string_view came) { to += came; });
                   });
      ring.finish();
      expect(*heard == "abcabc");
    });
  }
}
