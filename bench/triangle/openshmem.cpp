/// Question: what does the triangle count cost as PGAS programs are written with OpenSHMEM?
///
///   --variant word   the published loop, a word at a time
///   --variant row    both bounds of a row in one get, all its columns in another
///   --variant nbi    the same, and many of these gets are under way together
#include <cstdio>
#include <exception>
#include <string>

#include "../common/one_sided_shmem.hpp"
#include "one_sided.hpp"

int main(int argc, char** argv) try {
  using bench::reads;
  const auto options = bench_parse(argc, argv);
  const std::string variant = options.variant;
  if (variant != "" && variant != "word" && variant != "row" && variant != "nbi") {
    bench_bad_option(argv[0], "--variant", options.variant);
  }
  bench_shmem_start(argv[0], &options);
  if (variant == "nbi") {
    bench::count_triangles<bench::shmem_net<true>>(argv[0], options, reads::by_rows, bench_shmem_require);
  } else {
    bench::count_triangles<bench::shmem_net<false>>(argv[0], options, variant == "row" ? reads::by_row : reads::by_word,
                                                    bench_shmem_require);
  }
  shmem_finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
