// Messages as lambdas, against serial oracles, over PEs, workers and hops; trains are tiny, so programs wait for them.
#include <support/jobs.hpp>

#include <array>
#include <atomic>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/random.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

using counts = pgas::symmetric<std::vector<long>>;

/// Which PE message i of PE p goes to.
enum class pattern { random, self, next, all_to_one, half };
constexpr auto patterns = {pattern::random, pattern::self, pattern::next, pattern::all_to_one, pattern::half};

int destination(pattern how, int p, int i, int pes, std::uint64_t seed) {
  switch (how) {
    case pattern::random:
      return static_cast<int>(counter_random(seed).below(
          static_cast<std::uint64_t>(p) * 1'000'003u + static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(pes)));
    case pattern::self: return p;
    case pattern::next: return (p + 1) % pes;
    case pattern::all_to_one: return pes - 1;
    case pattern::half: return p % 2 == 0 ? (p + i) % pes : p;
  }
  return 0;
}

/// What lies at each spot of PE `at` once every PE has sent messages 0..n-1.
std::vector<long> expected(pattern how, int at, int pes, int n, std::uint64_t seed, std::size_t spots) {
  std::vector<long> sum(spots);
  for (int p = 0; p < pes; ++p) {
    for (int i = 0; i < n; ++i) {
      if (destination(how, p, i, pes, seed) == at) sum[static_cast<std::size_t>(i) % spots] += p + 1;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("actor: every message is processed once, on the part it was sent to, before finish returns") {
  const int pes = GENERATE(1, 2, 3, 4, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);  // then there is a send buffer for each PE, also where a worker has several
  CAPTURE(pes, workers, hops, roomy);
  const int n = pes == 64 ? 150 : 400;
  pgas::run(roomy ? small(pes, workers, hops) : tiny(pes, workers, hops), [n](pgas::pe& me) {
    counts part(me, 16);
    for (const auto how : patterns) {
      me.barrier();
      std::fill(part->begin(), part->end(), 0);
      pgas::actor_of adder(part);
      me.barrier();
      for (int i = 0; i < n; ++i) {
        adder.send(destination(how, me.index(), i, me.count(), 5),
                   [spot = i % 16, by = me.index() + 1](auto& c) { c[static_cast<std::size_t>(spot)] += by; });
      }
      adder.finish();
      expect(*part == expected(how, me.index(), me.count(), n, 5, 16));
    }
  });
}

TEST_CASE("actor: 1024 PEs") {
  const int workers = GENERATE(2, 5);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(1024, workers, hops), [](pgas::pe& me) {
    counts part(me, 4);
    pgas::actor_of adder(part);
    for (int i = 0; i < 20; ++i) {
      adder.send((me.index() + 37 * i) % me.count(), [spot = i % 4](auto& c) { ++c[static_cast<std::size_t>(spot)]; });
    }
    adder.finish();
    expect(*part == std::vector<long>{5, 5, 5, 5});
  });
}

TEST_CASE("actor: one that is used again for many epochs, with other patterns, ends each of them") {
  const int pes = GENERATE(1, 2, 4, 7);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    counts part(me, 8);
    pgas::actor_of adder(part);
    for (int epoch = 0; epoch < 40; ++epoch) {
      const auto how = *(patterns.begin() + epoch % static_cast<int>(patterns.size()));
      const int n = epoch % 4 == 3 ? 0 : 3 * epoch;
      const auto seed = static_cast<std::uint64_t>(epoch);
      for (int i = 0; i < n; ++i) {
        adder.send(destination(how, me.index(), i, me.count(), seed),
                   [spot = i % 8, by = me.index() + 1](auto& c) { c[static_cast<std::size_t>(spot)] += by; });
      }
      if ((epoch + me.index()) % 3 == 0) adder.done();  // some say it early
      adder.finish();
      // No PE sends for the next epoch before all have looked: the barrier.
      expect(*part == expected(how, me.index(), me.count(), n, seed, 8));
      std::fill(part->begin(), part->end(), 0);
      me.barrier();
    }
  });
}

TEST_CASE("selector: three mailboxes in a chain, each handler sends to the next") {
  const int pes = GENERATE(1, 2, 3, 4, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(small(pes, workers, hops), [](pgas::pe& me) {
    constexpr int n = 100;
    pgas::symmetric<std::array<long, 3>> seen(me);
    auto s = pgas::make_selector<3>(seen);
    for (int epoch = 0; epoch < 3; ++epoch) {
      me.barrier();
      *seen = {};
      me.barrier();
      for (int i = 0; i < n; ++i) {
        s.send<0>((me.index() + i) % me.count(), [i](auto& at, auto& here) {
          at[0] += i;
          here.template send<1>((here.index() + 2 * i) % here.count(), [i](auto& at1, auto& here1) {
            at1[1] += i + 1;
            here1.template send<2>((here1.index() + 3 * i) % here1.count(), [i](auto& at2) { at2[2] += i + 2; });
          });
        });
        // Programs may feed any mailbox.
        if (i % 10 == 0) s.send<2>(me.index(), [](auto& at2) { at2[2] += 1; });
      }
      if (epoch == 1) s.done<0>();
      s.finish();
      std::array<long, 3> wanted{};
      for (int p = 0; p < me.count(); ++p) {
        for (int i = 0; i < n; ++i) {
          const int a = (p + i) % me.count(), b = (a + 2 * i) % me.count(), c = (b + 3 * i) % me.count();
          if (a == me.index()) wanted[0] += i;
          if (b == me.index()) wanted[1] += i + 1;
          if (c == me.index()) wanted[2] += i + 2;
        }
      }
      wanted[2] += n / 10;
      expect(*seen == wanted);
    }
  });
}

TEST_CASE("selector: the mailbox is chosen while running, by programs and by handlers") {
  const int pes = GENERATE(1, 3, 4);
  const int hops = GENERATE(1, 2);
  pgas::run(small(pes, 2, hops), [](pgas::pe& me) {
    constexpr int n = 120;
    pgas::symmetric<std::array<long, 3>> seen(me);
    auto s = pgas::make_selector<3>(seen);
    for (int i = 0; i < n; ++i) {
      const std::size_t mailbox = static_cast<std::size_t>(i) % 3;
      s.send_through(mailbox, i % me.count(), [mailbox](auto& at, auto& here) {
        ++at[mailbox];
        if (mailbox < 2) here.send_through(2, here.from(), [](auto& at2) { at2[2] += 100; });
      });
    }
    s.done(std::size_t{0});
    s.send_through(1, me.index(), [](auto& at) { at[1] += 1000; });  // mailbox 0 would refuse it
    s.finish();
    long to_here = 0, by_mailbox[3] = {};
    for (int i = 0; i < n; ++i) {
      if (i % me.count() != me.index()) continue;
      ++to_here;
      ++by_mailbox[i % 3];
    }
    expect(to_here == by_mailbox[0] + by_mailbox[1] + by_mailbox[2]);
    expect((*seen)[0] == me.count() * by_mailbox[0]);
    expect((*seen)[1] == me.count() * by_mailbox[1] + 1000);
    expect((*seen)[2] == me.count() * by_mailbox[2] + 100 * n / 3 * 2);
  });
}

TEST_CASE("actor_of several objects: the handler gets each part of its PE, in order, and says where it is") {
  const int pes = GENERATE(1, 2, 5);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<std::string> name(me, std::to_string(me.index()));
    counts from(me, static_cast<std::size_t>(me.count()));
    pgas::symmetric<int> total(me, 0);
    pgas::actor_of all(name, from, total);
    for (int to = 0; to < me.count(); ++to) {
      for (int i = 0; i <= to; ++i) {
        all.send(to, [to, sender = me.index()](std::string& text, std::vector<long>& f, int& t, auto& here) {
          expect(text == std::to_string(to) && here.index() == to && here.from() == sender);
          ++f[static_cast<std::size_t>(here.from())];
          t += here.count();
        });
      }
    }
    all.finish();
    expect(*from == std::vector<long>(static_cast<std::size_t>(me.count()), me.index() + 1));
    expect(*total == me.count() * me.count() * (me.index() + 1));
  });
}

TEST_CASE("here.from(): the PE that sent, also for what handlers send on") {
  const int pes = GENERATE(1, 4, 7);
  const int workers = GENERATE(1, 3, 7);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(small(pes, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> seen(me, 0);
    auto s = pgas::make_selector<2>(seen);
    for (int to = 0; to < me.count(); ++to) {
      s.send<0>(to, [origin = me.index()](long&, auto& here) {
        expect(here.from() == origin);
        const int next = (here.index() + 1) % here.count();
        here.template send<1>(next, [by = here.index(), next](long& n, auto& there) {
          expect(there.from() == by && there.index() == next);
          ++n;
        });
      });
    }
    s.finish();
    expect(*seen == me.count());
  });
}

TEST_CASE("ask: the reply comes back to the PE that asked, with its captures, before finish returns") {
  const int pes = GENERATE(1, 2, 3, 7, 64);
  const int workers = GENERATE(1, 2, 3, 5);
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);
  CAPTURE(pes, workers, hops, roomy);
  // Where trains take two hops, each request may set two trains of handlers going.
  pgas::run(hops == 1 && !roomy ? tiny(pes, workers, hops) : small(pes, workers, hops), [](pgas::pe& me) {
    constexpr int n = 150;
    pgas::symmetric<std::vector<int>> table(me, 10);
    std::iota(table->begin(), table->end(), 10 * me.index());
    pgas::symmetric<std::vector<int>> found(me, n);
    pgas::symmetric<int> touched(me, 0), told(me, 0);
    pgas::actor_of reader(table, found, touched, told);
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (int i = 0; i < n; ++i) {
        const int to = (7 * i + me.index() + epoch) % me.count();
        reader.ask(
            to, [spot = i % 10](auto& t, auto&, int&, int&) { return t[static_cast<std::size_t>(spot)]; },
            [i](auto&, auto& mine, int&, int&, int value) { mine[static_cast<std::size_t>(i)] = value; });
        reader.ask(
            to, [](auto&, auto&, int& t, int&) { ++t; },
            [origin = me.index()](auto&, auto&, int&, int& t, auto& here) {
              expect(here.index() == origin);
              ++t;
            });
      }
      reader.finish();
      for (int i = 0; i < n; ++i) {
        const int to = (7 * i + me.index() + epoch) % me.count();
        expect((*found)[static_cast<std::size_t>(i)] == 10 * to + i % 10);
      }
      expect(*told == n * (epoch + 1));
      expect(me.sum(*touched) == n * (epoch + 1) * me.count());
    }
  });
}

TEST_CASE("ask: a reply may be larger than its request, and may be sent on to a later mailbox") {
  const int workers = GENERATE(1, 2, 4);
  const int hops = GENERATE(1, 2);
  CAPTURE(workers, hops);
  pgas::run(small(4, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<std::array<long, 12>> part(me);
    part->fill(me.index() + 1);
    pgas::symmetric<long> sum(me, 0);
    auto s = pgas::make_selector<2>(part, sum);
    for (int i = 0; i < 200; ++i) {
      s.ask<0>(
          i % 4, [](auto& p, long&) { return p; },
          [](auto&, long&, const std::array<long, 12>& p, auto& here) {
            here.template send<1>((here.index() + 1) % 4, [n = p[11]](auto&, long& total) { total += n; });
          });
    }
    s.finish();
    expect(*sum == 50 * (1 + 2 + 3 + 4));
  });
}

TEST_CASE("fetch: one value of another PE, now, while others send") {
  const int pes = GENERATE(1, 2, 3, 7);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  const bool roomy = GENERATE(false, true);
  CAPTURE(pes, workers, hops, roomy);
  pgas::run(roomy ? small(pes, workers, hops) : tiny(pes, workers, hops), [](pgas::pe& me) {
    struct record {
      double value;
      char tag[21];
    };
    pgas::symmetric<record> mine(me, record{me.index() + 0.5, {}});
    pgas::symmetric<long> hits(me, 0);
    pgas::actor_of reader(mine, hits);
    for (int i = 0; i < 20; ++i) {
      const int to = (me.index() + i) % me.count();
      for (int k = 0; k < 10; ++k) reader.send((to + k) % me.count(), [](record&, long& n) { ++n; });
      expect(reader.fetch(to, [](record& r, long&) { return r; }).value == to + 0.5);
      expect(reader.fetch(to, [i](record& r, long&) { return i + static_cast<int>(r.value); }) == i + to);
    }
    reader.finish();
    expect(*hits == 200);
  });
}

namespace {

template <std::size_t Bytes>
struct odd {
  std::array<unsigned char, Bytes> bytes;
  static odd of(int seed) {
    odd o;
    for (std::size_t i = 0; i < Bytes; ++i) o.bytes[i] = static_cast<unsigned char>(seed + static_cast<int>(31 * i));
    return o;
  }
};
struct alignas(16) wide {
  long double value;
  char c;
};

template <std::size_t Bytes>
void check_size(pgas::pe& me) {
  pgas::symmetric<int> seen(me, 0);
  pgas::actor_of actor(seen);
  for (int i = 0; i < 60; ++i) {
    actor.send((me.index() + i) % me.count(), [what = odd<Bytes>::of(i), i = static_cast<signed char>(i)](int& n) {
      expect(what.bytes == odd<Bytes>::of(i).bytes);
      ++n;
    });
  }
  actor.finish();
  expect(*seen == 60);
}

}  // namespace

TEST_CASE("messages of any size and alignment arrive as they were, neighbours of others included") {
  const int pes = GENERATE(1, 4);
  const int workers = GENERATE(1, 4);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(small(pes, workers, hops), [](pgas::pe& me) {
    check_size<1>(me);
    check_size<2>(me);
    check_size<3>(me);
    check_size<7>(me);
    check_size<13>(me);
    check_size<33>(me);
    check_size<100>(me);
    check_size<255>(me);
    check_size<470>(me);
    // All of them mixed, in one train.
    pgas::symmetric<long> seen(me, 0);
    pgas::actor_of actor(seen);
    for (int i = 0; i < 100; ++i) {
      const int to = (me.index() + i / 7) % me.count();
      switch (i % 7) {
        case 0: actor.send(to, [](long& n) { n += 1; }); break;
        case 1: actor.send(to, [c = static_cast<char>(i)](long& n) { n += c; }); break;
        case 2: actor.send(to, [c = static_cast<short>(i)](long& n) { n += c; }); break;
        case 3:
          actor.send(to, [o = odd<5>::of(i), i](long& n) { n += o.bytes == odd<5>::of(i).bytes ? i : -1000; });
          break;
        case 4:
          actor.send(to, [w = wide{static_cast<long double>(i), 'x'}](long& n) {
            expect(reinterpret_cast<std::uintptr_t>(&w) % alignof(wide) == 0);
            n += static_cast<long>(w.value) + (w.c == 'x' ? 0 : 1000);
          });
          break;
        case 5: actor.send(to, [d = static_cast<double>(i)](long& n) { n += static_cast<long>(d); }); break;
        default: actor.send(to, [a = 1, b = i - 1LL](long& n) { n += a + b; }); break;
      }
    }
    actor.finish();
    long wanted = 0;
    for (int i = 0; i < 100; ++i) wanted += i % 7 == 0 ? 1 : i;
    expect(me.sum(*seen) == wanted * me.count());
  });
}

TEST_CASE("many actors at once, their traffic interleaved, each ends by itself") {
  const int pes = GENERATE(1, 3, 7);
  const int workers = GENERATE(1, 2, 5);
  const int hops = GENERATE(1, 2);
  CAPTURE(pes, workers, hops);
  pgas::run(tiny(pes, workers, hops), [](pgas::pe& me) {
    constexpr std::size_t many = 24;
    std::vector<std::unique_ptr<pgas::symmetric<long>>> parts;
    std::vector<std::unique_ptr<pgas::actor_of<long>>> actors;
    for (std::size_t a = 0; a < many; ++a) {
      parts.push_back(std::make_unique<pgas::symmetric<long>>(me, 0));
      actors.push_back(std::make_unique<pgas::actor_of<long>>(*parts.back()));
    }
    for (int i = 0; i < 600; ++i) {
      const auto a = static_cast<std::size_t>(i) % many;
      actors[a]->send((me.index() + i) % me.count(), [by = static_cast<int>(a) + 1](long& n) { n += by; });
    }
    for (std::size_t k = 0; k < many; ++k) {
      const std::size_t a = (5 * k) % many;  // ended in another order
      actors[a]->finish();
      expect(me.sum(**parts[a]) == static_cast<long>(25 * (a + 1)) * me.count());
      actors[a]->send(0, [](long& n) { n = -1; });
    }
    for (std::size_t a = many; a-- > 0;) actors[a].reset();  // finishes what was just sent
    for (std::size_t a = 0; a < many; ++a) expect((**parts[a] == -1) == (me.index() == 0));
  });
}

TEST_CASE("actors made and gone many times, nested, with messages of each") {
  const int workers = GENERATE(1, 3);
  const int hops = GENERATE(1, 2);
  pgas::run(tiny(3, workers, hops), [](pgas::pe& me) {
    pgas::symmetric<long> a(me, 0), b(me, 0);
    for (int i = 0; i < 300; ++i) {
      pgas::actor_of outer(a);
      outer.send(i % 3, [](long& n) { ++n; });
      {
        pgas::actor_of inner(b);
        inner.send((i + 1) % 3, [](long& n) { n += 2; });
      }
      outer.send((i + 2) % 3, [](long& n) { ++n; });
    }
    expect(*a == 600);
    expect(*b == 600);
  });
}

TEST_CASE("messages of faster PEs wait until a slower one has made its selector") {
  const int hops = GENERATE(1, 2);
  const int workers = GENERATE(2, 3);
  CAPTURE(hops, workers);
  std::atomic<int> ahead{0};
  // PE 0 looks at nothing until all others have sent enough to fill trains, to two selectors that it does not have yet.
  pgas::run(small(workers, workers, hops), [&](pgas::pe& me) {
    pgas::symmetric<long> first(me, 0), second(me, 0);
    if (me.index() == 0) {
      while (ahead.load() != me.count() - 1) std::this_thread::yield();
    }
    pgas::actor_of a(first);
    if (me.index() == 0) a.send(0, [](long& n) { ++n; });
    pgas::actor_of b(second);
    for (int i = 0; i < 500; ++i) {
      b.send(0, [](long& n) { n += 2; });
      a.send(0, [](long& n) { ++n; });
      a.send(me.count() - 1, [](long& n) { n += 3; });
    }
    if (me.index() != 0) ahead.fetch_add(1);
    a.finish();
    b.finish();
    if (me.index() == 0) {
      expect(*second == 1000 * me.count());
      expect(*first == 500 * me.count() + 1);
    }
    if (me.index() == me.count() - 1) expect(*first == 1500 * me.count());
  });
}

TEST_CASE("what a finish waited for is visible to the program without more ado") {
  const int workers = GENERATE(1, 2, 5);
  pgas::run(tiny(5, workers), [](pgas::pe& me) {
    pgas::symmetric<std::vector<std::string>> log(me);
    pgas::actor_of writer(log);
    for (int round = 0; round < 50; ++round) {
      for (int to = 0; to < 5; ++to) {
        writer.send(to, [round, from = me.index()](auto& l) {
          l.push_back(std::to_string(from) + " wrote in round " + std::to_string(round));
        });
      }
      writer.finish();
      expect(log->size() == 5);
      for (const auto& line : *log) expect(line.ends_with(" round " + std::to_string(round)));
      log->clear();
      me.barrier();
    }
  });
}
