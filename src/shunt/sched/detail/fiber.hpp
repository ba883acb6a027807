/// A fiber's control block, the queues it stands in, and the pool it comes from.
///
/// Invariants
///   F1  Blocks are type-stable: they come from slabs that live as long as the process, so that a
///       waker may touch `state` at any time. Everything else belongs to the fiber's present life.
///   F2  A fiber stands in at most one queue, and `link` is that queue's if it needs one: its worker's
///       newcomers, an inbox, the pool; rings and deques hold pointers.
///   F3  Once started, it runs on its home worker only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <shunt/base/cache_line.hpp>
#include <shunt/context/stack_pool.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/fiber_state.hpp>
#include <shunt/sched/detail/inbox.hpp>
#include <shunt/sched/detail/parker.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber;

/// A worker's address for others. Type-stable like fibers: a thread that woke a fiber may still
/// touch its worker's post when that fiber, and the runtime with it, has ended.
struct post {
  alignas(quiet_distance) inbox<fiber> mail;
  parker bed;
  post* next_free = nullptr;

  /// Any thread.
  void send(fiber* f) noexcept {
    if (mail.push(f) == after_push::wake) bed.unpark();
  }
  /// Any thread.
  void unpark() noexcept {
    if (mail.unpark() == after_push::wake) bed.unpark();
  }
};

struct alignas(cache_line) fiber {
  // What a switch touches comes first, in one line.
  context::execution run;
  fiber_state state;      // the only member that a stale waker touches (F1)
  bool started = false;   // has a stack; F3 holds from here on
  bool timed_out = false; // its last park ended because its time was over

  fiber* link = nullptr;  // F2

  post* home = nullptr;  // where it runs, or must start; nullptr: not decided yet
  static constexpr std::uint32_t no_timer = ~std::uint32_t{0};
  std::uint32_t timer = no_timer;  // its place among its worker's deadlines
  std::size_t stack_bytes = 0;
  context::stack_pool::stack stack;
  void* scope = nullptr;  // this_fiber::scope()
  std::function<void()> body;
  std::string name;

  static waker waker_of(fiber* f) noexcept { return waker(f); }
  static fiber* behind(const waker& w) noexcept { return w.fiber_; }
};

/// First in, first out; by F2 it needs no memory, so nothing here fails.
class fiber_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

  void push(fiber* f) noexcept {
    f->link = nullptr;
    (head_ == nullptr ? head_ : tail_->link) = f;
    tail_ = f;
  }

  [[nodiscard]] fiber* pop() noexcept {
    fiber* const f = head_;
    head_ = f->link;
    return f;
  }

 private:
  fiber* head_ = nullptr;
  fiber* tail_ = nullptr;  // meaningless while empty
};

/// Blocks for one thread, taken from and given back to a common store in batches.
class fiber_cache {
 public:
  fiber_cache() = default;
  ~fiber_cache();
  fiber_cache(const fiber_cache&) = delete;
  fiber_cache& operator=(const fiber_cache&) = delete;

  /// \throws std::bad_alloc
  [[nodiscard]] fiber* take();
  void give(fiber* f) noexcept;

 private:
  fiber* free_ = nullptr;
  std::size_t count_ = 0;
};

/// \throws std::bad_alloc
[[nodiscard]] post* take_post();
void give_post(post* p) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
