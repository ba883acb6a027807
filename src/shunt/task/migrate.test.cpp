// Forks of fibers that migrate.
#include <atomic>
#include <catch2/catch.hpp>
#include <shunt/task/fork_join.hpp>
#include <support/migrants.hpp>

namespace sched = shunt::sched;
namespace this_worker = shunt::sched::this_worker;
using shunt::testing::beside_a_busy_fiber;
using shunt::testing::expect;
using shunt::testing::migrant;
using shunt::testing::spawned;
using shunt::testing::until;

TEST_CASE("migrate: a fork is joined on the worker where it was made; the next one may be on another") {
  beside_a_busy_fiber([](sched::runtime& rt) {
    std::atomic<int> moved{0};
    spawned forks(rt, migrant, [&] {
      for (const int where : {0, 1}) {
        int ran = 0;
        until([&] { return this_worker::index() == where; });
        shunt::fork_join(
            [&] {
              const int before = moved;
              until([&] {
                expect(this_worker::index() == where);
                return where == 1 || moved > before;
              });
            },
            [&] { ++ran; });
        expect(ran == 1);
      }
    });
    for (int i = 0; i < 3; ++i) {
      spawned moves(rt, migrant, [&] {
        until([] { return this_worker::index() == 1; });
        ++moved;
      });
      moves.join();
    }
    forks.join();
  });
}
