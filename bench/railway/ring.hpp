/// Buffers between one producer and consumers that each see all of them: no more than that takes.
///
/// Each buffer has its own flag in front: the shortest way to tell and to carry little is the same cache line.
///
/// Invariants
///   R1  A buffer's flag is its position + 1 once it is filled; it is not written again before all consumers' counts
///       have passed that position.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "../common/team.hpp"
#include "shape.hpp"

namespace bench {

struct alignas(2 * line) count {
  std::atomic<long> passed{0};
};

class ring {
 public:
  ring(const shape& s)
      : stride_(static_cast<std::size_t>(1 + s.capacity)),
        buffers_(s.trains),
        done_(static_cast<std::size_t>(s.consumers)) {
    if (stride_ > 4) stride_ = (stride_ + 7) / 8 * 8;
    const auto words = stride_ * static_cast<std::size_t>(buffers_);
    memory_.reset(static_cast<long*>(::operator new(words * sizeof(long), std::align_val_t(2 * line))));
    std::fill_n(memory_.get(), words, 0L);
  }
  [[nodiscard]] std::atomic_ref<long> flag(long buffer) const {
    return std::atomic_ref(memory_[stride_ * static_cast<std::size_t>(buffer)]);
  }
  [[nodiscard]] long* goods(long buffer) const { return &memory_[stride_ * static_cast<std::size_t>(buffer)] + 1; }
  [[nodiscard]] long buffers() const { return buffers_; }
  [[nodiscard]] count& done(long consumer) { return done_[static_cast<std::size_t>(consumer)]; }
  [[nodiscard]] long least_done() const {
    long least = done_[0].passed.load(std::memory_order_acquire);
    for (const auto& d : done_) least = std::min(least, d.passed.load(std::memory_order_acquire));
    return least;
  }

 private:
  struct release {
    void operator()(long* p) const { ::operator delete(p, std::align_val_t(2 * line)); }
  };
  std::size_t stride_;
  long buffers_;
  std::unique_ptr<long[], release> memory_;
  std::vector<count> done_;
};

/// Does what can be done now. \return whether it is through.
struct producer {
  ring& on;
  bench::numbers numbers;
  long capacity;
  std::uint64_t* results = nullptr;  // in a circle: their sum, until all are back
  long at = 0, position = 0, limit = 0;
  bool operator()() {
    if (position == limit) limit = on.least_done() + on.buffers();
    for (; position != limit && numbers.left() != 0; ++position) {
      if (results != nullptr && position >= on.buffers()) *results += add_up(on.goods(at), capacity);
      numbers.fill(on.goods(at), capacity);
      on.flag(at).store(position + 1, std::memory_order_release);
      if (++at == on.buffers()) at = 0;
    }
    return numbers.left() == 0 && (results == nullptr || unload_the_last());
  }
  /// Results that nothing more is loaded over. \return whether they were back.
  bool unload_the_last() {
    if (on.least_done() != position) return false;
    for (long b = 0; b != std::min(position, on.buffers()); ++b) *results += add_up(on.goods(b), capacity);
    results = nullptr;
    return true;
  }
};

struct consumer {
  ring& on;
  const shape& of;
  long me, left;
  std::uint64_t& sum;
  long at = 0, position = 0;
  bool operator()() {
    for (; left != 0 && on.flag(at).load(std::memory_order_acquire) == position + 1; left -= of.capacity) {
      sum += unload(of, on.goods(at), of.capacity);
      on.done(me).passed.store(++position, std::memory_order_release);
      if (++at == on.buffers()) at = 0;
    }
    return left == 0;
  }
};

}  // namespace bench
