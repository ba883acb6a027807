/// Question: what is the least that going from one to the next can cost, without stacks?
///
/// Stackless coroutines, each of which resumes its successor by symmetric transfer. No queue: the
/// order is fixed, so all orders are the same program on other successors.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <vector>

#include "ring.hpp"

namespace {

struct coroutine {
  struct promise_type {
    std::coroutine_handle<> next;
    coroutine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

struct hand_over {
  bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<coroutine::promise_type> me) noexcept {
    return me.promise().next;
  }
  void await_resume() noexcept {}
};

coroutine member(bench::ring& ring, bench::turn turn) {
  while (ring.take(turn)) co_await hand_over{};
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::ring ring(argv[0], options);
  std::vector<coroutine> all;
  for (std::size_t i = 0; i < ring.size(); ++i) all.push_back(member(ring, ring.turn_of(i)));
  for (std::size_t i = 0; i < ring.size(); ++i) {
    all[i].handle.promise().next = all[ring.next(i)].handle;
  }
  for (auto i = ring.first(); !ring.all_left(); i = ring.next(i)) all[i].handle.resume();
  for (auto& one : all) one.handle.destroy();
  return ring.finish();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
