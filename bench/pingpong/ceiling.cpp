/// What is possible: calls as 64-byte slots, built in place, called through a pointer, without anything around it.
///
/// One worker: a ring, in which each call puts the next. Two: a ring each way, published by up to 64 slots at a time
/// (as many as there are: a thread that has emptied its own ring publishes what it has written).
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "game.hpp"

namespace {

struct player;
struct alignas(64) slot {
  void (*call)(player&, const slot&);
  player* whose;
  std::uint64_t from;
  long ball;
};

constexpr std::size_t slots = 1024;
constexpr std::uint64_t most_at_once = 64;

struct ring {
  alignas(128) std::atomic<std::uint64_t> published{0};
  alignas(128) std::uint64_t written = 0;  // the producer's
  alignas(128) std::uint64_t read = 0;     // the consumer's: windows are smaller than rings: none overtakes
  alignas(128) slot goods[slots];

  slot& next() { return goods[written++ & (slots - 1)]; }
  void publish() { published.store(written, std::memory_order_release); }  // pairs with the load in serve()
};

struct player {
  ring* out;
  player* other;
  long left;  // balls still to be served
  long got = 0;
  bool serves;

  void send(long ball) {
    slot& s = out->next();
    s.call = [](player& p, const slot& m) { p.hit(m.ball); };
    s.whose = other;
    s.from = reinterpret_cast<std::uintptr_t>(this);
    s.ball = ball;
  }
  void hit(long ball) {
    ++got;
    if (!serves) return send(ball);
    if (left > 0) {
      --left;
      send(ball + 1);
    }
  }
};

void serve(ring& in, ring& out, const long& got, long until) {
  while (got < until) {
    const auto end = in.published.load(std::memory_order_acquire);
    while (in.read != end) {
      const slot& s = in.goods[in.read++ & (slots - 1)];
      s.call(*s.whose, s);
      if (&in == &out) break;
      if (out.written - out.published.load(std::memory_order_relaxed) == most_at_once) out.publish();
    }
    out.publish();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::game game(argc, argv);
  for (long round = 0; round < game.rounds(); ++round) {
    auto rings = std::make_unique<ring[]>(2);
    const bool alone = game.workers() == 1;
    ring& there = rings[0];
    ring& back = alone ? rings[0] : rings[1];
    player ping{&there, nullptr, game.balls() - game.window(), 0, true};
    player pong{&back, &ping, 0, 0, false};
    ping.other = &pong;
    const double start = bench_now();
    for (long i = 0; i < game.window(); ++i) ping.send(i);
    there.publish();
    if (alone) {
      serve(there, there, ping.got, game.balls());
    } else {
      std::thread second([&] {
        bench::to_cpu(1);
        serve(there, back, pong.got, game.balls());
      });
      bench::to_cpu(0);
      serve(back, there, ping.got, game.balls());
      second.join();
    }
    game.report(round, bench_now() - start, ping.got, pong.got);
  }
  return 0;
}
