/// What is known of one class of transactions, and how many workers it is allowed on.
///
/// A tick is 1 ms. One class at a time is on trial (hill_climber.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <shunt/stm/detail/policy/admission.hpp>
#include <shunt/stm/detail/policy/hill_climber.hpp>
#include <shunt/stm/detail/policy/speed.hpp>
#include <string>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

struct policies;

namespace detail {

/// Lives as long as the process.
struct class_record {
  class_record(std::uint32_t its_id, std::string its_name)
      : id(its_id), name(std::move(its_name)), waits("a commit to what " + name + " has read") {}

  /// A thread that runs such transactions, now and then.
  void tick(time_point now) noexcept;
  /// To what the policies say, or to the beginning of the climb.
  void reset(const policies& p) noexcept;
  /// Workers; 0: all.
  [[nodiscard]] int allowed() const noexcept { return allowed_.load(std::memory_order_relaxed); }  // relaxed: policy

  const std::uint32_t id;  // 0..
  const std::string name;
  const std::string waits;  ///< what a fiber that retries waits for, for reports
  speed worker_speed;       ///< of the workers that run it
  /// Null: all workers are allowed.
  std::atomic<admission*> admitted_by{nullptr};

 private:
  void allow(int workers) noexcept;

  admission own_{1};
  std::atomic<std::int64_t> next_tick_{0};  // ns of the steady clock
  std::atomic<bool> busy_{false};           // a lock: guards what follows
  std::atomic<int> allowed_{0};
  hill_climber climber_;
  time_point last_{};
  std::uint64_t last_commits_ = 0;
};

}  // namespace detail
}  // namespace stm
}  // namespace v1
}  // namespace shunt
