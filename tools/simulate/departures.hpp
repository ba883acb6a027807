/// When a worker's trains are full: which of its messages is the one that no longer fits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "work.hpp"

namespace shunt::simulate {

/// Numbers that look random, the same for the same seed: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t operator()() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// A train that leaves.
struct departure {
  std::int64_t after = 0;  ///< so many messages of the stage have been loaded
  std::int32_t to = 0;
  distance how = distance::self;
  stage of = stage::programs;
  bool mark = false;  ///< it has an end mark
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  picoseconds handling = 0;
};

/// All trains of one stage of a worker.
struct departures {
  std::int64_t messages = 0;    ///< of the stage
  std::vector<departure> full;  ///< in the order in which they leave
  std::vector<departure> last;  ///< those that are not full, and leave when nothing else is to be done
};

/// Messages for the buffers come mixed, each order of them as likely as another: the place of the r-th of n messages
/// among all N has the mean r(N+1)/(n+1) and the variance of an order statistic; it is drawn from a normal distribution
/// in whole numbers.
/// \param train_bytes  that a train carries
[[nodiscard]] departures departures_of(std::span<const load> loads, stage of, std::int64_t train_bytes,
                                       random_numbers random);

}  // namespace shunt::simulate
