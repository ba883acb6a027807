/// What a railway is made with, and what it says of its stations.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <shunt/base/latency_histogram.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

/// The type of goods. A train is full of objects of this type from the start; loading a good assigns to one of them.
template <typename T>
concept railway_good = std::default_initializable<T> && std::is_object_v<T> && std::is_nothrow_destructible_v<T>;

/// What a station does while no train is there. A fiber lets its worker's other fibers run in any case. A worker sleeps
/// at once when a station falls asleep and leaves it without other fibers.
enum class wait_profile : std::uint8_t {
  latency,  ///< polls without end: it takes a processor for each station that waits, and the next train is seen
  ///< soonest (each train carries a header that says it is there, 8 bytes more where it carries one small good)
  balanced,  ///< polls for some 20 us, less where waits have been long, then sleeps
  battery,   ///< sleeps soon
};

/// How a railway is built.
struct railway_options {
  /// Goods of a train; 0: as many as `latency` allows.
  std::size_t capacity = 0;
  /// Trains of each source; 0: as many as fit into `bytes`, at least 4. With one train source and stations take turns.
  std::size_t trains = 0;

  /// For capacity 0: how old a good may get while its train fills, at the speed of copying (8 bytes a ns). A train then
  /// has 8 bytes for each ns, at least a cache line, at most 16 KiB.
  std::chrono::nanoseconds latency{256};
  /// For trains 0: memory of each source's trains. About 32 KiB stay in a core's own cache, which is best for stations
  /// on one worker. Between two cores 2 to 16 MiB with trains of some KiB are best: the goods have then left the
  /// loader's own cache when another station unloads them.
  std::size_t bytes = 32 * 1024;

  wait_profile wait = wait_profile::balanced;  ///< how sources and stations wait

  /// One train in this number carries the time of its departure, for station_counts::age; 0: no train does.
  unsigned stamp_every = 0;
};

/// What a station has done so far, as of a moment.
struct station_counts {
  std::string name;           ///< as given; for reports
  std::uint64_t goods = 0;    ///< that have left here
  std::uint64_t trains = 0;   ///< that have left here
  double mean_fill = 0;       ///< of the trains: goods over capacity
  std::uint64_t waiting = 0;  ///< trains under way to here; 0 for a source
  std::uint64_t waits = 0;    ///< times that it found no train
  std::uint64_t sleeps = 0;   ///< of these, times that it slept
  /// Time from the source to here of the stamped trains; null without stamps, and for sources. Lives as long as the
  /// railway.
  const latency_histogram* age = nullptr;
};

}  // namespace task

using task::railway_good;
using task::railway_options;
using task::station_counts;
using task::wait_profile;

}  // namespace v1
}  // namespace shunt
