/// Question: what does a pool of std::threads need for the same tiles and loops?
#include "../common/pool.hpp"
#include "product.hpp"

int main(int argc, char** argv) { return bench::matmul<bench::threads_system>(argc, argv); }
