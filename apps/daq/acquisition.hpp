/// From ten thousand channels to their sums: a fiber a channel, and two stages behind them.
///
///   read, check, decode        in order      altogether
///   channel ─ fiber ─┐
///   channel ─ fiber ─┼─ source ─> sums ─┐
///   channel ─ fiber ─┘                  ├─> total      a railway: stations, and trains of readings
///   ...                 source ─> sums ─┘
///
/// Channel c is read on worker c modulo their number. A worker has a source, which loads what its channels' fibers have
/// read, and the sums of another worker's channels, which it leaves in each train in place of the readings.
///
/// Everything is bounded. A fiber that finds its worker's batch full waits, and so does a source without a train: so
/// the slowest stage holds up the fibers that read, the system's buffers fill, and the sender's write waits. Nothing is
/// dropped.
///
/// A channel that fails is closed and reported; the others do not notice.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daq/channel.hpp"
#include "daq/generator.hpp"
#include "daq/settings.hpp"

namespace shunt::daq {

struct incident {
  std::uint32_t channel = 0;
  ending how;
};

/// How far the last stage has come.
struct rates {
  double seconds = 0;  ///< since the beginning
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  std::size_t faults = 0;
};

struct observer {
  /// Ten times a second, on some worker. May be empty.
  std::function<void(const rates&)> now{};
  /// As soon as it is known, on some worker, one at a time; not at the same time as now().
  std::function<void(const incident&)> failed{};
};

struct outcome {
  std::vector<tally> channels;      ///< what came in order and whole
  tally total;                      ///< the last stage's
  std::uint64_t out_of_order = 0;   ///< readings that were not their channel's next
  std::vector<incident> incidents;  ///< by channel
  int workers = 0;
  double seconds = 0;
  /// Resident bytes of this process when a tenth, half and all of it was done; 0: unknown.
  std::uint64_t resident_early = 0;
  std::uint64_t resident_middle = 0;
  std::uint64_t resident_end = 0;
};

/// Reads the channels to their ends, and closes them.
/// \param begin  called when everything is ready, before the first read.
/// \throws what `begin` throws; shunt::error if the system gives no threads or descriptors.
[[nodiscard]] outcome acquire(const settings& s, std::vector<channel_end>& channels, const std::function<void()>& begin,
                              const observer& watcher = {});

}  // namespace shunt::daq
