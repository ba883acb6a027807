// Runs in virtual time, against formulas.
#include <shunt/templet.hpp>

#include <chrono>
#include <deque>
#include <vector>

#include <catch2/catch.hpp>
#include <shunt/base/error.hpp>

using namespace std::chrono_literals;
namespace templet = shunt::templet;
using templet::actor;
using templet::engine;
using templet::message;
using templet::simulate;

namespace {

std::chrono::nanoseconds always_ten(const message&, const actor&) { return 10ns; }

}  // namespace

TEST_CASE("templet::simulate: messages to different actors run on as many cores as there are") {
  const int cores = GENERATE(1, 2, 3, 8, 100);
  engine e;
  std::deque<actor> actors(24);
  std::deque<message> messages(24);
  for (std::size_t i = 0; i < 24; ++i) {
    actors[i].recv = [](message&, actor&) {};
    send(e, messages[i], actors[i]);
  }
  const auto found = run(e, simulate{cores, always_ten});
  CAPTURE(cores);
  CHECK(found.time == 10ns * ((24 + cores - 1) / cores));
  CHECK(found.work == 240ns);
  CHECK(found.longest == 10ns);
  CHECK(found.done.messages == 24);
}

TEST_CASE("templet::simulate: a ball and an actor's own messages take their time on any number of cores") {
  static engine* of = nullptr;
  static actor ping, pong;
  static int left = 0;
  engine e;
  of = &e;
  left = 99;
  message ball;
  ping.recv = pong.recv = [](message& m, actor& self) {
    if (left-- > 0) send(*of, m, &self == &ping ? pong : ping);
  };
  send(e, ball, ping);
  const auto found = run(e, simulate{4, always_ten});
  CHECK(found.time == 1000ns);
  CHECK(found.longest == 1000ns);

  actor one([](message&, actor&) {});
  std::deque<message> many(7);
  for (auto& m : many) send(e, m, one);
  CHECK(run(e, simulate{4, always_ten}).time == 70ns);
}

TEST_CASE("templet::simulate: two balls at a time on two cores, and one after the other on one") {
  static engine* of = nullptr;
  struct player : actor {
    player* other = nullptr;
    int left = 50;
  };
  const int cores = GENERATE(1, 2);
  engine e;
  of = &e;
  std::deque<player> players(4);
  std::deque<message> balls(2);
  for (std::size_t i = 0; i < 4; ++i) {
    players[i].other = &players[i ^ 1];
    players[i].recv = [](message& m, actor& self) {
      auto& me = static_cast<player&>(self);
      if (me.left-- > 0) send(*of, m, *me.other);
    };
  }
  send(e, balls[0], players[0]);
  send(e, balls[1], players[2]);
  const auto found = run(e, simulate{cores, always_ten});
  CHECK(found.work == 2 * 101 * 10ns);
  CHECK(found.longest == 101 * 10ns);
  CHECK(found.time == found.work / cores);
}

TEST_CASE("templet::simulate: handlers begin in the order in which they could, whenever their messages were sent") {
  // On two cores Y is over at 10, X at 1000. Y's message to A is handled at once, and B's core is free for X's at 1000.
  struct part : actor {
    std::chrono::nanoseconds takes{};
    std::vector<part*> to;
    std::deque<message> out = std::deque<message>(2);
    std::vector<std::chrono::nanoseconds>* order = nullptr;
  };
  static engine* of = nullptr;
  const bool x_first = GENERATE(false, true);
  CAPTURE(x_first);
  engine e;
  of = &e;
  std::vector<std::chrono::nanoseconds> order;
  std::deque<part> parts(4);
  auto &x = parts[0], &y = parts[1], &a = parts[2], &b = parts[3];
  x.takes = 1000ns, y.takes = 10ns, a.takes = 5ns, b.takes = 500ns;
  y.to = {&a, &b};
  x.to = {&a};
  for (part& each : parts) {
    each.order = &order;
    each.recv = [](message&, actor& self) {
      auto& me = static_cast<part&>(self);
      me.order->push_back(me.takes);
      for (std::size_t i = 0; i < me.to.size(); ++i) send(*of, me.out[i], *me.to[i]);
    };
  }
  message begin[2];
  send(e, begin[0], x_first ? x : y);
  send(e, begin[1], x_first ? y : x);
  const auto found =
      run(e, simulate{2, [](const message&, const actor& self) { return static_cast<const part&>(self).takes; }});
  CHECK(found.time == 1005ns);
  CHECK(found.work == 1520ns);
  CHECK(found.longest == 1005ns);
  CHECK(found.done.messages == 5);
  CHECK(order.back() == 5ns);  // X's message to A
}

TEST_CASE("templet::simulate: measured handlers take as long as they do, and a run without cores is refused") {
  engine e;
  actor a([](message&, actor&) {});
  message m;
  send(e, m, a);
  const auto found = run(e, simulate{2});
  CHECK(found.time == found.work);
  CHECK(found.time.count() > 0);
  CHECK_THROWS_AS(run(e, simulate{0}), shunt::usage_error);
  send(e, m, a);
  CHECK(run(e, 1).messages == 1);  // the engine serves as before
}

TEST_CASE("templet::simulate: what leaves a handler leaves the run") {
  engine e;
  actor a([](message&, actor&) { throw 7; });
  message m;
  send(e, m, a);
  CHECK_THROWS_AS(run(e, simulate{2, always_ten}), int);
}
