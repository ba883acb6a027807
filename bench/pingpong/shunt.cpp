/// Question: what does a typed message cost, with its answer, on one worker and between two; and a call that is waited
/// for?
#include <cstdio>
#include <exception>
#include <shunt/actor.hpp>

#include "game.hpp"

namespace {

struct player {
  explicit player(long balls) : left(balls) {}

  void meet(shunt::ref<player> self, shunt::ref<player> opponent) {
    me = self;
    other = opponent;
  }
  void serve(long balls) {
    for (left -= balls; balls > 0; --balls) other.tell<&player::ping>(me, balls);
  }
  void ping(shunt::ref<player> from, long ball) {
    ++got;
    from.tell<&player::pong>(me, ball);
  }
  void pong(shunt::ref<player> from, long ball) {
    ++got;
    if (left > 0) {
      --left;
      from.tell<&player::ping>(me, ball + 1);
    }
  }
  /// An ask is a ball there, and its answer the ball back.
  long answer(long ball) {
    ++got;
    return ball + 1;
  }
  void ask_for_all(long balls) {
    for (long ball = 0; ball < balls; ++ball) got += other.ask<&player::answer>(ball).get() == ball + 1 ? 1 : 0;
  }
  long count() const { return got; }

  shunt::ref<player> me, other;
  long left;
  long got = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  const bench::game game(argc, argv);
  shunt::manager all(shunt::sched::options{.workers = game.workers(), .stuck_after = {}});
  for (long round = 0; round < game.rounds(); ++round) {
    auto ping = all.spawn<player>({.worker = 0}, game.balls());
    auto pong = all.spawn<player>({.worker = game.workers() - 1}, 0);
    ping.tell<&player::meet>(ping, pong);
    pong.tell<&player::meet>(pong, ping);
    all.drain();
    const double start = bench_now();
    game.asks() ? ping.tell<&player::ask_for_all>(game.balls()) : ping.tell<&player::serve>(game.window());
    all.drain();
    const double seconds = bench_now() - start;
    game.report(round, seconds, all.await(ping.ask<&player::count>()), all.await(pong.ask<&player::count>()));
    all.stop(ping);
    all.stop(pong);
  }
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
