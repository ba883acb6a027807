/// The other ends of the channels: a process that sends frames with known content, and fails where
/// it is told to.
///
///   acquisition                                generator
///   forks; open() makes each channel and ──>   keeps that end
///   passes one of its ends on
///   go()                                 ──>   a fiber for each channel begins to send
///   reads the channels                   <──   frames, until all were sent or the time is over
///   wait_until_written()                 <──   nothing more will come, stalled ends are still open
///   finish()                             <──   what was sent, once every end is closed
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <shunt/io.hpp>
#include <variant>
#include <vector>

#include "daq/settings.hpp"

namespace shunt::daq {

/// The end of a channel that is read.
using channel_end = std::variant<io::stream, io::source>;

/// What the generator says of a channel.
struct sent {
  fault what = fault::none;
  std::uint64_t frames = 0;  ///< begun; one that failed, and those behind it, among them
  tally good;                ///< of the frames before the fault
};

/// Which channels a process reads: `first`, `first + step` and so on.
struct share {
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  [[nodiscard]] std::uint32_t channel(std::uint32_t i) const noexcept { return first + i * step; }
  /// How many of so many channels.
  [[nodiscard]] std::uint32_t of(std::uint32_t channels) const noexcept {
    return first >= channels ? 0 : (channels - first - 1) / step + 1;
  }
};

/// One thread uses it. Its destructor ends the process if it is still there.
class generator {
 public:
  /// Forks: only while this process has one thread (fork(2) leaves the others behind). Ends with
  /// this process, whatever becomes of it. \throws io::io_error, shunt::error.
  explicit generator(const settings& s);
  /// The same without channels, where the process learns only later which of them it reads: open() makes them.
  struct unopened {};
  generator(const settings& s, unopened);
  /// Once, before go(). \throws io::io_error, shunt::error.
  void open(const share& mine);
  /// One for each channel of the share, in order. The reader closes an end when it has read enough.
  [[nodiscard]] std::vector<channel_end>& channels() noexcept { return ends_; }

  /// Once. \throws shunt::error if the process is gone.
  void go();

  /// Blocks until every channel has sent what it will. Only where the channels' buffers hold all of
  /// it: no fiber reads meanwhile. \throws shunt::error that says how the process failed.
  void wait_until_written();

  /// Blocks until the process has ended; all channels must have been closed here. \throws as above.
  [[nodiscard]] std::vector<sent> finish();

 private:
  void read(void* into, std::size_t bytes);
  void read_to(char tag);
  [[noreturn]] void fail();

  struct process {
    process() noexcept = default;
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    int wait();  // its status

    pid_t id = -1;
    int control = -1;  // a stream socket: descriptors there, reports back
  };

  const std::uint32_t channels_;
  const link over_;
  std::uint32_t count_ = 0;  // of the share
  process process_;
  std::vector<channel_end> ends_;
};

}  // namespace shunt::daq
