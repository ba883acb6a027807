/// The part of a railway's station that is no template: waiting, counting, its name. A report of what is stuck names
/// the sources that a sleeping station waits for: those before it that have not closed.
///
/// A station that finds no train polls, spins or sleeps, as its wait_profile says:
///
///   latency    poll_on(), in the caller's frame, until a train is there; await() only for ends, time and stop
///   balanced   await(): spin() for some 20 us, then sleep()
///   battery    await(): a few quick polls, then sleep()
///
/// Edges
///   sleeper   sleep -> wake   the fiber that sleeps here
///   token     wake -> sleep   for a thread that sleeps: what was done before the wake
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/base/clock.hpp>
#include <shunt/rail/line.hpp>
#include <shunt/sched.hpp>
#include <shunt/sched/observe/report_notes.hpp>
#include <shunt/task/railway_options.hpp>

namespace shunt {
inline namespace v1 {
namespace task {
namespace detail {

/// Owner only: the fiber or thread that stands at the station; wake() by any thread.
class station_base : public rail::waker {
 public:
  station_base(const station_base&) = delete;
  station_base& operator=(const station_base&) = delete;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }

  void wake() noexcept final;

 protected:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr time_point never = time_point::max();

  /// \param trains  of each source
  station_base(rail::station& at, std::string name, wait_profile profile, std::size_t trains)
      : at_(at),
        name_(std::move(name)),
        profile_(profile),
        few_trains_(trains < most_few_trains ? trains - 1 : most_few_trains) {
    at.set_waker(*this);
    enlist();
  }
  ~station_base() { delist(); }

  rail::station& at_;

  /// Waits until a train stands here, or an end is seen; at the longest until the deadline or a stop request, then
  /// `nothing`. \param call  the function that the program called, for errors
  [[nodiscard, gnu::noinline]] rail::poll_result await(time_point deadline, const std::stop_token& stop,
                                                       call_site call);

  /// wait_profile::latency, before await(): polls on and on, in the frame of the caller that will use the train. So
  /// little code runs between the poll that finds it and its use, and no code that has not run for as long as the wait
  /// took.
  /// \param here  whether a train stands here; cheap. \return true once it does; false: await() knows more.
  template <typename Here>
  [[nodiscard, gnu::always_inline]] bool poll_on(Here&& here, time_point deadline, const std::stop_token& stop,
                                                 call_site call) {
    if (profile_ != wait_profile::latency) return false;
    if (at_.poll() != rail::poll_result::nothing) return false;  // await() sees the same, and does not wait
    require_wait(deadline, stop, call);
    for (unsigned round = 0; may_poll_on(round, deadline, stop); ++round) {
      for (int i = 0; i != polls_per_round; ++i) {
        relax();
        if (!here()) continue;
        count_wait();
        return true;
      }
    }
    return false;
  }

  void count(std::uint64_t goods) noexcept {
    goods_.store(goods_.load(std::memory_order_relaxed) + goods, std::memory_order_relaxed);  // relaxed: one writer
  }
  void fill_in(station_counts& c) const {
    c.name = name_;
    // relaxed, all: numbers that order nothing
    c.goods = goods_.load(std::memory_order_relaxed);
    c.waits = waits_.load(std::memory_order_relaxed);
    c.sleeps = sleeps_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr int polls_per_round = 16;
  static constexpr std::size_t most_few_trains = 16;

  /// Before each round of poll_on(): lets others run, and looks at ends, the time and `stop`.
  /// \param round  the round's number, from 0. \return false: await() knows more.
  [[nodiscard, gnu::noinline]] bool may_poll_on(unsigned round, time_point deadline, const std::stop_token& stop);
  void count_wait() noexcept {
    waits_.store(waits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // relaxed: one writer
  }
  /// Throws what the wait would throw, under the name of the call.
  static void require_wait(time_point deadline, const std::stop_token& stop, call_site call);
  void keep_distance(bool fiber);
  rail::poll_result spin(time_point deadline, const std::stop_token& stop);
  rail::poll_result sleep(time_point deadline, const std::stop_token& stop);
  void enlist();
  void delist() noexcept;
  static void note_sources(sched::detail::wait_notes& to);
  [[nodiscard]] std::string open_sources() const;

  const std::string name_;
  const wait_profile profile_;
  const std::uint64_t few_trains_;  // between two waits, see keep_distance()
  unsigned spins_in_vain_ = 0;      // waits, the last ones in a row, in which spin() found no train
  std::uint64_t last_ = 0;          // trains that had left at the last wait
  int distance_ = 0;                // polls to leave out, see keep_distance()

  station_base* next_ = nullptr;  // in the list of all stations, for reports; under its lock
  station_base* previous_ = nullptr;

  std::atomic<std::uint64_t> goods_{0};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> sleeps_{0};

  // The fiber that sleeps here; none: a thread does, on token_.
  alignas(quiet_distance) std::atomic<sched::waker> fiber_{};
  std::atomic<std::uint32_t> token_{0};
  std::atomic<bool> asleep_{false};  // that fiber sleeps now; for reports
};

}  // namespace detail
}  // namespace task
}  // namespace v1
}  // namespace shunt
