/// Question: do loops on fibers run as fast as on a pool of threads, where bodies take
/// microseconds?
#include "../common/fibers.hpp"
#include "transform.hpp"

int main(int argc, char** argv) { return bench::dft<bench::fibers_system>(argc, argv); }
