/// What the workers of one runtime share: each other, who sleeps, and whether all has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;

/// Who sleeps, one bit a worker. A sleeper sets its bit before it looks for work the last time;
/// whoever brings work that any worker may do claims one sleeper by clearing its bit.
class sleepers {
 public:
  explicit sleepers(int workers) : words_(static_cast<std::size_t>(workers + 63) / 64) {}

  /// seq_cst: see DESIGN.md, "Nobody sleeps on work".
  void enter(int worker) noexcept { word(worker).fetch_or(bit(worker), std::memory_order_seq_cst); }
  void leave(int worker) noexcept {
    // relaxed: a claim that comes too late costs one spurious unpark.
    word(worker).fetch_and(~bit(worker), std::memory_order_relaxed);
  }
  /// A look.
  [[nodiscard]] bool nobody() const noexcept {
    for (const auto& word : words_) {
      if (word.load(std::memory_order_relaxed) != 0) return false;  // relaxed: who misses one looks again
    }
    return true;
  }
  /// \return a worker that slept, and is now the caller's to unpark; -1 for none.
  [[nodiscard]] int claim() noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      auto seen = words_[i].load(std::memory_order_seq_cst);  // after the caller's push
      while (seen != 0) {
        const auto lowest = seen & (~seen + 1);
        const auto before = words_[i].fetch_and(~lowest, std::memory_order_acq_rel);
        if (before & lowest) return static_cast<int>(64 * i) + __builtin_ctzll(lowest);
        seen = before & ~lowest;
      }
    }
    return -1;
  }

 private:
  static std::uint64_t bit(int worker) noexcept { return std::uint64_t{1} << (worker % 64); }
  std::atomic<std::uint64_t>& word(int worker) noexcept { return words_[static_cast<std::size_t>(worker / 64)]; }
  std::vector<std::atomic<std::uint64_t>> words_;
};

class crew {
 public:
  crew(runtime& face, const options& wanted);
  ~crew();

  /// A worker that pushed a task, after the push. \return whether that woke a sleeper.
  bool offer_task() noexcept;

  /// A worker that found nothing to do. True once no fiber is left, nor can come. Proof in
  /// DESIGN.md, "All has ended".
  [[nodiscard]] bool all_ended() noexcept;
  [[nodiscard]] bool stopping() const noexcept {
    return stopping_.load(std::memory_order_acquire);  // acquire: pairs with stop()
  }
  /// Fibers that have not ended, started or not; about.
  [[nodiscard]] std::size_t alive() const noexcept;
  void start();  ///< before the workers work. \throws std::bad_alloc
  void stop() noexcept;
  void end() noexcept;  ///< after they have worked

  /// runtime's. Any thread.
  void request_stop() noexcept;
  [[nodiscard]] std::stop_token stop_token();
  /// The watch's: when it is to be told that the run has not ended; never: max(), also if it was told.
  [[nodiscard]] std::chrono::steady_clock::time_point stop_is_late() noexcept;
  void told_late() noexcept;

  /// A worker that has nothing to do, nor anything that will bring it something to do at a known
  /// time, in its last step before sleep: sleeps, at most so long, and sees whether all do. If they do for ever, it may
  /// end the process (options::end_if_stuck).
  void rest(worker& who, std::chrono::nanoseconds at_most) noexcept;

  /// Gives `text` to options::report, or writes it to stderr.
  void report(std::string_view text) const noexcept;

  /// Keeps the first exception, and asks the others to stop.
  void fail(std::exception_ptr what) noexcept;

  /// A fiber could not be started for that reason; counts, for a report that nothing goes on.
  void refused(const std::exception_ptr& why) noexcept;
  /// What to say of them in a report; empty for none in this run.
  [[nodiscard]] std::string refusals();

  runtime& face;
  options settings;  // workers resolved
  bool oversubscribed = false;
  std::vector<int> cpus;  // to pin to, one a worker; empty: not pinned
  std::vector<std::unique_ptr<worker>> workers;
  sleepers asleep;

  std::mutex outside_lock;  // guards outside_blocks: spawns by threads that are no workers
  fiber_cache outside_blocks;
  alignas(quiet_distance) std::atomic<std::uint64_t> spawned_outside{0};
  std::atomic<bool> in_run{false};

  std::mutex failure_lock;  // guards the three
  std::exception_ptr failure;
  std::exception_ptr refusal;  // the first in this run
  std::size_t refused_fibers = 0;

  /// What a fiber is told that cannot be started for lack of memory for something small.
  [[nodiscard]] std::exception_ptr out_of_memory() const noexcept;

  std::mutex stop_lock;                              // guards the two
  std::stop_source asked_to_stop{std::nostopstate};  // none outside of a run
  std::chrono::steady_clock::time_point late = std::chrono::steady_clock::time_point::max();

 private:
  const std::exception_ptr no_memory_ = std::make_exception_ptr(error("fiber: no memory to start it"));
  alignas(quiet_distance) std::atomic<std::uint64_t> tallies_{0};
  std::atomic<bool> stopping_{false};
  [[nodiscard]] bool all_rest(std::uint64_t turn) const noexcept;
  void tell_stuck(const worker& who, std::uint64_t turn) noexcept;

  std::atomic<int> resting_{0};
  std::atomic<std::uint64_t> rests_{0};  // that have begun
  std::atomic<bool> telling_{false};
  std::atomic<bool> told_stuck_{false};  // in this run
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
