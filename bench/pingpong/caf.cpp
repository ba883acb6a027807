/// Question: what does a message cost between event-based actors of CAF, with its answer?
#include "../common/caf.hpp"
#include "game.hpp"

namespace {

using ball = std::int64_t;

caf::behavior ping(caf::event_based_actor* self, const bench::game* game, long* got) {
  return {
      [=](const caf::actor& pong) {
        for (long i = 0; i < game->window(); ++i) self->send(pong, ball{i});
        long left = game->balls() - game->window();
        self->become([=](ball b) mutable {
          ++*got;
          if (left > 0) {
            --left;
            self->send(pong, b + 1);
          } else if (*got == game->balls()) {
            self->quit();
          }
        });
      },
  };
}

caf::behavior pong(caf::event_based_actor* self, const caf::actor& ping, long* got) {
  return {
      [=](ball b) {
        ++*got;
        self->send(ping, b);
      },
  };
}

}  // namespace

int main(int argc, char** argv) {
  const bench::game game(argc, argv);
  bench::caf_settings settings(game.workers(), game.workers() == 1 ? 0 : 64);  // as measured: up to twice as fast
  caf::actor_system all(settings);
  const caf::scoped_actor here(all);
  for (long round = 0; round < game.rounds(); ++round) {
    long pings = 0, pongs = 0;
    const auto first = all.spawn(ping, &game, &pings);
    const auto second = all.spawn(pong, first, &pongs);
    const double start = bench_now();
    here->send(first, second);
    here->wait_for(first);
    const double seconds = bench_now() - start;
    here->send_exit(second, caf::exit_reason::user_shutdown);
    here->wait_for(second);
    game.report(round, seconds, pings, pongs);
  }
  return 0;
}
