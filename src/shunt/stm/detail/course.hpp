/// One call of atomically(), over all its attempts.
///
///   attempt ends by            then
///   commit                     what on_commit() was given; done
///   the body's exception       what on_abort() was given; it goes on to the caller
///   conflict, 1st to 3rd       again, after a short pause
///   conflict, 4th to 8th       again, in the queue of the variable that was lost at: one of them at a time
///   conflict, later            again, alone, in the queue of all such: nobody else runs a transaction, so it is the last time
///   retry                      parks until something it read has been committed to; again
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include <shunt/stm/detail/class_record.hpp>
#include <shunt/stm/detail/lane.hpp>
#include <shunt/stm/detail/waiters.hpp>
#include <shunt/stm/tx.hpp>

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
  void on_spawn() const override { refuse("spawn"); }
};
extern const refusal refuses_waits;

class course {
 public:
  enum class outcome : std::uint8_t { committed, lost, retry };
  enum class manner : std::uint8_t { shared, snapshot, alone };

  course(class_record& c, manner m, const patience* limits) noexcept
      : class_(c), limits_(limits), manner_(m), alone_(m == manner::alone) {}
  ~course() {
    if (hot_ != nullptr || elder_) leave_lanes();
  }
  course(const course&) = delete;
  course& operator=(const course&) = delete;

  /// Runs `body` once. In a function of its own, for a switch may come before and after it only: see waits_forbidden.
  template <typename Body>
  [[gnu::noinline]] outcome attempt(const Body& body) {
    tx& t = come_inside();
    t.begin(manner_ == manner::snapshot && lost_ < unlogged_attempts);
    bool retries = false;
    try {
      const sched::waits_forbidden in_here(refuses_waits);
      body(t);
      if (t.commit()) [[likely]] return committed(t);
    } catch (const conflict&) {
    } catch (const retry_wanted&) {
      retries = !t.doomed_;
    } catch (...) {
      undone(t);
      throw;
    }
    return retries ? stand_in(t) : lost(t);
  }

  /// After outcome::lost: what gives the next attempt better chances. \throws what waiting throws
  void prepare_again();
  /// After outcome::retry. \return false if the time was over, or a stop was asked for. \throws what parking throws
  [[nodiscard]] bool wait();
  /// After outcome::committed: what the transaction left to be called.
  void finish() {
    if (!calls_.empty()) [[unlikely]] call_all();
  }
  /// After an exception has left attempt().
  void clean_up() noexcept;

 private:
  static constexpr int unlogged_attempts = 3;
  static constexpr int attempts_at_once = 3;
  static constexpr int attempts_before_elder = 8;
  static constexpr std::chrono::nanoseconds loss_before_elder{500'000};

  [[gnu::always_inline]] tx& come_inside() {
    tx& t = tx::here();
    const track* const on = class_.on.load(std::memory_order_relaxed);  // relaxed: policy
    const bool free = on == nullptr || on->holds(t.bit());
    if (--t.until_look_ > 0 && free && !alone_) [[likely]] {
      if (t.go_inside()) [[likely]] return t;
    }
    return come_inside_slowly();
  }
  [[nodiscard, gnu::noinline]] tx& come_inside_slowly();
  [[gnu::always_inline]] outcome committed(tx& t) {
    t.end_inside();
    auto& n = t.counts_of(class_.id);
    counts::add(n.commits, 1);
    if (lost_ != 0 || t.extras_ || alone_ || t.until_look_ <= 1) [[unlikely]] committed_with_more(t);
    return outcome::committed;
  }
  [[gnu::noinline]] void committed_with_more(tx& t);
  [[nodiscard, gnu::noinline]] outcome lost(tx& t) noexcept;
  [[nodiscard, gnu::noinline]] outcome stand_in(tx& t);
  [[gnu::noinline]] void undone(tx& t) noexcept;
  void call_all();
  void leave_lanes() noexcept;
  void look(tx& t);

  class_record& class_;
  const patience* const limits_;  // null: for ever
  const manner manner_;
  bool alone_;            // the next attempt
  bool elder_ = false;    // has its turn in the elders' lane
  int lost_ = 0;          // attempts
  const variable* at_ = nullptr;  // where the last one was lost
  lane* hot_ = nullptr;   // has its turn there
  time_point first_loss_{};
  std::optional<reading_waiter> waiter_;
  std::vector<std::function<void()>> calls_;  // on_commit's, or on_abort's
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
