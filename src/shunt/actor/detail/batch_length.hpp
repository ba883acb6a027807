/// How many messages a batch handles. Messages to other workers wait in open trains until a batch ends; so a batch of
/// long handlers has to end after fewer messages than one of short handlers.
///
///   a full batch took          the next batch handles
///   more than `longest`        half as many messages, at least 1
///   less than half of that     twice as many, at most `most`
///   neither                    as many
///
/// A batch is full if messages were left when it ended. One that ran out of messages says nothing of the length, and
/// its trains departed at its end. Cost: a reading of the clock at the beginning of each batch that follows a full one,
/// and one at its end if it is full, too.
///
/// The owner's thread only.
#pragma once

#include <algorithm>
#include <chrono>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

class batch_length {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr int most = 512;
  /// Long beside what the end of a batch costs, short beside what an actor on another worker would wait otherwise.
  static constexpr std::chrono::nanoseconds longest{20'000};

  [[nodiscard]] int messages() const noexcept { return messages_; }

  /// A batch begins. `read_clock` is called if its length will be looked at.
  template <class ReadClock>
  void begin(ReadClock read_clock) {
    if (was_full_) began_ = read_clock();
  }
  /// It ends. \param full  messages were left
  template <class ReadClock>
  void end(bool full, ReadClock read_clock) {
    if (full && was_full_) adapt(read_clock() - began_);
    was_full_ = full;
  }

 private:
  void adapt(clock::duration took) noexcept {
    if (took > longest) {
      messages_ = std::max(1, messages_ / 2);
    } else if (took < longest / 2) {
      messages_ = std::min(most, messages_ * 2);
    }
  }

  int messages_ = most;
  bool was_full_ = false;
  clock::time_point began_{};
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
