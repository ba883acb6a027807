/// Question: what is the least that a superstep (one message each, and termination) and a round trip cost?
#include "../common/shunt.hpp"
#include "message.h"

namespace {

struct box {
  long word = 0;
  long round = 0;
};

}  // namespace

int main(int argc, char** argv) {
  auto options = bench_parse(argc, argv);
  options.pes = 2;
  const bool round_trip = bench_is_round_trip(argv[0], &options) != 0;
  const bool lambda = bench::lambda_form(argv[0], options);
  return bench::job(argv[0], options, [&](shunt::pgas::pe& me) {
    struct by_class : shunt::pgas::actor<by_class, long> {
      by_class(shunt::pgas::pe& pe, box& to) : actor(pe), mine(to) {}
      void process(long message) { mine.word = message; }
      box& mine;
    };
    shunt::pgas::symmetric<box> boxes(me);
    shunt::pgas::actor_of post(boxes);
    by_class class_post(me, *boxes);
    const int other = 1 - me.index();
    long round = 0;
    bench::rounds(
        me, options, [] {},
        [&] {
          for (long i = 0; i < options.rounds; ++i, ++round) {
            if (round_trip) {
              if (me.index() == 0) {
                const long answer = post.fetch(1, [round](box&) { return bench_message(round, 1); });
                bench_check_message(argv[0], answer, round, 1);
              }
              continue;
            }
            const long message = bench_message(round, me.index());
            if (lambda) {
              post.send(other, [message](box& mine) { mine.word = message; });
              post.finish();
            } else {
              class_post.send(other, message);
              class_post.finish();
            }
            bench_check_message(argv[0], boxes->word, round, other);
          }
        },
        [] { return std::string(); });
  });
}
