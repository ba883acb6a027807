/// Fibers that begin together. Without it those that came first and are never without work would
/// hold up the others: a worker with busy fibers starts a new one every 64 switches only.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <shunt/task.hpp>
#include <utility>

namespace shunt::daq {

class start_line {
 public:
  /// One that begins with the others. A runner that is destroyed before wait() no longer counts.
  class runner {
   public:
    runner(runner&& other) noexcept : line_(std::exchange(other.line_, nullptr)) {}
    runner& operator=(runner&&) = delete;
    ~runner() {
      if (line_ != nullptr) line_->one_is_here();
    }
    /// Its fiber, once: waits for the start. \throws what the starter's call threw.
    void wait() {
      auto& line = *std::exchange(line_, nullptr);
      const auto gone = line.gone_;
      line.one_is_here();
      gone.get();
    }

   private:
    friend class start_line;
    explicit runner(start_line& line) noexcept : line_(&line) {}
    start_line* line_;
  };

  /// Before start(). The line outlives it.
  [[nodiscard]] runner enter() {
    missing_.fetch_add(1, std::memory_order_relaxed);  // relaxed: before any of them is here
    return runner(*this);
  }

  /// One other fiber: waits until all runners stand here, calls `f`, and lets them go.
  /// \throws what `f` throws, and so does each runner's wait().
  template <typename F>
  void start(const F& f) {
    one_is_here();
    here_.wait();
    try {
      f();
    } catch (...) {
      give_up(std::current_exception());
      throw;
    }
    started_ = true;
    go_.set_value();
  }
  /// The same fiber: there will be no start; each runner's wait() throws `why`. After start(): no effect.
  void give_up(std::exception_ptr why) {
    if (!std::exchange(started_, true)) go_.set_exception(std::move(why));
  }

 private:
  void one_is_here() {
    // relaxed: the promise carries what the starter sees; this only counts
    if (missing_.fetch_sub(1, std::memory_order_relaxed) == 1) all_here_.set_value();
  }

  std::atomic<std::size_t> missing_{1};  // and the starter
  bool started_ = false;                 // or given up
  promise<void> all_here_;
  promise<void> go_;
  // Taken before any fiber runs: a promise is one thread's at a time.
  const future<void> here_ = all_here_.get_future();
  const future<void> gone_ = go_.get_future();
};

}  // namespace shunt::daq
