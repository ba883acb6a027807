/// What one thread counts of its transactions, by class.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <shunt/base/cache_line.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

struct class_record;

/// One thread's counts of one class. Stored by that thread only; other threads look. relaxed, apart from the order of
/// three looks in committed(): no other data depends on them.
struct alignas(2 * cache_line) counts {
  using number = std::atomic<std::uint64_t>;
  /// With `running` set it lacks half the thread's number, which then grows with each commit to this class, and with
  /// nothing else: so small transactions count themselves. See class_binding.
  number commits{0};
  number locked{0};      // attempts lost, by cause
  number stale{0};       // likewise
  number validation{0};  // likewise
  number retries{0};
  number irrevocable{0};  // commits of oldest and of irrevocable transactions
  number lost_ns{0};      // from the first conflict to the commit
  number most_attempts{0};
  number samples{0};  // of sizes
  number reads{0};
  number writes{0};
  number most_reads{0};
  number most_writes{0};

  static constexpr std::uint64_t running = std::uint64_t{1} << 63;

  /// Own thread, inside or outside. \param its_number  the thread's number.
  void run_with(std::uint64_t its_number) noexcept {
    // relaxed, both: only this thread stores it
    commits.store((commits.load(std::memory_order_relaxed) - its_number / 2) | running, std::memory_order_relaxed);
  }
  void stop_with(std::uint64_t its_number) noexcept {
    // relaxed, both: only this thread stores it
    commits.store((commits.load(std::memory_order_relaxed) + its_number / 2) & ~running, std::memory_order_relaxed);
  }
  /// Any thread. \param number_of  looks at the thread's number, edge `left` in.
  template <typename Number>
  [[nodiscard]] std::uint64_t committed(const Number& number_of) const noexcept {
    for (;;) {
      const auto seen = commits.load(std::memory_order_acquire);  // acquire: the look at the number comes after it
      if ((seen & running) == 0) return seen;
      const std::uint64_t now = number_of();
      // If it is the same before and after, it was so meanwhile. relaxed: number_of() acquires, so this look is last.
      if (commits.load(std::memory_order_relaxed) == seen) return (seen + now / 2) & ~running;
    }
  }

  /// Own thread.
  static void add(number& n, std::uint64_t more) noexcept {
    // relaxed, both: only this thread stores it
    n.store(n.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  /// Own thread.
  static void at_least(number& n, std::uint64_t value) noexcept {
    // relaxed, both: only this thread stores it
    if (value > n.load(std::memory_order_relaxed)) n.store(value, std::memory_order_relaxed);
  }
};

/// The counts of all classes of one thread, made in chunks when a class is first counted there.
class counts_table {
 public:
  static constexpr std::uint32_t chunk_size = 64;
  static constexpr std::uint32_t chunks = 64;

  /// Own thread. \throws std::bad_alloc for a chunk's first class
  [[nodiscard, gnu::always_inline]] counts& of(std::uint32_t class_id) {
    auto* const all = chunks_[class_id / chunk_size].load(std::memory_order_relaxed);  // relaxed: only it stores it
    if (all == nullptr) [[unlikely]]
      return make_chunk(class_id);
    return all[class_id % chunk_size];
  }
  /// Any thread. Null: the thread has not counted that class.
  [[nodiscard]] const counts* seen(std::uint32_t class_id) const noexcept {
    const auto* const all = chunks_[class_id / chunk_size].load(std::memory_order_acquire);  // edge `chunk`
    return all == nullptr ? nullptr : &all[class_id % chunk_size];
  }

 private:
  [[gnu::noinline]] counts& make_chunk(std::uint32_t class_id) {
    auto* const made = new counts[chunk_size];
    chunks_[class_id / chunk_size].store(made, std::memory_order_release);  // edge `chunk`
    return made[class_id % chunk_size];
  }

  /// Edge `chunk`: make_chunk() (release) -> seen() (acquire): the counts.
  std::atomic<counts*> chunks_[chunks]{};
};

/// The class that a thread's next transaction is expected to be of: what it is allowed has been found out, and its
/// commits are counted by the thread's number. This lasts until a transaction of another class begins, or the mode
/// changes, or it is time to look at the clock.
class class_binding {
 public:
  /// One number for a class, and for whether its transactions are snapshots.
  [[nodiscard]] static std::uintptr_t key(const class_record* c, bool read_only) noexcept {
    return reinterpret_cast<std::uintptr_t>(c) | (read_only ? 1U : 0U);
  }
  [[nodiscard]] bool is(std::uintptr_t key) const noexcept { return key_ == key; }
  /// \param number  the thread's. \return whether it is time to look at the clock.
  [[nodiscard]] bool look_is_due(std::uint64_t number) const noexcept { return number >= look_at_; }
  void look_at(std::uint64_t number) noexcept { look_at_ = number; }

  /// The counts of the class of the present transaction, bound or not.
  [[nodiscard]] counts& present() noexcept { return *counts_; }
  void count_in(counts& c) noexcept { counts_ = &c; }

  /// From now on the thread's number counts commits. After count_in(), outside.
  void bind(std::uintptr_t key, std::uint64_t number) noexcept {
    counts_->run_with(number);
    key_ = key;
  }
  /// Before the number changes for anything but a commit.
  void unbind(std::uint64_t number) noexcept {
    if (std::exchange(key_, none) != none) counts_->stop_with(number);
  }

 private:
  static constexpr std::uintptr_t none = 2;

  std::uintptr_t key_ = none;
  std::uint64_t look_at_ = 0;  // when the thread's number has come to that, it looks at the clock
  counts* counts_ = nullptr;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
