/// Question: what does a pool of std::threads need for it?
#include "../common/pool.hpp"
#include "transform.hpp"

int main(int argc, char** argv) { return bench::dft<bench::threads_system>(argc, argv); }
