/// Two actors hit a ball to and fro: a plain class, whose method is called by messages.
#include <cstdio>
#include <shunt/actor.hpp>

struct player {
  void hit(shunt::ref<player> me, shunt::ref<player> other, long ball) {
    ++hits;
    if (ball > 1) other.tell<&player::hit>(other, me, ball - 1);
  }
  long count() const { return hits; }
  long hits = 0;
};

int main() {
  shunt::manager all;
  auto ping = all.spawn<player>({.name = "ping"});
  auto pong = all.spawn<player>({.name = "pong"});
  ping.tell<&player::hit>(ping, pong, 1'000'000);
  all.drain();
  const long pings = all.await(ping.ask<&player::count>()), pongs = all.await(pong.ask<&player::count>());
  std::printf("%ld pings, %ld pongs\n", pings, pongs);
  return pings == 500'000 && pongs == 500'000 ? 0 : 1;
}
