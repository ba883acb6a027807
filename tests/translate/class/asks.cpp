// Requests and replies: captures there and here, references here, replies without a value, several in one actor.
#include <cstdio>
#include <map>
#include <shunt/pgas.hpp>
#include <vector>

namespace pgas = shunt::pgas;

struct book {
  std::map<int, long> pages;
  long read = 0;
};

static long ask_all(pgas::pe& me, pgas::symmetric<book>& books, std::vector<long>& results) {
  long answered = 0, replies = 0;
  pgas::actor_of reader(books);
  for (int i = 0; i < 100; ++i) {
    reader.ask(
        i % me.count(), [page = i % 10](book& b) { return ++b.read, b.pages[page]; },  // there
        [i, &results, &answered](book& b, auto value) {
          ++b.read;
          results[static_cast<std::size_t>(i)] = value, ++answered;
        });
    reader.ask(
        i % me.count(), [](const auto& b) { return static_cast<int>(b.pages.size()); },
        [&replies](auto&, const auto& n, auto& here) { replies += here.from() < here.count() ? n : -1000; });
    reader.ask(i % me.count(), [i](book& b) { b.pages[i % 10] += 0; }, [&replies] { replies += 1000; });
  }
  reader.finish();
  return answered * 10'000'000 + replies;
}

static long ask_one(pgas::pe& me, pgas::symmetric<book>& books) {
  std::vector<long> results(20);
  pgas::symmetric<long*> into(me, results.data());
  pgas::actor_of<book, long*> reader(books, into);
  for (unsigned i = 0; i < 20; ++i)
    reader.ask(
        static_cast<int>(i) % me.count(), [page = static_cast<int>(i) % 10](book& b, auto&) { return b.pages[page]; },
        [i](auto&, long*& to, long value) { to[i] = value; });
  reader.finish();
  long sum = 0;
  for (const long r : results) sum += r;
  return sum;
}

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    pgas::symmetric<book> books(me);
    for (int p = 0; p < 10; ++p) books->pages[p] = 7 * p;
    me.barrier();
    std::vector<long> results(100);
    const long all = ask_all(me, books, results);
    long sum = 0;
    for (const long r : results) sum += r;
    const long one = ask_one(me, books);
    if (all != 1'000'101'000 || sum != 3150 || one != 630 || me.sum(books->read) != 200 * me.count()) {
      throw shunt::error("wrong: " + std::to_string(all) + ' ' + std::to_string(sum) + ' ' + std::to_string(one));
    }
    if (me.index() == 0) std::printf("%ld %ld %ld\n", all, sum, one);
  });
}
