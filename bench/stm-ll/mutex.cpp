/// Question: what does one std::mutex around a sorted list allow?
#include <mutex>

#include "list.hpp"

namespace {
struct lock {
  struct guard {
    explicit guard(lock& l) : held(l.of) {}
    std::scoped_lock<std::mutex> held;
  };
  std::mutex of;
};
}  // namespace

int main(int argc, char** argv) {
  return bench::list_operations<bench::plain_threads, bench::locked_list<lock>>(argc, argv);
}
