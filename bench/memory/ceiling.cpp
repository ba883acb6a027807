/// Question: what is the least that something parked can take, without a stack?
///
/// Stackless coroutines: a frame each, from the allocator, and a pointer to it.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <vector>

#include "parked.hpp"

namespace {

struct coroutine {
  struct promise_type {
    coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<> handle;
};

coroutine member(bench::parked_fibers& fibers) {
  fibers.parks();
  co_await std::suspend_always{};
  fibers.wakes();
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::parked_fibers fibers(argv[0], options);
  std::vector<coroutine> all;
  fibers.start();
  all.reserve(fibers.size());
  for (std::size_t i = 0; i < fibers.size(); ++i) all.push_back(member(fibers));
  fibers.measure();
  for (auto& one : all) one.handle.resume();
  for (auto& one : all) one.handle.destroy();
  return fibers.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
