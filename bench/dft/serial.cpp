/// Question: what does one thread need for it?
#include "transform.hpp"

int main(int argc, char** argv) { return bench::dft<bench::serial_system>(argc, argv); }
