// The same as a class: the message is a value, and the class says how it is processed. Here: votes for candidates.
#include <shunt/pgas.hpp>

#include <cstdio>
#include <vector>

namespace {

struct ballot {
  int candidate;
};

struct ballot_box : shunt::pgas::actor<ballot_box, ballot> {
  explicit ballot_box(shunt::pgas::pe& me) : actor(me), votes(10), voters(static_cast<std::size_t>(me.count())) {}

  // Runs on the PE it was sent to, on that PE's object. `from` may be left out; then more messages share a batch.
  void process(ballot b, int from) {
    ++votes[static_cast<std::size_t>(b.candidate)];
    ++voters[static_cast<std::size_t>(from)];
  }

  std::vector<long> votes, voters;
};

}  // namespace

int main(int argc, char** argv) {
  return shunt::pgas::launch(argc, argv, [](shunt::pgas::pe& me) {
    ballot_box box(me);
    for (int epoch = 1; epoch <= 3; ++epoch) {
      for (int to = 0; to < me.count(); ++to) {
        for (int i = 0; i < 100; ++i) box.send(to, {i % 10});
      }
      box.finish();  // then the box may be used again
      for (const long v : box.votes) {
        if (v != 10L * epoch * me.count()) throw shunt::error("votes were lost or doubled");
      }
      for (const long v : box.voters) {
        if (v != 100L * epoch) throw shunt::error("votes were counted for the wrong voter");
      }
      // No barrier is needed before the next epoch: its messages wait until finish() has returned here.
    }
    if (me.index() == 0) std::puts("class form: right");
  });
}
