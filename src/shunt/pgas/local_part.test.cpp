// Messages that name the object they change, instead of taking its part: over PEs, workers and hops.
#include <support/jobs.hpp>

#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/task.hpp>

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
      counts other(me, 3);  // of another type, at a number that others had
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

TEST_CASE("local_part: many objects of many PEs, made while messages of others arrive") {
  const int pes = GENERATE(2, 40);
  pgas::run(tiny(pes, 2, 1), [](pgas::pe& me) {
    std::vector<std::unique_ptr<pgas::symmetric<long>>> objects;
    std::vector<std::unique_ptr<pgas::actor_of<>>> actors;
    for (int n = 0; n < 21; ++n) {
      objects.push_back(std::make_unique<pgas::symmetric<long>>(me, 0L));
      actors.push_back(std::make_unique<pgas::actor_of<>>(me));
      for (int o = 0; o <= n; ++o) {
        const auto target = objects[static_cast<std::size_t>(o)]->local();
        actors.back()->send((me.index() + n) % me.count(), [=] { *target += o + 1; });
      }
    }
    for (auto& a : actors) a->finish();
    for (int o = 0; o < 21; ++o) expect(**objects[static_cast<std::size_t>(o)] == (21 - o) * (o + 1));
    while (!actors.empty()) actors.pop_back();
  });
}

TEST_CASE("local_part: tasks on other workers send, ask and fetch with it") {
  pgas::run(small(4, 2), [](pgas::pe& me) {
    counts table(me, 8);
    pgas::symmetric<long> sum(me, 0L);
    for (std::size_t i = 0; i < 8; ++i) (*table)[i] = me.index() * 10 + static_cast<long>(i);
    const auto entries = table.local();
    const auto total = sum.local();
    pgas::actor_of a(me);
    const int next = (me.index() + 1) % me.count();
    shunt::finish([&] {
      for (unsigned t = 0; t < 8; ++t) {
        shunt::async([&, t] {
          a.send(next, [=] { *total += 1; });
          a.ask(next, [=] { return entries[t]; }, [=](long value) { *total += 1000 * value; });
          expect(a.fetch(next, [=] { return entries[t]; }) == next * 10 + static_cast<long>(t));
        });
      }
    });
    a.finish();
    expect(*sum == 8 + 1000 * (8 * 10 * next + 28));
  });
}

namespace {

/// The class form: a handler that is a method uses parts of other objects, too.
struct counting : pgas::actor<counting, pgas::local_part<long>> {
  explicit counting(pgas::pe& me) : actor(me) {}
  void process(const pgas::local_part<long>& where) { ++*where; }
};

}  // namespace

TEST_CASE("local_part: in a message of the class form") {
  pgas::run(tiny(3, 2, 1), [](pgas::pe& me) {
    pgas::symmetric<long> first(me, 0L), second(me, 0L);
    counting c(me);
    for (int p = 0; p < me.count(); ++p) {
      c.send(p, first.local());
      if (p != me.index()) c.send(p, second.local());
    }
    c.finish();
    expect(*first == me.count());
    expect(*second == me.count() - 1);
  });
}

TEST_CASE("local_part: of a const object it is const, and an exception of a part leaves no name behind") {
  pgas::run(tiny(2, 1, 1), [](pgas::pe& me) {
    struct picky {
      explicit picky(bool fails) {
        if (fails) throw std::runtime_error("no");
      }
    };
    expect(thrown_by<std::runtime_error>([&] { const pgas::symmetric<picky> none(me, true); }) == "no");
    const pgas::symmetric<long> sum(me, 5L);
    pgas::symmetric<long> read(me, 0L);
    static_assert(std::is_const_v<std::remove_reference_t<decltype(*sum.local())>>);
    pgas::actor_of a(me);
    a.send(1 - me.index(), [from = sum.local(), to = read.local()] { *to = *from; });
    a.finish();
    expect(*read == 5);
  });
}

TEST_CASE("local_part: one job after another on the same threads") {
  for (int job = 0; job < 5; ++job) {
    pgas::run(tiny(3, 2, 1), [job](pgas::pe& me) {
      std::vector<std::unique_ptr<counts>> others;
      for (int i = 0; i < job; ++i) others.push_back(std::make_unique<counts>(me, 2));
      pgas::symmetric<long> sum(me, 0L);
      pgas::actor_of a(me);
      a.send((me.index() + 1) % 3, [to = sum.local(), job] { *to = job; });
      a.finish();
      expect(*sum == job);
    });
  }
}

TEST_CASE("local_part: outside a handler it is refused, and says what to use") {
  const bool in_task = GENERATE(false, true);
  const auto what = failure_of(tiny(2, 1), [in_task](pgas::pe& me) {
    pgas::symmetric<double> sum(me, 0.);
    if (!in_task) *sum.local() = 1;
    shunt::finish([&] { shunt::async([&] { *sum.local() = 1; }); });
  });
  CAPTURE(what);
  CHECK(what.find("a local_part of double is used outside a handler") != std::string::npos);
  CHECK(what.find("use the symmetric object itself") != std::string::npos);
}

TEST_CASE("local_part: an object that is gone, was replaced, or is of another type, is refused with handler and PE") {
  enum class how { gone, replaced, other_type };
  const auto mistake = GENERATE(how::gone, how::replaced, how::other_type);
  const auto what = failure_of(tiny(2, 2), [mistake](pgas::pe& me) {
    pgas::actor_of a(me);
    if (mistake != how::other_type) {
      const auto lost = pgas::symmetric<double>(me, 0.).local();
      std::optional<pgas::symmetric<double>> next;
      if (mistake == how::replaced) next.emplace(me, 0.);
      a.send(1, [=] { *lost = 1; });
      a.finish();
    } else if (me.index() == 0) {
      pgas::symmetric<double> sum(me, 0.);
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

TEST_CASE("symmetric: a task does not construct one, nor destroy it") {
  const bool destroys = GENERATE(false, true);
  const auto what = failure_of(tiny(2, 2), [destroys](pgas::pe& me) {
    std::optional<pgas::symmetric<long>> object;
    if (destroys) object.emplace(me, 0L);
    // On the other PE's worker, if there is one.
    shunt::fiber elsewhere(
        [&] {
          if (destroys) {
            object.reset();
          } else {
            object.emplace(me, 0L);
          }
        },
        {.worker = 1 - me.index()});
    elsewhere.join();
    me.barrier();
  });
  CAPTURE(what);
  CHECK(what.find(destroys ? "a task destroys a symmetric object" : "the construction of a symmetric object") !=
        std::string::npos);
}
