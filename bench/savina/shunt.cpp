/// Question: what do ten small actor programs cost, written in the obvious way?
///
/// The programs and their sizes are those of the Savina suite: Imam, Sarkar: Savina, an actor benchmark suite. AGERE!
/// 2014, doi:10.1145/2687357.2687368. Each runs on a manager with default mailboxes, and its answer is checked; a
/// sample begins when the actors are there, and ends when no message is on its way.
#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <shunt/actor.hpp>
#include <shunt/base/random.hpp>

#include "../common/program.h"

namespace {

template <class T>
using ref = shunt::ref<T>;

/// What a program does when its actors are there, and how it knows that it was right.
struct prepared {
  std::function<void()> go;
  std::function<void()> check;
  std::uint64_t messages;
};

const char* program = "savina_shunt";

void must_be(const char* what, long got, long expected) {
  if (got != expected)
    bench_wrong(program, what, static_cast<unsigned long long>(got), static_cast<unsigned long long>(expected));
}

/// Numbers in order.
class draws {
 public:
  explicit draws(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return random_.below(next_++, bound); }

 private:
  shunt::counter_random random_;
  std::uint64_t next_ = 0;
};

// --- ping-pong: a ball goes to and fro ---

struct player {
  void hit(ref<player> me, ref<player> other, long left) {
    ++hits;
    if (left > 1) other.tell<&player::hit>(other, me, left - 1);
  }
  long count() const { return hits; }
  long hits = 0;
};

prepared pingpong(shunt::manager& all, long scale) {
  const long balls = 2 * 40'000 * scale;
  const auto a = all.spawn<player>(), b = all.spawn<player>();
  return {[=] { a.tell<&player::hit>(a, b, balls); },
          [=] {
            must_be("hits",
                    shunt::manager::await(a.ask<&player::count>()) + shunt::manager::await(b.ask<&player::count>()),
                    balls);
          },
          static_cast<std::uint64_t>(balls)};
}

// --- counting: one actor sends, one counts ---

struct counter {
  void add() { ++sum; }
  long get() const { return sum; }
  long sum = 0;
};
struct producer {
  void produce(ref<counter> to, long count) {
    for (long i = 0; i != count; ++i) to.tell<&counter::add>();
  }
};

prepared counting(shunt::manager& all, long scale) {
  const long count = 1'000'000 * scale;
  const auto to = all.spawn<counter>();
  const auto from = all.spawn<producer>();
  return {[=] { from.tell<&producer::produce>(to, count); },
          [=] { must_be("count", shunt::manager::await(to.ask<&counter::get>()), count); },
          static_cast<std::uint64_t>(count)};
}

// --- fork-join throughput: many actors, a stream of small work for each ---

struct worker {
  void work(double x) {
    result += x * x;
    ++done;
  }
  long get() const { return done; }
  double result = 0;
  long done = 0;
};

struct foreman {
  explicit foreman(std::vector<ref<worker>> w) : workers(std::move(w)) {}
  void hand_out(long each) {
    for (long i = 0; i != each; ++i) {
      for (const auto& w : workers) w.tell<&worker::work>(0.5);
    }
  }
  std::vector<ref<worker>> workers;
};

prepared forkjoin(shunt::manager& all, long scale) {
  const long each = 10'000 * scale;
  std::vector<ref<worker>> workers;
  for (int i = 0; i != 60; ++i) workers.push_back(all.spawn<worker>());
  const auto from = all.spawn<foreman>({}, workers);
  return {[=] { from.tell<&foreman::hand_out>(each); },
          [=] {
            for (const auto& w : workers) must_be("pieces of work", shunt::manager::await(w.ask<&worker::get>()), each);
          },
          static_cast<std::uint64_t>(60 * each)};
}

// --- thread ring: a token goes round a hundred actors ---

struct link {
  void join(ref<link> n) { next = n; }
  void pass(long left) {
    ++passed;
    if (left > 1) next.tell<&link::pass>(left - 1);
  }
  long get() const { return passed; }
  ref<link> next;
  long passed = 0;
};

prepared ring(shunt::manager& all, long scale) {
  const long hops = 100'000 * scale;
  std::vector<ref<link>> links;
  for (int i = 0; i != 100; ++i) links.push_back(all.spawn<link>());
  for (std::size_t i = 0; i != links.size(); ++i) links[i].tell<&link::join>(links[(i + 1) % links.size()]);
  all.drain();
  return {[=] { links[0].tell<&link::pass>(hops); },
          [=] {
            long sum = 0;
            for (const auto& l : links) sum += shunt::manager::await(l.ask<&link::get>());
            must_be("hops", sum, hops);
          },
          static_cast<std::uint64_t>(hops)};
}

// --- chameneos: a mall brings two together at a time, and they change their colours ---

enum class colour : std::uint8_t { blue, red, yellow };
constexpr colour after_meeting(colour a, colour b) {
  return a == b ? a : static_cast<colour>(3 - static_cast<int>(a) - static_cast<int>(b));
}

struct chameneo;
struct mall {
  explicit mall(long m) : left(m) {}
  void arrive(ref<chameneo> visitor, colour c);
  long met() const { return meetings; }
  long left;
  long meetings = 0;
  ref<chameneo> waiting;
  colour its = colour::blue;
};
struct chameneo {
  chameneo(ref<mall> m, colour c) : where(m), mine(c) {}
  void begin(ref<chameneo> self) {
    me = self;
    where.tell<&mall::arrive>(me, mine);
  }
  void meet(colour other) {
    mine = after_meeting(mine, other);
    ++meetings;
    where.tell<&mall::arrive>(me, mine);
  }
  long met() const { return meetings; }
  ref<mall> where;
  ref<chameneo> me;
  colour mine;
  long meetings = 0;
};
void mall::arrive(ref<chameneo> visitor, colour c) {
  if (left == 0) return;
  if (!waiting) {
    waiting = visitor;
    its = c;
    return;
  }
  --left;
  ++meetings;
  visitor.tell<&chameneo::meet>(its);
  std::exchange(waiting, {}).tell<&chameneo::meet>(c);
}

prepared chameneos(shunt::manager& all, long scale) {
  const long meetings = 200'000 * scale;
  const auto where = all.spawn<mall>({}, meetings);
  std::vector<ref<chameneo>> visitors;
  for (int i = 0; i != 100; ++i) visitors.push_back(all.spawn<chameneo>({}, where, static_cast<colour>(i % 3)));
  return {[=] {
            for (const auto& c : visitors) c.tell<&chameneo::begin>(c);
          },
          [=] {
            long sum = 0;
            for (const auto& c : visitors) sum += shunt::manager::await(c.ask<&chameneo::met>());
            must_be("meetings of the mall", shunt::manager::await(where.ask<&mall::met>()), meetings);
            must_be("meetings of all", sum, 2 * meetings);
          },
          static_cast<std::uint64_t>(4 * meetings)};
}

// --- big: every actor pings another one at random, and is answered ---

struct pinger {
  pinger(std::uint64_t seed, long n) : random(seed), left(n) {}
  void begin(ref<pinger> self, std::shared_ptr<const std::vector<ref<pinger>>> others) {
    me = self;
    all = std::move(others);
    next();
  }
  void ping(ref<pinger> from) { from.tell<&pinger::pong>(); }
  void pong() {
    ++answers;
    next();
  }
  long get() const { return answers; }

  void next() {
    if (left-- <= 0) return;
    (*all)[random.below(all->size())].tell<&pinger::ping>(me);
  }
  draws random;
  long left;
  long answers = 0;
  ref<pinger> me;
  std::shared_ptr<const std::vector<ref<pinger>>> all;
};

prepared big(shunt::manager& all, long scale) {
  const long pings = 20'000 * scale;
  auto pingers = std::make_shared<std::vector<ref<pinger>>>();
  for (std::uint64_t i = 0; i != 120; ++i) pingers->push_back(all.spawn<pinger>({}, i, pings));
  return {[=] {
            for (const auto& p : *pingers) p.tell<&pinger::begin>(p, pingers);
          },
          [=] {
            for (const auto& p : *pingers) must_be("answers", shunt::manager::await(p.ask<&pinger::get>()), pings);
          },
          static_cast<std::uint64_t>(2 * 120 * pings)};
}

// --- concurrent dictionary: twenty actors read and write one map ---

struct reader;
struct dictionary {
  void write(ref<reader> from, long key, long value);
  void read(ref<reader> from, long key);
  long get() const { return served; }
  std::unordered_map<long, long> map;
  long served = 0;
};
struct reader {
  reader(std::uint64_t seed, ref<dictionary> d, long n) : random(seed), of(d), left(n) {}
  void begin(ref<reader> self) {
    me = self;
    next();
  }
  void result(long key, long value) {
    if (value != 0 && value != 2 * key + 1) ++wrong;
    next();
  }
  long errors() const { return wrong; }

  void next() {
    if (left-- <= 0) return;
    const auto key = static_cast<long>(random.below(512));
    if (random.below(10) == 0) {
      of.tell<&dictionary::write>(me, key, 2 * key + 1);
    } else {
      of.tell<&dictionary::read>(me, key);
    }
  }
  draws random;
  ref<dictionary> of;
  ref<reader> me;
  long left;
  long wrong = 0;
};
void dictionary::write(ref<reader> from, long key, long value) {
  ++served;
  map[key] = value;
  from.tell<&reader::result>(key, value);
}
void dictionary::read(ref<reader> from, long key) {
  ++served;
  const auto found = map.find(key);
  from.tell<&reader::result>(key, found == map.end() ? 0 : found->second);
}

prepared concdict(shunt::manager& all, long scale) {
  const long each = 10'000 * scale;
  const auto map = all.spawn<dictionary>();
  std::vector<ref<reader>> readers;
  for (std::uint64_t i = 0; i != 20; ++i) readers.push_back(all.spawn<reader>({}, i, map, each));
  return {[=] {
            for (const auto& r : readers) r.tell<&reader::begin>(r);
          },
          [=] {
            for (const auto& r : readers) must_be("wrong answers", shunt::manager::await(r.ask<&reader::errors>()), 0);
            must_be("requests", shunt::manager::await(map.ask<&dictionary::get>()), 20 * each);
          },
          static_cast<std::uint64_t>(2 * 20 * each)};
}

// --- philosophers: an arbitrator hands out forks, two at a time or none ---

struct philosopher;
struct table {
  explicit table(std::size_t n) : taken(n) {}
  void hungry(ref<philosopher> guest, std::size_t seat);
  void full(std::size_t seat) { taken[seat] = taken[(seat + 1) % taken.size()] = false; }
  std::vector<bool> taken;
};
struct philosopher {
  philosopher(ref<table> t, std::size_t s, long n) : at(t), seat(s), left(n) {}
  void begin(ref<philosopher> self) {
    me = self;
    at.tell<&table::hungry>(me, seat);
  }
  void denied() { at.tell<&table::hungry>(me, seat); }
  void eat() {
    ++meals;
    at.tell<&table::full>(seat);
    if (--left > 0) at.tell<&table::hungry>(me, seat);
  }
  long get() const { return meals; }
  ref<table> at;
  ref<philosopher> me;
  std::size_t seat;
  long left;
  long meals = 0;
};
void table::hungry(ref<philosopher> guest, std::size_t seat) {
  const std::size_t right = (seat + 1) % taken.size();
  if (taken[seat] || taken[right]) return guest.tell<&philosopher::denied>();
  taken[seat] = taken[right] = true;
  guest.tell<&philosopher::eat>();
}

prepared philosophers(shunt::manager& all, long scale) {
  const long meals = 10'000 * scale;
  const auto at = all.spawn<table>({}, std::size_t{20});
  std::vector<ref<philosopher>> guests;
  for (std::size_t i = 0; i != 20; ++i) guests.push_back(all.spawn<philosopher>({}, at, i, meals));
  return {[=] {
            for (const auto& p : guests) p.tell<&philosopher::begin>(p);
          },
          [=] {
            for (const auto& p : guests) must_be("meals", shunt::manager::await(p.ask<&philosopher::get>()), meals);
          },
          static_cast<std::uint64_t>(3 * 20 * meals)};  // at least
}

// --- sieve: a chain of filters, each with up to a thousand primes, grows at its end ---

struct filter {
  filter(shunt::manager& m, long first) : all(&m) { primes.push_back(first); }
  void candidate(long n) {
    for (const long p : primes) {
      if (n % p == 0) return;
    }
    if (next) return next.tell<&filter::candidate>(n);
    if (primes.size() < 1'000) {
      primes.push_back(n);
    } else {
      next = all->spawn<filter>({}, *all, n);
    }
  }
  std::pair<long, ref<filter>> get() const { return {static_cast<long>(primes.size()), next}; }
  shunt::manager* all;
  std::vector<long> primes;
  ref<filter> next;
};

prepared sieve(shunt::manager& all, long scale) {
  const long end = scale == 1 ? 100'000 : 1'000'000;
  const auto first = all.spawn<filter>({}, all, 2L);
  return {[=] {
            for (long n = 3; n < end; n += 2) first.tell<&filter::candidate>(n);
          },
          [=] {
            long primes = 0;
            for (auto f = first; f;) {
              const auto [here, next] = shunt::manager::await(f.ask<&filter::get>());
              primes += here;
              f = next;
            }
            must_be("primes", primes, scale == 1 ? 9'592 : 78'498);
          },
          static_cast<std::uint64_t>(end / 2)};
}

// --- bank transaction: a debit that waits for the other account's credit ---

struct account {
  explicit account(long b) : balance(b) {}
  void transfer(ref<account> to, long amount) {
    balance -= amount;
    to.ask<&account::credit>(amount).get();  // parks this handler; the account takes no other message meanwhile
  }
  void credit(long amount) { balance += amount; }
  long get() const { return balance; }
  long balance;
};

struct teller {
  explicit teller(std::vector<ref<account>> w) : accounts_(std::move(w)) {}
  void order(long transfers) {
    draws random(7);
    for (long i = 0; i != transfers; ++i) {
      // From lower to higher: two that waited for each other's credit would wait for ever, and be told so.
      const auto from = random.below(accounts_.size() - 1);
      const auto to = from + 1 + random.below(accounts_.size() - 1 - from);
      accounts_[from].tell<&account::transfer>(accounts_[to], static_cast<long>(random.below(100)));
    }
  }
  std::vector<ref<account>> accounts_;
};

prepared bank(shunt::manager& all, long scale) {
  constexpr long accounts = 1'000;
  const long transfers = 50'000 * scale;
  std::vector<ref<account>> all_accounts;
  for (long i = 0; i != accounts; ++i) all_accounts.push_back(all.spawn<account>({}, 1'000'000L));
  const auto orders = all.spawn<teller>({}, all_accounts);
  return {[=] { orders.tell<&teller::order>(transfers); },
          [=] {
            long sum = 0;
            for (const auto& a : all_accounts) sum += shunt::manager::await(a.ask<&account::get>());
            must_be("the sum of all accounts", sum, accounts * 1'000'000);
          },
          static_cast<std::uint64_t>(2 * transfers)};
}

using maker = prepared (*)(shunt::manager&, long);
const std::map<std::string_view, maker> programs{
    {"pingpong", pingpong},   {"counting", counting}, {"forkjoin", forkjoin}, {"ring", ring},
    {"chameneos", chameneos}, {"big", big},           {"concdict", concdict}, {"philosophers", philosophers},
    {"sieve", sieve},         {"bank", bank}};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  program = argv[0];
  const auto found = programs.find(options.what);
  if (found == programs.end()) bench_bad_option(argv[0], "--what", options.what);
  if (options.scale < 1) bench_bad_option(argv[0], "--scale", "0");
  for (long round = 0; round < options.warmup + options.samples; ++round) {
    shunt::manager all(shunt::sched::options{.workers = static_cast<int>(options.pes), .stuck_after = {}});
    const auto made = found->second(all, options.scale);
    const double start = bench_now();
    made.go();
    all.drain();
    const double seconds = bench_now() - start;
    made.check();
    char extra[64];
    std::snprintf(extra, sizeof extra, ", \"messages\": %llu", static_cast<unsigned long long>(made.messages));
    if (round >= options.warmup) bench_report(seconds, extra);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
