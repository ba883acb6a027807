/// What is known of one class of transactions, and how many workers it is allowed on.
///
/// A tick is 1 ms. One class at a time is on trial (climber.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/detail/climber.hpp>
#include <shunt/stm/detail/pace.hpp>
#include <shunt/stm/detail/track.hpp>
#include <shunt/stm/policies.hpp>
#include <string>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// One thread's counts of one class. Stored by that thread only; others look. Relaxed, but for the order of three looks
/// in committed(): nothing rests on them.
struct alignas(2 * cache_line) counts {
  using number = std::atomic<std::uint64_t>;
  /// With `running` set it is short of what has been committed by half the thread's number, which then grows with each
  /// commit to this class, and with nothing else: so small transactions count themselves. See tx::adopt().
  number commits{0};
  number locked{0};      // aborts: a variable was locked for long
  number stale{0};       // aborts: a variable read is newer than the snapshot, which cannot be extended
  number validation{0};  // aborts: what was read had changed at the commit
  number retries{0};
  number alone{0};    // commits without others, as elder or irrevocable
  number lost_ns{0};  // from the first abort to the commit
  number most_attempts{0};
  number samples{0};  // of sizes
  number reads{0};
  number writes{0};
  number most_reads{0};
  number most_writes{0};

  static constexpr std::uint32_t chunk = 64;  // so many classes' counts are made at once
  static constexpr std::uint64_t running = std::uint64_t{1} << 63;

  /// The thread itself, outside or inside. `whose` is its number.
  void run_with(std::uint64_t whose) noexcept {
    commits.store((commits.load(std::memory_order_relaxed) - whose / 2) | running, std::memory_order_relaxed);
  }
  void stop_with(std::uint64_t whose) noexcept {
    commits.store((commits.load(std::memory_order_relaxed) + whose / 2) & ~running, std::memory_order_relaxed);
  }
  /// Any thread. `whose()` looks at its number, edge `left` in.
  template <typename Number>
  [[nodiscard]] std::uint64_t committed(const Number& whose) const noexcept {
    for (;;) {
      const auto seen = commits.load(std::memory_order_acquire);  // acquire: the look at the number comes after it
      if ((seen & running) == 0) return seen;
      const std::uint64_t now = whose();
      // The same before and after: so it was meanwhile. relaxed: whose() acquires, so this look comes last.
      if (commits.load(std::memory_order_relaxed) == seen) return (seen + now / 2) & ~running;
    }
  }

  static void add(number& n, std::uint64_t more) noexcept {
    n.store(n.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  static void at_least(number& n, std::uint64_t value) noexcept {
    if (value > n.load(std::memory_order_relaxed)) n.store(value, std::memory_order_relaxed);
  }
};

/// Lives as long as the process.
struct class_record {
  class_record(std::uint32_t its_id, std::string its_name)
      : id(its_id),
        chunk(its_id / counts::chunk),
        place(its_id % counts::chunk),
        name(std::move(its_name)),
        waits("a commit to what " + name + " has read") {}

  /// Somebody who runs such transactions, now and then.
  void tick(time_point now) noexcept;
  /// As the policies say, or from the start.
  void reset(const policies& p) noexcept;
  /// 0: all.
  [[nodiscard]] int allowed() const noexcept { return allowed_.load(std::memory_order_relaxed); }  // relaxed: a look

  const std::uint32_t id;     // 0..
  const std::uint32_t chunk;  // where each thread's counts of it are: in that chunk,
  const std::uint32_t place;  // there
  const std::string name;
  const std::string waits;  ///< what a fiber that retries waits for, for reports
  stm::detail::pace pace;   ///< of the workers that run it
  /// Null: as many workers as there are.
  std::atomic<track*> on{nullptr};

 private:
  void allow(int workers) noexcept;

  track own_{1};
  std::atomic<std::int64_t> next_tick_{0};  // ns of the steady clock
  std::atomic<bool> busy_{false};           // guards what follows
  std::atomic<int> allowed_{0};
  climber climber_;
  time_point last_{};
  std::uint64_t last_commits_ = 0;
};

/// The same for all threads; atomics, for anybody may change them at any time.
struct policy_words {
  std::atomic<bool> adapt{true};
  std::atomic<int> workers{0};
  std::atomic<bool> solo{true};
  std::atomic<bool> queue_losers{true};
  std::atomic<bool> elders{true};
};
inline constinit policy_words the_policies;

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
