/// Fibers that begin together. Without it those that came first and are never without work would
/// hold up the others: a worker with busy fibers starts a new one every 64 switches only.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <shunt/task.hpp>

namespace shunt::daq {

class start_line {
 public:
  /// \param runners  at least 1.
  explicit start_line(std::size_t runners) : missing_(runners) {}

  /// Each runner, once: waits for the start. \throws what the starter's call threw.
  void wait() {
    // relaxed: the promise carries what the starter sees; this only counts
    if (missing_.fetch_sub(1, std::memory_order_relaxed) == 1) all_here_.set_value();
    const auto gone = gone_;
    gone.get();
  }

  /// One other fiber: waits until all runners stand here, calls `f`, and lets them go.
  /// \throws what `f` throws, and so does each runner's wait().
  template <typename F>
  void start(const F& f) {
    here_.wait();
    try {
      f();
    } catch (...) {
      go_.set_exception(std::current_exception());
      throw;
    }
    go_.set_value();
  }

 private:
  std::atomic<std::size_t> missing_;
  promise<void> all_here_;
  promise<void> go_;
  // Taken before any fiber runs: a promise is one thread's at a time.
  const future<void> here_ = all_here_.get_future();
  const future<void> gone_ = go_.get_future();
};

}  // namespace shunt::daq
