/// What runs actors: a runner a worker, in its seat, and the stage that they share. See DESIGN.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <shunt/actor/core.hpp>
#include <shunt/actor/detail/seat.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/sched.hpp>

namespace shunt {
inline namespace v1 {
namespace actors {
namespace detail {

/// Runs actors in its seat.
class runner final : public seat {
 public:
  runner(stage& all, std::atomic<int>& sleepers, std::size_t index, std::size_t seats)
      : seat(all, sleepers), index_(index), sights_(seats) {}

  /// Its fiber: runs actors until the run is over.
  void work() noexcept;

  [[nodiscard]] bool runs_a_handler() const noexcept { return whose != no_actor; }
  [[nodiscard]] bool runs_handler_of(const actor& a) const noexcept {
    return whose == reinterpret_cast<std::uintptr_t>(&a);
  }
  [[nodiscard]] const result& done() const noexcept { return done_; }

 private:
  friend class stage;
  void run(actor& a) noexcept;
  [[gnu::cold]] void refuse(message* m, actor& a) noexcept;
  [[gnu::cold]] void fail(message* m, actor& a) noexcept;
  static void drop(message* m, actor& a) noexcept;
  [[nodiscard, gnu::noinline]] actor* search(bool due) noexcept;
  [[gnu::noinline]] void set_quick_turn() noexcept;
  void mix() noexcept;
  [[nodiscard]] actor* steal() noexcept;
  static void rest() noexcept;

  static constexpr int turns_a_duty = 64;         // between two yields to other fibers of this worker
  static constexpr int looks_before_sleep = 100;  // some 5 us
  static constexpr int looks_before_park = 1000;  // some 50 us
  static constexpr int looks_at_a_single = 16;    // before an actor that stands in its queue alone is taken over

  /// What a thief saw of another queue: one item, the same one at so many looks.
  struct single {
    std::uint64_t front = ~std::uint64_t{0};
    int looks = 0;
  };

  result done_;
  const std::size_t index_;
  std::vector<single> sights_;
  sched::waker fiber_;  // before it sleeps: written by it; then read by who wakes it
  std::atomic<bool> asleep_{false};
};

/// One engine.
///
/// Invariants
///   G1  An actor that has messages and does not run stands in one queue, or in outside_: its inbox's table.
///   G2  A runner is among the sleepers only if it found nothing to run after it had entered itself there.
///   G3  Only handlers send during a run. So if all runners that came sleep, nothing can be sent any more.
class stage {
 public:
  void send_slowly(message& m, actor& to);
  void give(message& m, actor& a);
  void must_end(actor& a, const char* what);
  result run(int workers);

 private:
  friend class seat;
  friend class runner;
  enum class after_sleep : bool { look_again, over };

  void run_in_fiber(sched::runtime& on, int workers);
  void set_up(sched::runtime& on);
  [[nodiscard]] std::string tear_down(std::exception_ptr& failure);
  [[nodiscard]] bool come() noexcept;
  after_sleep sleep(runner& who) noexcept;
  void end() noexcept;
  [[nodiscard]] runner& take_sleeper() noexcept;
  static void wake(runner& who) noexcept;
  void wake_one() noexcept;
  void queue_outside(actor& a) noexcept;
  [[nodiscard]] actor* take_outside() noexcept;
  [[nodiscard]] bool anything() const noexcept;
  void fail(std::exception_ptr what) noexcept;
  [[nodiscard]] std::string who_has_not_ended();
  [[nodiscard]] runner* runner_here() const noexcept;
  [[noreturn]] void refuse(const char* call, const actor* to, const std::string& why) const;
  [[noreturn]] void refuse_foreign(const char* call, const message& m, const actor* to) const;

  // Read by each send, written when a runner falls asleep or is woken, under lock_.
  alignas(quiet_distance) std::atomic<int> sleepers_{0};
  std::atomic<bool> running_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> outside_any_{false};

  alignas(quiet_distance) std::mutex lock_;  // guards what follows
  actor* outside_first_ = nullptr;           // oldest first
  actor* outside_last_ = nullptr;
  std::vector<runner*> asleep_;
  int came_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;
  actor* awaiting_ = nullptr;

  std::vector<std::unique_ptr<runner>> seats_;  // changed by run() only, before running_ is set
  sched::runtime* runtime_ = nullptr;           // of the present run
};

}  // namespace detail
}  // namespace actors
}  // namespace v1
}  // namespace shunt
