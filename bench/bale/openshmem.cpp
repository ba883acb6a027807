/// Question: what do the programs of bale cost with OpenSHMEM, an operation for each item?
///
///   --variant blocking   each get waits for its value, as PGAS programs are first written
///   --variant nbi        gets and puts are started together, and a batch of them is waited for
#include <cstdio>
#include <exception>

#include "../common/one_sided_shmem.hpp"
#include "one_sided/program.hpp"

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const std::string variant = options.variant;
  const bench::wanted asked(options.what);
  if (!asked.known()) bench_bad_option(argv[0], "--what", options.what);
  if (variant != "" && variant != "blocking" && variant != "nbi")
    bench_bad_option(argv[0], "--variant", variant.c_str());
  bench_shmem_start(argv[0], &options);
  variant == "nbi" ? bench::one_sided<bench::shmem_net<true>>(options, asked).run()
                   : bench::one_sided<bench::shmem_net<false>>(options, asked).run();
  shmem_finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  shmem_global_exit(1);
}
