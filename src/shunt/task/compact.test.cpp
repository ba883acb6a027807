// What a compact fiber may use of this module, and what is refused, as others would use its stack.
#include <shunt/task.hpp>

#include <string>

#include <catch2/catch.hpp>

#include <support/expect.hpp>

using namespace shunt;
using shunt::testing::thrown_by;

TEST_CASE("compact: waits that lend their frame are refused before anything has happened") {
  sched::runtime one({.workers = 1});
  std::string got, finished, grouped;
  int forked = 0;
  bool ready_is_enough = false;
  promise<int> late;
  one.run([&] {
    auto value = late.get_future();
    one.spawn(
        [&] {
          got = thrown_by<usage_error>([&] { value.wait(); });
          finished = thrown_by<usage_error>([&] { finish([] {}); });
          grouped = thrown_by<usage_error>([&] {
            task_group g;
            g.spawn([] {});
            g.wait();
          });
          // Its jobs run here: another worker would read them from this stack.
          fork_join([&] { ++forked; }, [&] { ++forked; });
          parallel_for(0, 100, [&](int) { ++forked; });
          promise<int> known;
          known.set_value(7);
          ready_is_enough = known.get_future().get() == 7;
        },
        {.worker = 0, .compact = true});
    while (!ready_is_enough) sched::this_fiber::yield();
    late.set_value(1);
  });
  const std::string why = ": others would use the stack of a compact fiber while it waits; spawn it without .compact (";
  CHECK(got.find("future::wait" + why) == 0);
  CHECK(finished.find("finish" + why) == 0);
  CHECK(grouped.find(why) != std::string::npos);
  CHECK(forked == 102);
}
