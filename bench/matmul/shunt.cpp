/// Question: do fibers keep a BLAS on one thread as busy as its own threads do? And plain loops, as a pool of threads
/// does? And fibers that wait and switch (`fibers`)?
#include "../common/fibers.hpp"
#include "product.hpp"

int main(int argc, char** argv) {
  return bench::waiting_fibers(argc, argv) ? bench::matmul<bench::waiting_fibers_system>(argc, argv)
                                           : bench::matmul<bench::fibers_system>(argc, argv);
}
