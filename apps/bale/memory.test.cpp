// The applications' look at the memory before they take it: all processes of a machine count, and only those.
#include <support/jobs.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "bale/job.hpp"

using namespace shunt;
using namespace shunt::testing;
using Catch::Contains;

namespace {

constexpr double gib = 1024. * 1024 * 1024;

std::string refusal_of_memory(double bytes, const apps::memory_takers& by, const apps::memory_left& has) {
  return thrown_by<usage_error>([&] { apps::require_memory("--updates 7", bytes, by, has); });
}

}  // namespace

TEST_CASE("memory: PEs of other processes on this machine count, those of other machines do not") {
  // Two processes in two containers of machine 1, a third process of the first container, and one of machine 2.
  const std::vector<apps::memory_place> all{{1, 10, 0}, {1, 10, 0}, {1, 11, 1}, {1, 11, 1}, {1, 10, 2}, {2, 20, 3}};
  const auto first = apps::takers_beside(all, all[0]);
  CHECK(first.machine == 5);
  CHECK(first.container == 3);
  CHECK(first.process == 2);
  const auto last = apps::takers_beside(all, all[5]);
  CHECK(last.machine == 1);
  CHECK(last.container == 1);
  CHECK(last.process == 1);
}

TEST_CASE("memory: each limit is held against what takes of it") {
  const apps::memory_takers by{.machine = 8, .container = 4, .process = 2};
  CHECK_NOTHROW(apps::require_memory("--updates 7", gib, by, {8 * gib, 4 * gib, 2 * gib}));
  CHECK_THAT(refusal_of_memory(gib, by, {7.5 * gib, 4 * gib, 2 * gib}),
             Contains("--updates 7: takes 8.0 GiB of memory in all processes on this machine, and 7.5 GiB are left"));
  CHECK_THAT(refusal_of_memory(gib, by, {8 * gib, 3.5 * gib, 2 * gib}),
             Contains("takes 4.0 GiB of memory in all processes of this container, and 3.5 GiB are left"));
  CHECK_THAT(refusal_of_memory(gib, by, {8 * gib, 4 * gib, 1.5 * gib}),
             Contains("takes 2.0 GiB of memory, and 1.5 GiB are left"));
  // One process is all there is: nothing need be said of others.
  CHECK_THAT(refusal_of_memory(gib, {3, 3, 3}, {2 * gib, 9 * gib, 9 * gib}),
             Contains("takes 3.0 GiB of memory, and 2.0 GiB are left"));
}

TEST_CASE("memory: a job asks for all its PEs") {
  const auto has = apps::available_memory();
  const double left = std::min({has.machine, has.container, has.process});
  // Other programs and the system's caches take some, and give some back, meanwhile: neither answer hangs on that.
  if (!std::isfinite(left) || left < gib / 4) return;
  const auto ask_for = [&](int pes, double share) {
    pgas::run(small(pes, 2), [&](pgas::pe& me) { apps::require_memory(me, "--updates 7", share * left); });
  };
  CHECK_NOTHROW(ask_for(4, 0.01));
  CHECK_THROWS_WITH(ask_for(64, 0.5), Contains("GiB of memory, and"));  // one PE would get it
}
