/// What ranks find that their launcher has bound: checked against what each of them may use.
///
///   placement_ranks bound     each rank has CPUs of its own, and one worker on each of them
///   placement_ranks free      all ranks have the same CPUs, and equal shares of them
///   placement_ranks crowded   all ranks have one and the same CPU: a worker each, and no room
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <shunt/pgas/placement.hpp>

#include <support/expect.hpp>

using namespace shunt;

namespace {

std::string text_of(const pgas::rank_cpus& one) {
  const auto& [kernel, claim, share] = one;
  std::string text = "CPUs";
  for (const int cpu : claim.usable) text += ' ' + std::to_string(cpu);
  return text + ", " + std::to_string(share.workers) + " workers, " + (share.alone ? "alone, " : "not alone, ") +
         (share.room ? "room" : "no room");
}

void check(const std::string& how, const std::vector<pgas::rank_cpus>& ranks) {
  const auto count = ranks.size();
  for (std::size_t r = 0; r < count; ++r) {
    const auto& [kernel, claim, share] = ranks[r];
    const auto cpus = claim.usable.size();
    const auto same = [&](const char* what, bool holds) {
      testing::expect(holds, "rank " + std::to_string(r) + ": " + what + "; but " + text_of(ranks[r]));
    };
    same("on this kernel", kernel == ranks[0].kernel);
    if (how == "bound") {
      same("one worker on each CPU of its own", share == cpu_share{static_cast<int>(cpus), true, true});
    } else if (how == "free") {
      same("an equal share", claim.usable == ranks[0].claim.usable && !share.alone &&
                                 share.workers == static_cast<int>(cpus < count ? 1 : cpus / count) &&
                                 share.room == (count <= cpus));
    } else {
      same("one worker of many on a CPU", cpus == 1 && share == cpu_share{1, false, false});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const auto job = transport::open("mpi");
  const int status = testing::status_of([&] {
    const auto ranks = pgas::placement(*job, 0);
    check(how, ranks);
    if (job->rank() == 0) std::printf("%s: %zu ranks, all well\n", how.c_str(), ranks.size());
    return 0;
  });
  if (status != 0) std::_Exit(status);  // the end of an MPI program would wait for the other ranks
}
