/// Question: what does the whole product need as one call, on the library's own threads?
#include "product.hpp"

namespace {

struct whole : bench::product {
  using product::product;
  void run(const bench::loop&) { part(0, 0, rows(), rows()); }
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  if (std::strcmp(options.what, "tiles") != 0) bench_bad_option(argv[0], "--what", options.what);
  openblas_set_num_threads(static_cast<int>(std::max(1L, options.pes)));
  whole problem(options.rows, options.columns);
  return bench::rounds<bench::serial_system>(argv[0], options, problem);
} catch (const std::exception& bad) {
  std::fprintf(stderr, "%s: %s\n", argv[0], bad.what());
  return 1;
}
