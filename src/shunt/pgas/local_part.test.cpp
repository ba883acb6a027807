// Messages that name the object they change, instead of taking its part: over PEs, workers and hops.
#include <support/jobs.hpp>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

using counts = pgas::symmetric<std::vector<long>>;

pgas::options job(int pes, int workers, int hops, bool roomy) {
  return roomy ? small(pes, workers, hops) : tiny(pes, workers, hops);
}

}  // namespace

TEST_CASE("local_part: the study's listing counts at the PE that each message was sent to") {
  const int pes = GENERATE(1, 2, 3, 7, 64, 70);
  const int workers = GENERATE(1, 2, 3);
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);
  CAPTURE(pes, workers, hops, roomy);
  pgas::run(job(pes, workers, hops, roomy), [](pgas::pe& me) {
    counts table(me, 16);
    const auto histogram = table.local();
    pgas::actor_of a(table);
    for (int i = 0; i < 200; ++i) {
      const auto spot = static_cast<unsigned>(i + me.index()) % 16;
      a.send((me.index() + i) % me.count(), [=] { histogram[spot]++; });
    }
    a.finish();
    std::vector<long> expected(16);
    for (int p = 0; p < me.count(); ++p) {
      for (int i = 0; i < 200; ++i) {
        if ((p + i) % me.count() == me.index()) ++expected[static_cast<unsigned>(i + p) % 16];
      }
    }
    expect(*table == expected);
  });
}

TEST_CASE("local_part: an actor of no object, several mailboxes, requests, payloads, and handlers that send on") {
  const int pes = GENERATE(1, 2, 5, 70);
  const int workers = GENERATE(1, 2);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> sum(me, 0L);
    counts squares(me, 10);
    counts gathered(me, 10);
    pgas::symmetric<std::string> text(me);
    std::iota(squares->begin(), squares->end(), 0L);
    for (auto& s : *squares) s = s * s + me.index();
    const auto total = sum.local();
    const auto table = squares.local();
    const auto target = gathered.local();
    const auto words = text.local();

    auto s = pgas::make_selector<2>(me);
    const int next = (me.index() + 1) % me.count();
    for (unsigned i = 0; i < 10; ++i) {
      s.ask(next, [=] { return table[i]; }, [=](long value) { target[i] = value; });
      s.send(next, [=](auto& here) {
        *total += 1;
        here.template send<1>(here.from(), [=] { *total += 100; });
      });
    }
    s.send(next, std::string_view("railway"), [=](std::string_view payload) { words->append(payload); });
    s.finish();
    expect(*sum == 10 + 10 * 100);
    for (std::size_t i = 0; i < 10; ++i) expect((*gathered)[i] == static_cast<long>(i * i) + next);
    expect(*text == "railway");
    expect(s.fetch(next, [=] { return table[3]; }) == 9 + next);

    auto ordered = pgas::make_selector<3>(pgas::mailbox_order{{2, {0, 1}}}, me);
    ordered.send<1>(next, [=] { *total = 7; });
    ordered.finish();
    expect(*sum == 7);
  });
}

TEST_CASE("local_part: beside parts that the handler takes") {
  pgas::run(tiny(4, 2, 1), [](pgas::pe& me) {
    counts from(me, 4, me.index() + 1L);
    counts to(me, 4);
    const auto target = to.local();
    pgas::actor_of a(from);
    for (int p = 0; p < me.count(); ++p) {
      a.send(p, [=](std::vector<long>& part) { target[2] += part[1]; });
    }
    a.finish();
    expect((*to)[2] == me.count() * (me.index() + 1));
  });
}

TEST_CASE("local_part: objects that come and go keep one number on every PE, at whatever pace") {
  const int pes = GENERATE(2, 9);
  const int workers = GENERATE(1, 2);
  CAPTURE(pes, workers);
  pgas::run(tiny(pes, workers, 1), [](pgas::pe& me) {
    auto first = std::make_unique<pgas::symmetric<long>>(me, 0L);
    for (int round = 0; round < 50; ++round) {
      pgas::symmetric<long> here(me, 0L);
      if (round % 3 == 0) first = std::make_unique<pgas::symmetric<long>>(me, 0L);
      const counts other(me, 3);  // of another type, at a number that others had
      const auto mine = here.local();
      const auto of_first = first->local();
      const auto vector = other.local();
      pgas::actor_of a(me);
      for (int p = 0; p < me.count(); ++p) {
        a.send(p, [=] {
          ++*mine;
          *of_first += 2;
          vector[1] += 3;
        });
      }
      a.finish();
      expect(*here == me.count());
      expect(**first == 2 * me.count() * (round % 3 + 1));
      expect((*other)[1] == 3 * me.count());
    }
  });
}

TEST_CASE("local_part: outside a handler it is refused, and says what to use") {
  const auto what = failure_of(tiny(2, 1), [](pgas::pe& me) {
    const pgas::symmetric<double> sum(me, 0.);
    *sum.local() = 1;
  });
  CAPTURE(what);
  CHECK(what.find("a local_part of double is used outside a handler") != std::string::npos);
  CHECK(what.find("use the symmetric object itself") != std::string::npos);
}

TEST_CASE("local_part: an object that is gone, or another one there, is refused with handler and PE") {
  const bool gone = GENERATE(false, true);
  const auto what = failure_of(tiny(2, 2), [gone](pgas::pe& me) {
    pgas::actor_of a(me);
    if (gone) {
      const auto lost = pgas::symmetric<double>(me, 0.).local();
      a.send(1, [=] { *lost = 1; });
    } else if (me.index() == 0) {
      const pgas::symmetric<double> sum(me, 0.);
      a.send(1, [sum = sum.local()] { *sum = 1; });
      a.finish();
    } else {
      const pgas::symmetric<int> other(me, 0);
      a.finish();
    }
    a.finish();
  });
  CAPTURE(what);
  CHECK(what.find("PE 1: handler ") != std::string::npos);
  CHECK(what.find("uses a local_part of double, but this PE has no such symmetric object") != std::string::npos);
}
