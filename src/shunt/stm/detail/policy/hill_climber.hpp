/// How many workers a class is allowed on, found by hill climbing.
///
/// Now and then the climber tries another number for two ticks. If that gives 5 % more commits a second, the new number
/// stays; else the old number comes back, and the next trial is twice as far off, up to a thousand ticks. The next
/// trial comes sooner where a third of the throughput has gone since the last decision, which was about another
/// program. The signal is not the rate of aborts: where one variable is contended that rate is small, and throughput is
/// lost all the same, to cache lines that move between cores.
///
///   phase      tick(rate since the last tick)            nothing_ran()
///   steady     -> steady, or warm_up with a new number   -> steady
///   warm_up    -> measures: half of that tick was before -> steady, with the old number
///   measures   -> steady, with the better number         -> steady, with the old number
///
/// Knows no clock and no threads. Source: hill climbing on throughput as in Didona, Felber, Harmanci, Romano, Schenker:
/// Identifying the optimal level of parallelism in transactional memory applications. Computing 97(9), 2015,
/// doi:10.1007/s00607-013-0376-3.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class hill_climber {
 public:
  static constexpr double worth_it = 1.05;
  static constexpr double changed = 2.0 / 3;
  static constexpr double least_rate = 20'000;  // commits a second: below it there is nothing to be gained
  static constexpr int first_trial = 2;         // ticks
  static constexpr int trials_apart = 32;
  static constexpr int trials_apart_after_change = 8;
  static constexpr int trials_apart_at_most = 1000;

  /// \param rate     commits a second since the last tick
  /// \param workers  the number of workers that there are
  /// \param may_try  called before a trial; false: the trial waits for the next tick.
  template <typename MayTry>
  void tick(double rate, int workers, MayTry&& may_try) {
    switch (phase_) {
      case phase::steady:
        rate_ = rate_ == 0 ? rate : 0.7 * rate_ + 0.3 * rate;
        if (workers < 2 || rate_ < least_rate) {
          allowed_ = 0;
          ticks_ = first_trial;
          return;
        }
        if (rate_ < changed * judged_by_) {
          judged_by_ = rate_;
          steady_ = 0;
          ticks_ = std::min(ticks_, trials_apart_after_change);
        }
        if (--ticks_ <= 0 && may_try()) try_another(workers);
        return;
      case phase::warm_up: phase_ = phase::measures; return;
      case phase::measures:
        phase_ = phase::steady;
        if (rate > worth_it * rate_) {
          rate_ = rate;
          steady_ = workers == 2 ? trials_apart : first_trial;
        } else {
          allowed_ = before_;
          steady_ = std::clamp(2 * steady_, trials_apart, trials_apart_at_most);
        }
        judged_by_ = rate_;
        ticks_ = steady_;
        return;
    }
  }

  /// Instead of a tick, where next to nothing ran, so that the rate would say nothing.
  void nothing_ran() noexcept {
    if (phase_ != phase::steady) allowed_ = before_;
    phase_ = phase::steady;
    rate_ = 0;
    ticks_ = std::max(ticks_, first_trial);
  }

  [[nodiscard]] int allowed() const noexcept { return allowed_; }  ///< 0: all
  [[nodiscard]] bool on_trial() const noexcept { return phase_ != phase::steady; }
  [[nodiscard]] bool measures() const noexcept {
    return phase_ == phase::measures;
  }  ///< the present tick may take longer

 private:
  enum class phase : std::uint8_t { steady, warm_up, measures };

  void try_another(int workers) noexcept {
    before_ = allowed_;
    const int now = before_ == 0 ? workers : std::min(before_, workers);
    upwards_ = now == 1 || (now < workers && !upwards_);
    const int trial = upwards_ ? 2 * now : now / 2;
    allowed_ = trial >= workers ? 0 : trial;
    phase_ = phase::warm_up;
  }

  phase phase_ = phase::steady;
  double rate_ = 0;       // of the steady phase, smoothed
  double judged_by_ = 0;  // the rate at the last decision, or what it has come to since
  int allowed_ = 0;
  int before_ = 0;           // allowed before the trial
  int ticks_ = first_trial;  // left of this phase
  int steady_ = 0;           // ticks between trials
  bool upwards_ = false;
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
