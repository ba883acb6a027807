/// Orders of fibers that can be written down, and the strategies that follow them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shunt/sched/explore/strategy.hpp>

namespace shunt {
inline namespace v1 {
namespace test::detail {

/// As text: "random:7", "pct:7:3:120" (seed, depth, steps), "path:0.2.1" (choices, then the first each time).
struct schedule {
  enum class kind : std::uint8_t { random, pct, path };
  kind how = kind::random;
  std::uint64_t seed = 0;
  int depth = 1;
  std::uint64_t steps = 1;  // the length of a run, as estimated: the priorities change within so many steps
  std::vector<std::uint32_t> path;

  [[nodiscard]] std::string text() const;
  /// \throws usage_error
  [[nodiscard]] static schedule parse(std::string_view text);
};

/// A choice that was made among several.
struct fork_in_path {
  std::uint32_t taken;
  std::uint32_t ways;
  std::uint32_t preemptions;  // before it, in this run
  std::uint32_t first_goes_on;
};

/// A strategy that follows a schedule, and counts steps.
class follower : public sched::strategy {
 public:
  /// Ends the run, which cannot go on, and says why: does not return.
  using ending = std::function<void(const std::string& why)>;

  follower(std::size_t most_steps, ending end) : most_steps_(most_steps), end_(std::move(end)) {}

  [[nodiscard]] std::size_t choose(const moment& now) noexcept final {
    if (++steps_ > most_steps_) end_("it does not end: it takes more than " + std::to_string(most_steps_) + " steps");
    return now.ready.size() == 1 && !asks_always() ? 0 : pick(now);
  }
  [[nodiscard]] std::size_t choose_among(std::size_t ways) noexcept final { return pick_way(ways); }
  void stuck(std::string_view fibers) noexcept final {
    end_("no fiber can go on, and no deadline will come\n" + std::string(fibers));
  }

  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// The choices that were made, if the schedule is a path; otherwise none.
  [[nodiscard]] const std::vector<fork_in_path>& taken() const noexcept { return taken_; }

 protected:
  [[nodiscard]] virtual std::size_t pick(const moment& now) noexcept = 0;
  [[nodiscard]] virtual std::size_t pick_way(std::size_t ways) noexcept = 0;
  /// Whether it must be asked in steps that leave no choice, too.
  [[nodiscard]] virtual bool asks_always() const noexcept { return false; }

  std::vector<fork_in_path> taken_;

 private:
  const std::size_t most_steps_;
  std::uint64_t steps_ = 0;
  const ending end_;
};

[[nodiscard]] std::unique_ptr<follower> make_follower(const schedule& s, std::size_t most_steps, follower::ending end);

/// After a run that took `taken`: sets `path` to the next one in the order of choices, among those with at most so many
/// pre-emptions. \return false: there is none.
[[nodiscard]] bool next_path(const std::vector<fork_in_path>& taken, std::uint64_t most_preemptions,
                             std::vector<std::uint32_t>& path);

}  // namespace test::detail
}  // namespace v1
}  // namespace shunt
