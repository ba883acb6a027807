/// One call of atomically(), over all its attempts: decides what comes after each of them.
///
///   the attempt ends by        then
///   commit                     calls what on_commit() was given; done
///   the body's exception       abort; calls what on_abort() was given; the exception goes on to the caller
///   conflict, 1st to 3rd       abort; another attempt, after a short pause
///   conflict, 4th to 8th       abort; another attempt, in the queue of the variable that was lost at: one at a time
///   conflict, later            abort; another attempt, irrevocably, in the queue of the oldest transactions: no other
///                              transaction runs meanwhile
///   retry                      abort; waits until another transaction has committed to something it read; another
///                              attempt
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <shunt/sched/waits_forbidden.hpp>
#include <shunt/stm/detail/engine/attempt.hpp>
#include <shunt/stm/detail/engine/waiters.hpp>
#include <shunt/stm/detail/policy/class_record.hpp>
#include <shunt/stm/detail/policy/fair_queue.hpp>
#include <stop_token>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// How long a retry may wait.
struct wait_limits {
  time_point deadline = time_point::max();
  std::stop_token stop{};
};

/// Refuses waits inside bodies.
class refusal final : public sched::no_wait {
 public:
  [[noreturn]] void refuse(call_site call) const override;
  [[nodiscard]] bool in_force() const noexcept override;
  void on_spawn(call_site call) const override { refuse(call); }
};
extern const refusal refuses_waits;

/// Most transactions commit with their first attempt, which begin_inline() begins. An object of this class is made for
/// all others; and now and then for one of those, so that the thread looks at the clock.
class transaction {
 public:
  enum class manner : std::uint8_t { shared, snapshot, irrevocable };

  /// \param limits  null: a retry may wait for ever.
  transaction(class_record& c, manner m, const wait_limits* limits) noexcept
      : class_(c), limits_(limits), manner_(m), irrevocable_(m == manner::irrevocable) {}
  ~transaction() { leave_queues(); }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  /// Begins the first attempt as the thread's last transaction began: one comparison each tells whether the class, the
  /// mode and the refusal of waits are the same, and no look at the clock is due. \return whether `a` is inside.
  /// \param c  null: the class has no record yet.
  [[nodiscard, gnu::always_inline]] static bool begin_inline(attempt& a, const class_record* c, manner m) {
    const auto number = a.own_number();
    if (m == manner::irrevocable || (number & 1) != 0 || a.binding.look_is_due(number)) [[unlikely]]
      return false;
    if (!a.binding.is(class_binding::key(c, m == manner::snapshot))) [[unlikely]] {
      if (c == nullptr || !bind_class(a, *c, m == manner::snapshot)) return false;
    }
    if (!sched::waits_forbidden::while_in_force(refuses_waits)) [[unlikely]]
      return false;
    if (!a.try_enter_as_before(number)) [[unlikely]]
      return mode_has_changed(a);
    a.begin();
    return true;
  }
  /// Inside, after the first attempt's commit, where it was a small one.
  [[gnu::always_inline]] static void finish_inline(attempt& a) noexcept {
    a.leave();
    a.clear_writes();
  }
  /// Inside: an exception has left the body of the first attempt.
  [[gnu::noinline]] static void abort_first(attempt& a, class_record& c, manner m) noexcept;

  /// Outside: begins an attempt. May let other fibers run, or wait. \return the calling thread's attempt, inside.
  /// \throws what waiting throws
  [[nodiscard, gnu::noinline]] attempt& begin();
  /// Inside, after an attempt that has ended without an exception. \return whether another attempt is needed.
  /// \throws what waiting throws; after a commit what callbacks throw
  [[nodiscard]] bool finish(attempt& a, outcome ended_by);
  /// Inside: an exception has left the body.
  [[gnu::noinline]] void abort(attempt& a) noexcept;

 private:
  [[nodiscard, gnu::noinline]] static bool bind_class(attempt& a, const class_record& c, bool read_only);
  [[nodiscard, gnu::noinline]] static bool mode_has_changed(attempt& a) noexcept;

  void finish_commit(attempt& a);
  void count_commit(attempt& a);
  void abort_attempt(attempt& a) noexcept;
  void count_conflict(attempt& a);
  void back_off();
  [[nodiscard]] bool finish_retry(attempt& a);
  [[nodiscard]] bool wait_for_change();
  void look_at_clock(attempt& a);
  void call_all();
  void call_quietly() noexcept;
  void leave_queues() noexcept;
  void release() noexcept;

  static constexpr int unlogged_attempts = 3;
  static constexpr int attempts_at_once = 3;
  static constexpr int attempts_before_irrevocable = 8;
  static constexpr std::chrono::nanoseconds loss_before_irrevocable{500'000};

  class_record& class_;
  const wait_limits* const limits_;
  const manner manner_;
  bool irrevocable_;        // the next attempt
  bool is_oldest_ = false;  // has its turn in the queue of the oldest transactions
  int conflicts_ = 0;
  const variable* at_ = nullptr;  // where the last attempt was lost
  fair_queue* queue_ = nullptr;   // has its turn there
  time_point first_conflict_{};
  time_point began_{};                     // the present attempt, if it is not the first one
  std::chrono::nanoseconds work_lost_{0};  // by all attempts that were lost, without the waits between them
  std::optional<retry_waiter> waiter_;
  callback_list calls_;  // on_commit's, or on_abort's
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
