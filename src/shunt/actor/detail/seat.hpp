/// What a send touches of the worker that it is on: see stage.hpp for the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <shunt/actor/detail/ready_queue.hpp>

namespace shunt {
inline namespace v1 {
namespace actors {

class actor;

namespace detail {

class stage;

/// Tells the calling thread from all others that live. Read anew each time: a fiber may have changed threads.
[[nodiscard, gnu::always_inline]] inline std::uintptr_t this_thread_mark() noexcept {
#if defined(__x86_64__)
  std::uintptr_t mark;
  asm volatile("movq %%fs:0, %0" : "=r"(mark));
  return mark;
#elif defined(__aarch64__)
  std::uintptr_t mark;
  asm volatile("mrs %0, tpidr_el0" : "=r"(mark));
  return mark;
#else
  static thread_local char mine;
  return reinterpret_cast<std::uintptr_t>(&mine);
#endif
}

/// A worker's place in one run: one fiber of that worker runs actors here, one at a time.
class seat {
 public:
  seat(stage& all, std::atomic<int>& sleepers) noexcept : all_(&all), sleepers_(sleepers) {}

  /// Whether the caller is on the thread of this seat, and this is a seat of `of`.
  [[nodiscard]] bool is_here(const stage* of) const noexcept { 
    return all_ == of && thread_.load(std::memory_order_relaxed) == this_thread_mark();
  }

  /// The thread of this seat, who was told `queue_it`.
  void queue(actor& a) noexcept {
    if (!ready_.push(&a)) [[unlikely]] return queue_outside(a);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]] wake_one();  // after the push: see DESIGN.md
  }

 protected:
  static constexpr std::size_t slots = 1024;

  [[gnu::cold]] void queue_outside(actor& a) noexcept;
  [[gnu::cold]] void wake_one() noexcept;

  stage* const all_;
  std::atomic<int>& sleepers_;
  std::atomic<std::uintptr_t> thread_{0};  // its own; relaxed: compared with the reader's, and no more
  ready_queue<actor, slots> ready_;
};

}  // namespace detail
}  // namespace actors
}  // namespace v1
}  // namespace shunt
