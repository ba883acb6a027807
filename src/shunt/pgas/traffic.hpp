/// What moved: counters of a worker, a rank or a job.
#pragma once

#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace pgas {

/// Counters that only grow. pe::traffic() reads those of the whole job.
struct traffic {
  std::uint64_t messages = 0;        ///< sent by programs and handlers, replies included
  std::uint64_t bytes = 0;           ///< of trains that departed: captures, routes, heads of batches
  std::uint64_t network_bytes = 0;   ///< of those, in trains that a network carried
  std::uint64_t trains = 0;          ///< that departed
  std::uint64_t train_capacity = 0;  ///< bytes those trains could have carried

  /// Mean fill of the trains, 0..1.
  [[nodiscard]] double fill() const noexcept {
    return train_capacity == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(train_capacity);
  }
  /// Adds each counter: of two workers, say.
  traffic& operator+=(const traffic& other) noexcept {
    messages += other.messages;
    bytes += other.bytes;
    network_bytes += other.network_bytes;
    trains += other.trains;
    train_capacity += other.train_capacity;
    return *this;
  }
  /// What was sent between two readings, the later one first: `me.traffic() - before`.
  friend traffic operator-(traffic a, const traffic& b) noexcept {
    a.messages -= b.messages;
    a.bytes -= b.bytes;
    a.network_bytes -= b.network_bytes;
    a.trains -= b.trains;
    a.train_capacity -= b.train_capacity;
    return a;
  }
};

}  // namespace pgas
}  // namespace v1
}  // namespace shunt
