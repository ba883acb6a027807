/// Question: do loops on fibers run as fast as on a pool of threads, where bodies take microseconds? And fibers that
/// wait and switch (`fibers`)?
#include "../common/fibers.hpp"
#include "transform.hpp"

int main(int argc, char** argv) {
  return bench::waiting_fibers(argc, argv) ? bench::dft<bench::waiting_fibers_system>(argc, argv)
                                           : bench::dft<bench::fibers_system>(argc, argv);
}
