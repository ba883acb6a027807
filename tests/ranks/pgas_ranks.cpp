/// Selectors, collectives and termination between processes, over small trains: what the tests of the room check on
/// threads, once more where trains travel by copy and handlers are found by number.
///
///   pgas_ranks [options of a job]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <shunt/base/random.hpp>
#include <shunt/pgas.hpp>
#include <shunt/task.hpp>
#include <support/jobs.hpp>

using namespace shunt;
using namespace shunt::testing;

namespace {

void check_place(pgas::pe& me) {
  // Blocks of PEs, in the order of ranks.
  const auto ranks = me.gather(me.rank());
  expect(static_cast<int>(ranks.size()) == me.count());
  expect(std::is_sorted(ranks.begin(), ranks.end()));
  expect(ranks.front() == 0 && ranks.back() == me.ranks() - 1);
}

/// A message crosses the network once where its PE is of another rank, however many hops it takes. (Where ranks have
/// different numbers of workers it may cross twice; no test here has both.)
/// Where ranks share the memory of their trains, none crosses a network.
void check_network(pgas::pe& me) {
  const char* const shared = std::getenv("SHUNT_SHARED_MEMORY");
  const bool networked = std::getenv("SHUNT_JOB") == nullptr && shared != nullptr && std::string(shared) == "0";
  constexpr std::uint64_t each = 300;
  std::uint64_t to_other_ranks = 0;
  for (const int rank : me.gather(me.rank())) to_other_ranks += rank == me.rank() ? 0 : each;
  pgas::symmetric<long> sum(me, 0);
  const auto before = me.traffic();
  {
    pgas::actor_of adder(sum);
    for (std::uint64_t i = 0; i < each; ++i) {
      for (int pe = 0; pe < me.count(); ++pe)
        adder.send(pe, [some = std::array<long, 8>{1, 2, 3, 4, 5, 6, 7, 8}](long& s) { s += some[7]; });
    }
    adder.finish();
  }
  const auto moved = me.traffic() - before;
  const auto crossing = me.sum(to_other_ranks);
  constexpr std::uint64_t message = 64 + 8;  // captures, and a route with what aligns it
  if (!networked) return expect(moved.network_bytes == 0);
  expect(moved.network_bytes >= 64 * crossing);
  expect(moved.network_bytes <= message * crossing + 64 * moved.trains);  // and heads of trains and batches
  expect(moved.network_bytes <= moved.bytes);
}

void check_actor(pgas::pe& me) {
  pgas::symmetric<std::vector<long>> part(me, 16);
  pgas::actor_of adder(part);
  for (int epoch = 0; epoch < 6; ++epoch) {
    const int n = epoch == 3 ? 0 : 500 * epoch;
    // Random, to oneself, to one: in turn.
    const auto to = [&](int p, int i) {
      const counter_random random(static_cast<std::uint64_t>(epoch));
      switch (epoch % 3) {
        case 0:
          return static_cast<int>(
              random.below(static_cast<std::uint64_t>(p * 100'000 + i), static_cast<std::uint64_t>(me.count())));
        case 1: return p;
        default: return me.count() - 1;
      }
    };
    for (int i = 0; i < n; ++i) {
      adder.send(to(me.index(), i), [i, by = me.index() + 1](auto& c) { c[static_cast<std::size_t>(i) % 16] += by; });
    }
    if (me.index() % 2 == 0) adder.done();
    adder.finish();
    std::vector<long> wanted(16);
    for (int p = 0; p < me.count(); ++p) {
      for (int i = 0; i < n; ++i) {
        if (to(p, i) == me.index()) wanted[static_cast<std::size_t>(i) % 16] += p + 1;
      }
    }
    expect(*part == wanted);
    std::fill(part->begin(), part->end(), 0);
    me.barrier();
  }
}

struct chain : pgas::selector<chain, int, long, char> {
  explicit chain(pgas::pe& me) : selector(me) {}
  void process(pgas::mailbox_index<0>, int n, int from) {
    sums[0] += n + from;
    send<1>((me().index() + n) % me().count(), n + 1L);
  }
  void process(pgas::mailbox_index<1>, long n) {
    sums[1] += n;
    send<2>(static_cast<int>((me().index() + n) % me().count()), static_cast<char>(n % 100));
  }
  void process(pgas::mailbox_index<2>, char c) { sums[2] += c; }
  std::array<long, 3> sums{};
};

void check_chain(pgas::pe& me) {
  constexpr int n = 200;
  chain s(me);
  for (int i = 0; i < n; ++i) s.send<0>((me.index() + 3 * i) % me.count(), i);
  s.finish();
  expect(s.sums == chain_sums(me, n, [](int i, int from) { return i + from; }));
}

void check_requests(pgas::pe& me) {
  constexpr int n = 800;
  pgas::symmetric<std::vector<int>> table(me, 10);
  std::iota(table->begin(), table->end(), 10 * me.index());
  pgas::symmetric<std::vector<int>> found(me, n);
  pgas::symmetric<int> told(me, 0);
  pgas::actor_of reader(table, found, told);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto to = [&](int i) { return epoch == 0 ? (7 * i + me.index()) % me.count() : 0; };
    for (int i = 0; i < n; ++i) {
      reader.ask(
          to(i), [spot = i % 10](auto& t, auto&, int&) { return t[static_cast<std::size_t>(spot)]; },
          [i](auto&, auto& mine, int&, int value) { mine[static_cast<std::size_t>(i)] = value; });
      if (i % 8 == 0) {
        reader.ask(
            to(i), [](auto&, auto&, int&) {},
            [origin = me.index()](auto&, auto&, int& t, auto& here) {
              expect(here.index() == origin);
              ++t;
            });
      }
    }
    reader.finish();
    for (int i = 0; i < n; ++i) expect((*found)[static_cast<std::size_t>(i)] == 10 * to(i) + i % 10);
    expect(*told == n / 8 * (epoch + 1));
  }
  for (int i = 0; i < 5; ++i) {
    const int to = (me.index() + i) % me.count();
    expect(reader.fetch(to, [](auto& t, auto&, int&) { return t[3]; }) == 10 * to + 3);
  }
}

void check_local_parts(pgas::pe& me) {
  pgas::symmetric<std::vector<long>> table(me, 8);
  pgas::symmetric<long> sum(me, 0);
  const auto histogram = table.local();
  const auto total = sum.local();
  pgas::actor_of actor(me);
  for (int i = 0; i < 800; ++i) {
    const auto spot = static_cast<unsigned>(i) % 8;
    actor.send(i % me.count(), [=] { histogram[spot]++; });
    if (i % 8 == 0) actor.ask(i % me.count(), [=] { return histogram[0] * 0 + 2; }, [=](long two) { *total += two; });
  }
  actor.finish();
  const long all = me.sum(std::accumulate(table->begin(), table->end(), 0L));
  expect(all == 800 * me.count());
  expect(*sum == 200);
}

void check_payload(pgas::pe& me) {
  pgas::symmetric<long> bytes(me, 0);
  pgas::actor_of actor(bytes);
  long sent = 0;
  for (std::size_t length = 0; length < me.train_bytes() - 64; length += 7) {
    sent += static_cast<long>(length);
    actor.send(static_cast<int>(length) % me.count(), text(length, me.index()),
               [](long& n, std::string_view t, auto& here) {
                 expect(t == text(t.size(), here.from()));
                 n += static_cast<long>(t.size());
               });
  }
  actor.finish();
  expect(me.sum(*bytes) == me.sum(sent));
}

void check_quiesce(pgas::pe& me) {
  relay r(me);
  for (int round = 0; round < 3; ++round) {
    if (me.index() == round % me.count()) r.send(me.count() - 1, 200);
    r.quiesce();
    expect(me.sum(r.passed) == 200 * (round + 1));
  }
  r.finish();
}

void check_collectives(pgas::pe& me) {
  struct matrix {
    std::array<std::uint64_t, 4> m;
  };
  const auto product = [](const matrix& a, const matrix& b) {
    constexpr std::uint64_t p = 1'000'003;
    return matrix{{(a.m[0] * b.m[0] + a.m[1] * b.m[2]) % p, (a.m[0] * b.m[1] + a.m[1] * b.m[3]) % p,
                   (a.m[2] * b.m[0] + a.m[3] * b.m[2]) % p, (a.m[2] * b.m[1] + a.m[3] * b.m[3]) % p}};
  };
  const auto factor = [](int pe) {
    const auto n = static_cast<std::uint64_t>(pe + 2);
    return matrix{{n, 1, n * n, 3}};
  };
  matrix wanted = factor(0);
  for (int p = 1; p < me.count(); ++p) wanted = product(wanted, factor(p));
  for (int i = 0; i < 5; ++i) expect(me.reduce(factor(me.index()), product).m == wanted.m);
  matrix before = factor(1000);
  for (int p = 0; p < me.index(); ++p) before = product(before, factor(p));
  for (int i = 0; i < 5; ++i) expect(me.scan(factor(me.index()), product, factor(1000)).m == before.m);

  const auto text = [](int pe) { return std::string(pe % 3 == 0 ? 0 : static_cast<std::size_t>(pe) * 900, 'x'); };
  const auto texts = me.gather(text(me.index()));
  for (int p = 0; p < me.count(); ++p) expect(texts[static_cast<std::size_t>(p)] == text(p));
  for (int root = 0; root < me.count(); ++root) {
    std::vector<int> mine;
    if (me.index() == root) mine.assign(1000, root);
    expect(me.broadcast(mine, root) == std::vector<int>(1000, root));
  }
  for (int i = 0; i < 20; ++i) me.barrier();
}

void check_many(pgas::pe& me) {
  pgas::symmetric<long> a(me, 0), b(me, 0);
  for (int i = 0; i < 30; ++i) {
    pgas::actor_of outer(a);
    outer.send(i % me.count(), [](long& n) { ++n; });
    {
      pgas::actor_of inner(b);
      inner.send((i + 1) % me.count(), [](long& n) { n += 2; });
    }
    outer.send(0, [](long& n) { ++n; });
  }
  expect(me.sum(*a) == 60L * me.count());
  expect(me.sum(*b) == 60L * me.count());
}

/// Two ends are open while another actor works and all PEs meet.
void check_ending(pgas::pe& me) {
  const long all = me.count();
  for (int round = 0; round < 5; ++round) {
    pgas::symmetric<long> a(me, 0), b(me, 0), c(me, 0);
    auto first = pgas::make_selector<2>(a);
    auto second = pgas::make_selector<2>(b);
    pgas::actor_of other(c);
    const auto send_pairs = [&](auto& s) {
      for (int i = 0; i < 40; ++i) {
        s.template send<0>(i % me.count(), [](long& n, auto& here) {
          ++n;
          here.template send<1>((here.index() + 1) % here.count(), [](long& next) { next += 1000; });
        });
      }
    };
    send_pairs(first);
    const auto end_of_first = first.ending();
    send_pairs(second);
    const auto end_of_second = second.ending();
    for (int i = 0; i < 20; ++i) other.send((me.index() + i) % me.count(), [](long& n) { ++n; });
    other.finish();
    expect(*c == 20);
    me.barrier();
    end_of_second.get();
    end_of_first.get();
    expect(me.sum(*a) == 40 * all * 1001 && me.sum(*b) == 40 * all * 1001);
  }
}

/// Tasks send, ask and fetch on whatever worker of their rank they run.
void check_tasks(pgas::pe& me) {
  for (int round = 0; round < 3; ++round) {
    pgas::symmetric<long> part(me, 0), asked(me, 0);
    pgas::actor_of adder(part);
    pgas::actor_of reader(asked);
    shunt::finish([&] {
      for (int t = 0; t < 6; ++t) {
        shunt::async([&, t] {
          for (int i = 0; i < 50; ++i) adder.send((me.index() + t + i) % me.count(), [](long& n) { ++n; });
          for (int i = 0; i < 10; ++i) {
            reader.ask((me.index() + i) % me.count(), [](const long&) { return 1L; },
                       [](long& n, long one) { n += one; });
          }
          const int to = (me.index() + t) % me.count();
          expect(reader.fetch(to, [to](const long&) { return to; }) == to);
        });
      }
    });
    adder.finish();
    reader.finish();
    expect(me.sum(*part) == 300L * me.count());
    expect(*asked == 60);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    const auto say = [&me](const char* what) {
      me.barrier();
      if (me.index() == 0) std::fprintf(stderr, "%s\n", what);  // where it was, should it hang
    };
    check_place(me);
    say("network");
    check_network(me);
    say("actor");
    check_actor(me);
    say("chain");
    check_chain(me);
    say("requests");
    check_requests(me);
    say("payload");
    check_local_parts(me);
    check_payload(me);
    say("quiesce");
    check_quiesce(me);
    say("collectives");
    check_collectives(me);
    say("many");
    check_many(me);
    say("ending");
    check_ending(me);
    say("tasks");
    check_tasks(me);
  });
}
