/// Question: what does one thread need for it?
#include "field.hpp"

namespace {
struct serial {
  static void solve(bench::field& plate, int) { plate.compute_in_order(); }
};
}  // namespace

int main(int argc, char** argv) { return bench::heat<serial>(argc, argv); }
