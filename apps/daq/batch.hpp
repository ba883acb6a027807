/// What the fibers of one worker have read and its source has not loaded yet: a batch of bounded length, and fibers
/// that wait at either end.
///
/// Invariants
///   B1  Fibers of one worker use it, none of which goes to another one: so there is no lock.
///   B2  Readers stand in waiting_ only while items_ is full: take() lets as many in as it made room for, in the order
///       in which they came. So none is overtaken, and what one fiber adds stays in order.
///   B3  It is closed when the last of its readers has left.
#pragma once

#include <cstddef>
#include <deque>
#include <shunt/base/error.hpp>
#include <shunt/sched/fiber.hpp>
#include <utility>
#include <vector>

namespace shunt::daq {

template <typename T>
class batch {
 public:
  /// One of those that add. It leaves when it goes, also if its fiber was never run.
  class reader {
   public:
    reader(reader&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    reader& operator=(reader&&) = delete;
    ~reader() {
      if (of_ != nullptr) of_->leave();
    }
    /// A fiber. Waits while the batch is full. \return false: it was abandoned, and the item dropped.
    bool add(const T& item) { return of_->add(item); }

   private:
    friend class batch;
    explicit reader(batch& of) noexcept : of_(&of) {}
    batch* of_;
  };

  /// \param room  at least 1 (contract). \throws std::bad_alloc
  explicit batch(std::size_t room) : room_(room) {
    SHUNT_ASSERT(room >= 1);
    items_.reserve(room);
  }
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;

  /// The batch outlives it.
  [[nodiscard]] reader enter() noexcept {
    ++readers_;
    return reader(*this);
  }

  /// The source's fiber. Waits while the batch is empty. Replaces what `into` holds by all that is there.
  /// \return false: all readers have left, and nothing is there.
  [[nodiscard]] bool take(std::vector<T>& into) {
    into.clear();
    into.reserve(room_);
    while (items_.empty()) {
      if (readers_ == 0) return false;
      taker_ = sched::this_fiber::self();
      sched::this_fiber::park();
    }
    items_.swap(into);
    while (!waiting_.empty() && items_.size() < room_) {
      sender& one = *waiting_.front();
      waiting_.pop_front();
      items_.push_back(*one.item);
      one.taken = true;
      one.fiber.wake();
    }
    return true;
  }

  /// The source's fiber, or one of the same worker after it: take() will not be called any more.
  void abandon() noexcept {
    abandoned_ = true;
    for (sender* const one : std::exchange(waiting_, {})) {
      one->taken = true;
      one->fiber.wake();
    }
  }

 private:
  bool add(const T& item) {
    if (abandoned_) return false;
    if (items_.size() == room_) {
      sender me{&item, sched::this_fiber::self()};
      waiting_.push_back(&me);
      while (!me.taken) sched::this_fiber::park();
      return !abandoned_;
    }
    items_.push_back(item);
    std::exchange(taker_, {}).wake();
    return true;
  }
  void leave() noexcept {
    if (--readers_ == 0) std::exchange(taker_, {}).wake();
  }

  /// On the stack of its fiber, until it is taken.
  struct sender {
    const T* item;
    sched::waker fiber;
    bool taken = false;
  };

  std::size_t readers_ = 0;
  bool abandoned_ = false;
  const std::size_t room_;
  std::vector<T> items_;
  std::deque<sender*> waiting_;
  sched::waker taker_;
};

}  // namespace shunt::daq
