/// A worker's loop in one run: a fiber that takes actors out of queues and calls their handlers, in the worker's slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <shunt/sched.hpp>
#include <shunt/templet/detail/worker_slot.hpp>
#include <shunt/templet/engine.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

class virtual_time;

class loop final : public worker_slot {
 public:
  loop(scheduler& all, std::atomic<int>& sleepers, std::size_t index, std::size_t slots)
      : worker_slot(all, sleepers), index_(index), seen_(slots) {}

  /// Its fiber: runs actors until the run is over.
  void run() noexcept;

  [[nodiscard]] bool runs_a_handler() const noexcept { return running != no_actor; }
  [[nodiscard]] bool runs_handler_of(const actor& a) const noexcept {
    return running == reinterpret_cast<std::uintptr_t>(&a);
  }
  [[nodiscard]] const result& done() const noexcept { return done_; }

 private:
  friend class scheduler;
  void run_in_virtual_time(virtual_time& clock) noexcept;
  void hand_over(actor& a, virtual_time& clock) noexcept;
  void handle(message& m, actor& a, virtual_time& clock) noexcept;
  inline void activate(actor& a) noexcept;
  [[gnu::cold]] void refuse(message* m, actor& a) noexcept;
  [[gnu::cold]] void fail(message* m, actor& a) noexcept;
  static void deliver_without_call(message* m, actor& a) noexcept;
  [[nodiscard, gnu::noinline]] actor* search(bool yield_first) noexcept;
  [[gnu::noinline]] void set_quick_activation() noexcept;
  void shuffle() noexcept;
  [[nodiscard]] actor* steal() noexcept;
  static void pause() noexcept;

  static constexpr int activations_before_yield = 64;  // then other fibers of this worker run
  static constexpr int looks_before_sleep = 100;       // some 5 us
  static constexpr int looks_before_park = 1000;       // some 50 us
  static constexpr int looks_at_a_lone_actor = 16;     // before an actor that is alone in its queue is taken over

  /// What a thief saw of another queue: one item, the same one at so many looks.
  struct lone_actor {
    std::uint64_t front = ~std::uint64_t{0};
    int looks = 0;
  };

  result done_;
  const std::size_t index_;
  std::vector<lone_actor> seen_;
  sched::waker fiber_;  // written by the fiber before it sleeps, read by the thread that wakes it
  std::atomic<bool> asleep_{false};
};

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
