/// Question: do fibers keep a BLAS on one thread as busy as its own threads do? And plain loops, as
/// a pool of threads does?
#include "../common/fibers.hpp"
#include "product.hpp"

int main(int argc, char** argv) { return bench::matmul<bench::fibers_system>(argc, argv); }
