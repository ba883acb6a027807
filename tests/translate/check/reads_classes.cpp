// Actors whose messages are values, and reads of their members.
#include <shunt/pgas.hpp>

#include <vector>

namespace pgas = shunt::pgas;

namespace {

struct counter : pgas::actor<counter, long> {
  explicit counter(pgas::pe& me) : actor(me), counts(100) {}
  void process(long spot) {
    ++counts[static_cast<std::size_t>(spot)];
    add(spot);
  }
  void add(long spot) { sum += spot; }
  // What the class itself does is not followed.
  long run() {
    send(0, 1);
    const long seen = sum;
    finish();
    return seen;
  }
  std::vector<long> counts;
  long sum = 0, limit = 5;
};

long of_one(pgas::pe& me) {
  counter c(me);
  auto& same = c;
  long x = c.sum;
  c.send(0, 5);
  x += c.limit;
  x += c.sum;        // wrong: `c.sum` is read before finish(), while messages of line 32 change it
  x += c.counts[3];  // wrong: `c.counts` is read before finish()
  x += same.sum;     // wrong: `c.sum` is read before finish()
  for (const long one : c.counts) x += one;  // wrong: `c.counts` is read before finish()
  same.finish();
  x += c.sum + c.counts[3];
  same.send(0, 5);
  c.limit = x;
  x += c.sum;  // wrong: `c.sum` is read before finish()
  c.quiesce();
  x += c.sum;
  c.finish();
  return x + c.run();
}

long of_parameter(counter& c) {
  c.send(0, 1);
  const long x = c.sum;  // wrong: `c.sum` is read before finish()
  c.finish();
  return x;
}

struct question {
  int spot;
};
struct library : pgas::selector<library, long, char, pgas::asking<question, int, long>> {
  explicit library(pgas::pe& me) : selector(me) {}
  void process(long n) { books += n; }
  void process(char) { ++letters; }
  long process(question q) const { return books + q.spot; }
  void replied(int, long value) { found += value; }
  long books = 0, letters = 0, found = 0;
};

// A message changes what its own function changes.
long of_several(pgas::pe& me) {
  library l(me);
  l.send<1>(0, 'a');
  long x = l.books + l.found;
  x += l.letters;  // wrong: `l.letters` is read before finish()
  l.finish();
  l.ask<2>(0, question{1}, 5);
  x += l.books;
  x += l.found;  // wrong: `l.found` is read before finish()
  l.finish();
  return x + l.letters + l.found;
}

struct both : pgas::selector<both, long, long> {
  explicit both(pgas::pe& me) : selector(me) {}
  void process(pgas::mailbox_index<0>, long n) { first += n; }
  void process(pgas::mailbox_index<1>, long n) { second += n; }
  long first = 0, second = 0;
};

long by_mailbox(pgas::pe& me) {
  both b(me);
  b.send<1>(0, 3L);
  long x = b.first;
  x += b.second;  // wrong: `b.second` is read before finish()
  b.finish();
  return x + b.second;
}

}  // namespace

int main(int argc, char** argv) {
  return pgas::launch(argc, argv, [](pgas::pe& me) {
    counter c(me);
    static_cast<void>(of_one(me) + of_parameter(c) + of_several(me) + by_mailbox(me));
  });
}
