/// The deadlines of one worker's parked fibers: a heap with four children a node. Each fiber knows its place in it, so
/// a wake before the deadline takes the deadline out again.
///
/// Owner only: the worker's thread. Cost: add and remove O(log n), some tens of ns at 100,000 deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/sched/detail/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class timers {
 public:
  using time = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  /// The earliest deadline. Not on an empty heap (contract).
  [[nodiscard]] time first() const noexcept { return heap_.front().when; }
  [[nodiscard]] fiber* first_fiber() const noexcept { return heap_.front().owner; }

  /// Makes room for one more: the next add() cannot fail. \throws std::bad_alloc
  void reserve() {
    if (heap_.size() == heap_.capacity()) heap_.reserve(heap_.empty() ? 16 : 2 * heap_.size());
  }
  void add(fiber& f, time when) noexcept {
    SHUNT_ASSERT(f.timer == fiber::no_timer && heap_.size() < heap_.capacity());
    heap_.push_back({when, &f});
    rise(heap_.size() - 1, {when, &f});
  }
  void remove(fiber& f) noexcept {
    const std::size_t at = f.timer;
    SHUNT_ASSERT(at < heap_.size() && heap_[at].owner == &f);
    f.timer = fiber::no_timer;
    const entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (at > 0 && last.when < heap_[parent(at)].when) {
      rise(at, last);
    } else {
      sink(at, last);
    }
  }

 private:
  struct entry {
    time when;
    fiber* owner;
  };
  static std::size_t parent(std::size_t i) noexcept { return (i - 1) / 4; }

  void put(std::size_t at, const entry& e) noexcept {
    heap_[at] = e;
    e.owner->timer = static_cast<std::uint32_t>(at);
  }
  void rise(std::size_t at, const entry e) noexcept {
    while (at > 0 && e.when < heap_[parent(at)].when) {
      put(at, heap_[parent(at)]);
      at = parent(at);
    }
    put(at, e);
  }
  void sink(std::size_t at, const entry e) noexcept {
    for (;;) {
      std::size_t least = 4 * at + 1;
      if (least >= heap_.size()) break;
      for (std::size_t i = least + 1; i < heap_.size() && i <= 4 * at + 4; ++i) {
        if (heap_[i].when < heap_[least].when) least = i;
      }
      if (!(heap_[least].when < e.when)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, e);
  }

  std::vector<entry> heap_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
