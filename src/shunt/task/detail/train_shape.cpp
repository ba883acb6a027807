#include <shunt/task/detail/train_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/rail/line.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {
namespace {

constexpr std::size_t bytes_per_ns = 8;  // about the speed of a copy
constexpr std::size_t max_train_bytes = 16 * 1024;
constexpr std::size_t min_trains = 4;
constexpr std::size_t max_ring_bytes = std::numeric_limits<std::ptrdiff_t>::max();
// Among so few trains of one good a station is always close behind the source: it waits for the train, not for many.
// With a header the train's own cache line says that it is here; the source's progress would be a second line.
constexpr std::size_t few_trains = 64;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

/// A train is: header, stamp, goods; the first two only where they are needed. The capacity follows from the latency,
/// the bytes of a train from the capacity, the number of trains from both.
train_shape shape_of(const railway_options& wanted, std::size_t good_bytes, std::size_t good_alignment,
                     call_site call) {
  train_shape s{};
  const std::size_t stamp = wanted.stamp_every != 0 ? sizeof(std::int64_t) : 0;
  s.capacity = wanted.capacity;
  s.headers = s.capacity != 1 || good_bytes > sizeof(rail::train_ring::header) || stamp != 0 ||
              wanted.wait == wait_profile::latency || (wanted.trains != 0 && wanted.trains <= few_trains);
  s.goods_offset = s.headers ? round_up(sizeof(rail::train_ring::header) + stamp, good_alignment) : 0;
  if (s.capacity == 0) {
    const auto by_latency = static_cast<std::size_t>(std::max<std::int64_t>(wanted.latency.count(), 0)) * bytes_per_ns;
    const auto bytes = std::clamp(by_latency, cache_line, max_train_bytes);
    s.capacity = bytes > s.goods_offset + good_bytes ? (bytes - s.goods_offset) / good_bytes : 1;
  }
  if (s.capacity > rail::train_ring::most_goods) {
    throw usage_error(error_number(202),
                      "railway: a capacity of " + std::to_string(s.capacity) + " goods: at most " +
                          std::to_string(rail::train_ring::most_goods) + call.place(),
                      call.where());
  }
  const auto alignment = s.headers ? std::max(good_alignment, alignof(rail::train_ring::header)) : good_alignment;
  s.train_bytes = round_up(s.goods_offset + s.capacity * good_bytes, alignment);
  // Small trains share a cache line; a larger one begins at a line of its own.
  if (s.train_bytes > cache_line / 2) s.train_bytes = round_up(s.train_bytes, cache_line);
  s.alignment = std::max(alignment, quiet_distance);
  if (good_alignment > cache_line) s.train_bytes = round_up(s.train_bytes, good_alignment);
  s.trains = wanted.trains != 0 ? wanted.trains : std::max(min_trains, wanted.bytes / s.train_bytes);
  if (const auto most = max_ring_bytes / s.train_bytes; s.trains > most) {
    throw usage_error(error_number(202),
                      "railway: " + std::to_string(s.trains) + " trains of " + std::to_string(s.train_bytes) +
                          " bytes: at most " + std::to_string(most) + call.place(),
                      call.where());
  }
  return s;
}

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
