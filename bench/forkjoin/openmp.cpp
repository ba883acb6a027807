/// Question: what do the compiler's own tasks cost? A task and a taskwait a fork; a loop that hands
/// out one index at a time.
#include <omp.h>

#include "problems.hpp"

namespace {

struct openmp {
  static void inside(int workers, const std::function<void()>& body) {
    omp_set_num_threads(workers);
    body();
  }
  template <typename F, typename G>
  static std::pair<long, long> fork(F& f, G& g) {
    long a = 0;
    long b = 0;
#pragma omp task default(shared)
    b = g();
    a = f();
#pragma omp taskwait
    return {a, b};
  }
  /// The outermost fork opens the team; the others are tasks of it.
  template <typename F, typename G>
  static std::pair<long, long> both(F&& f, G&& g) {
    if (omp_in_parallel() != 0 || omp_get_max_threads() == 1) return fork(f, g);
    std::pair<long, long> results;
#pragma omp parallel default(shared)
#pragma omp single
    results = fork(f, g);
    return results;
  }
  template <typename Body>
  static void loop(long count, Body&& body) {
#pragma omp parallel for schedule(dynamic, 1)
    for (long i = 0; i < count; ++i) body(i);
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::forkjoin<openmp>(argc, argv); }
