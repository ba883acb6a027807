/// What lies between two stages: a queue of bounded length, and fibers that wait at either end.
///
/// Invariants, all under the lock
///   Q1  items_ holds at most capacity_ values; its memory was reserved in the beginning.
///   Q2  Senders stand in the list only while items_ is full: take() lets as many in as it made
///       room for, in the order in which they came. So no sender is overtaken, and what one fiber
///       pushes stays in order.
///   Q3  A sender lies on the stack of its fiber. It is taken out of the list before it is told.
///
/// Edges
///   taken   take -> push    the sender's node is its own again
///   (values go under the lock)
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <shunt/base/error.hpp>
#include <shunt/sched/fiber.hpp>
#include <utility>
#include <vector>

namespace shunt::daq {

/// Any number of fibers push, one takes; on any workers.
template <typename T>
class bounded_queue {
 public:
  /// \param capacity  at least 1 (contract). \throws std::bad_alloc
  explicit bounded_queue(std::size_t capacity) : capacity_(capacity) {
    SHUNT_ASSERT(capacity >= 1);
    items_.reserve(capacity);
  }
  bounded_queue(const bounded_queue&) = delete;
  bounded_queue& operator=(const bounded_queue&) = delete;

  /// A fiber. Waits while the queue is full. Not after close() (contract).
  void push(const T& item) {
    sender me{&item};
    sched::waker taker;
    {
      const std::scoped_lock held(lock_);
      SHUNT_ASSERT(!closed_);
      if (items_.size() < capacity_) {
        items_.push_back(item);
        taker = std::exchange(taker_, {});
        me.taken.store(true, std::memory_order_relaxed);  // relaxed: only this fiber knows of it
      } else {
        me.fiber = sched::this_fiber::self();
        *last_ = &me;
        last_ = &me.next;
      }
    }
    taker.wake();
    while (!me.taken.load(std::memory_order_acquire)) sched::this_fiber::park();  // edge `taken`
  }

  /// One fiber. Waits while the queue is empty. Replaces what `into` holds by all that is there;
  /// its memory becomes the queue's, so it should be given back the next time.
  /// \return false: closed, and nothing left.
  [[nodiscard]] bool take(std::vector<T>& into) {
    into.clear();
    into.reserve(capacity_);
    for (;;) {
      {
        const std::scoped_lock held(lock_);
        if (!items_.empty()) {
          items_.swap(into);
          while (first_ != nullptr && items_.size() < capacity_) let_in();
          return true;
        }
        if (closed_) return false;
        taker_ = sched::this_fiber::self();
      }
      sched::this_fiber::park();
    }
  }

  /// Any thread, when the last push() has returned.
  void close() {
    const std::scoped_lock held(lock_);
    closed_ = true;
    std::exchange(taker_, {}).wake();
  }

 private:
  struct sender {
    const T* item;
    sched::waker fiber{};
    sender* next = nullptr;
    std::atomic<bool> taken{false};
  };

  void let_in() {
    sender& one = *first_;
    items_.push_back(*one.item);
    first_ = one.next;
    if (first_ == nullptr) last_ = &first_;
    const auto fiber = one.fiber;
    one.taken.store(true,
                    std::memory_order_release);  // edge `taken`: not touched from here on (Q3)
    fiber.wake();
  }

  const std::size_t capacity_;
  std::mutex lock_;  // guards what follows
  std::vector<T> items_;
  sender* first_ = nullptr;
  sender** last_ = &first_;
  sched::waker taker_;
  bool closed_ = false;
};

}  // namespace shunt::daq
