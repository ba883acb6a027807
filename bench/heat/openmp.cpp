/// Question: what does the published OpenMP listing reach, odd rows and even rows in turn, with threads that spin
/// (variant `active`) or sleep (`passive`) while they wait?
#include <omp.h>
#include <unistd.h>

#include <cerrno>

#include "field.hpp"

namespace {

struct openmp {
  static void solve(bench::field& plate, int workers) {
    const long rows = plate.rows();
    const long twice = 2 * plate.steps();
#pragma omp parallel num_threads(workers)
    for (long t = 1; t <= twice - 1 + rows - 3; ++t) {
#pragma omp for schedule(dynamic, 1)
      for (long row = t % 2 == 1 ? 1 : 2; row < rows - 1; row += 2) {
        if (row <= t && row > t - twice) plate.compute(row);
      }
    }
  }
};

/// The runtime reads its environment before main(): so the program begins again with the one that it is to have.
void with_policy(const char* wanted, char** argv) {
  const char* const policy = std::strcmp(wanted, "passive") == 0 ? "passive" : "active";
  const char* const now = std::getenv("OMP_WAIT_POLICY");
  const char* const bound = std::getenv("OMP_PROC_BIND");
  if (now != nullptr && std::strcmp(now, policy) == 0 && bound != nullptr) return;
  setenv("OMP_WAIT_POLICY", policy, 1);
  setenv("OMP_PROC_BIND", "true", 1);
  execv("/proc/self/exe", argv);
  std::fprintf(stderr, "%s: cannot start itself again: %s\n", argv[0], std::strerror(errno));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string variant = bench_parse(argc, argv).variant;
  if (variant != "" && variant != "active" && variant != "passive") {
    bench_bad_option(argv[0], "--variant", variant.c_str());
  }
  with_policy(variant.c_str(), argv);
  return bench::heat<openmp>(argc, argv);
}
