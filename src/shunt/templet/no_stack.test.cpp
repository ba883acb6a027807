// No memory for a fiber's stack: the engine runs on the workers that have one.
#include <stdexcept>

#include <catch2/catch.hpp>
#include <shunt/sched.hpp>
#include <shunt/templet.hpp>
#include <support/refused_stacks.hpp>

using shunt::testing::refused_stacks;

TEST_CASE("no stack: a templet engine runs its actors on the workers that have one") {
  namespace templet = shunt::templet;
  // Catch's assertions are for one thread: the sum is checked at the end.
  CHECK_NOTHROW([] {
    for (const bool all_later : {false, true}) {
      for (long n = 2; n < 6; ++n) {
        shunt::sched::runtime two({.workers = 2});
        two.run([&] {
          const refused_stacks refused(n - 1, all_later);
          templet::engine e;
          templet::message m;
          struct counter : templet::actor {
            templet::engine* of = nullptr;
            int left = 10;
          } c;
          c.of = &e;
          c.recv = [](templet::message& got, templet::actor& self) {
            auto& me = static_cast<counter&>(self);
            if (--me.left > 0) send(*me.of, got, me);
          };
          send(e, m, c);
          run(e);
          if (c.left != 0) throw std::logic_error("left");
        });
      }
    }
  }());
}
