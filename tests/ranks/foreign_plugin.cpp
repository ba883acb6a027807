/// What must not be loaded: it says so, and ends the process.
#include <cstdio>
#include <cstdlib>

namespace {
[[gnu::constructor]] void loaded() {
  std::printf("foreign code runs\n");
  std::fflush(stdout);
  std::_Exit(66);
}
}  // namespace
