/// One call of atomically(), over all its attempts.
///
///   attempt ends by            then
///   commit                     what on_commit() was given; done
///   the body's exception       what on_abort() was given; it goes on to the caller
///   conflict, 1st to 3rd       again, after a short pause
///   conflict, 4th to 8th       again, in the queue of the variable that was lost at: one of them at a time
///   conflict, later            again, alone, in the queue of all such: nobody else runs a transaction meanwhile
///   retry                      parks until something it read has been committed to; again
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <shunt/stm/detail/class_record.hpp>
#include <shunt/stm/detail/lane.hpp>
#include <shunt/stm/detail/waiters.hpp>
#include <shunt/stm/tx.hpp>
#include <stop_token>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Until when a retry may wait.
struct patience {
  time_point deadline = time_point::max();
  std::stop_token stop{};
};

/// Refuses waits inside bodies.
class refusal final : public sched::no_wait {
 public:
  [[noreturn]] void refuse(const char* call) const override;
  [[nodiscard]] bool in_force() const noexcept override;
  void on_spawn() const override { refuse("spawn"); }
};
extern const refusal refuses_waits;

/// What a call of atomically() needs once its first attempt was not all there is to it; and now and then, so that
/// somebody looks at the clock. Without it a transaction is begun by begin_quickly().
class course {
 public:
  enum class manner : std::uint8_t { shared, snapshot, alone };

  course(class_record& c, manner m, const patience* limits) noexcept
      : class_(c), limits_(limits), manner_(m), alone_(m == manner::alone) {}
  ~course() { leave_lanes(); }
  course(const course&) = delete;
  course& operator=(const course&) = delete;

  /// The first attempt's beginning, nearly always. \return whether `t` is inside.
  /// \param c  null: nothing is known of it yet.
  [[nodiscard, gnu::always_inline]] static bool begin_quickly(tx& t, const class_record* c, manner m) {
    const auto number = t.own_number();
    if (m == manner::alone || (number & 1) != 0 || number >= t.look_at_) [[unlikely]]
      return false;
    if (t.class_ != tx::key(c, m == manner::snapshot)) [[unlikely]] {
      if (c == nullptr || !t.adopt(*c, m == manner::snapshot)) return false;
    }
    if (!sched::waits_forbidden::while_in_force(refuses_waits)) [[unlikely]]
      return false;
    if (!t.go_inside_as_before(number)) [[unlikely]]
      return not_as_before(t);
    t.begin();
    return true;
  }
  /// Any attempt's. May let other fibers run, or wait. \throws what waiting throws
  [[nodiscard, gnu::noinline]] tx& begin();

  /// What the first attempt's end leaves to be done, nearly always.
  [[gnu::always_inline]] static void end_quickly(tx& t) noexcept {
    t.leave();
    t.writes_.clear();
  }
  /// What an exception leaves to be done that ends the first attempt, inside.
  [[gnu::noinline]] static void failed_at_once(tx& t, class_record& c, manner m) noexcept;
  /// What comes after an attempt, inside. \return whether there will be another one.
  /// \throws what waiting throws; after a commit what calls that were left to be made throw
  [[nodiscard]] bool go_on(tx& t, outcome ended_by);
  /// An exception leaves the attempt, inside: undoes it.
  [[gnu::noinline]] void failed(tx& t) noexcept;

 private:
  /// \return false; `t` is outside.
  [[nodiscard, gnu::noinline]] static bool not_as_before(tx& t) noexcept;
  /// After a commit, inside: ends it, and calls what it left to be called.
  void end(tx& t);
  /// After an attempt that has not committed, inside: undoes it.
  void undone(tx& t) noexcept;
  /// After a conflict, inside: undoes it, and does what gives the next attempt better chances. \throws what waiting
  /// throws
  void lost(tx& t);
  /// After a retry, inside: undoes it, and waits. \return false if the time was over, or a stop was asked for.
  /// \throws what parking throws
  [[nodiscard]] bool retried(tx& t);
  /// After an exception: nobody knows of it, or waits for it, any more.
  void clean_up() noexcept;

  static constexpr int unlogged_attempts = 3;
  static constexpr int attempts_at_once = 3;
  static constexpr int attempts_before_elder = 8;
  static constexpr std::chrono::nanoseconds loss_before_elder{500'000};

  void count_loss(tx& t);
  void prepare_again();
  [[nodiscard]] bool wait();
  void call_all();
  void call_quietly() noexcept;
  void leave_lanes() noexcept;
  void look(tx& t);

  class_record& class_;
  const patience* const limits_;  // null: for ever
  const manner manner_;
  bool alone_;                    // the next attempt
  bool elder_ = false;            // has its turn in the elders' lane
  int lost_ = 0;                  // attempts
  const variable* at_ = nullptr;  // where the last one was lost
  lane* hot_ = nullptr;           // has its turn there
  time_point first_loss_{};
  // Of repeated attempts: when the present one began; and what all that were lost have taken, without waits between.
  time_point began_{};
  std::chrono::nanoseconds work_lost_{0};
  std::optional<reading_waiter> waiter_;
  std::vector<std::function<void()>> calls_;  // on_commit's, or on_abort's
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
