/// What the loops of one engine share: the injected actors, the sleeping loops, and the end of the run. See DESIGN.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/sched.hpp>
#include <shunt/templet/detail/loop.hpp>
#include <shunt/templet/engine.hpp>
#include <shunt/templet/simulate.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

/// An actor's name, quoted, or its address; for errors.
[[nodiscard]] std::string name_of(const actor& a);

/// One engine's.
///
/// Invariants
///   scheduler.G1  An actor that has messages and does not run is in one queue, or among the injected ones: the table
///       of its inbox.
///   scheduler.G2  A loop is among the sleepers only if it found nothing to run after it had entered itself there.
///   scheduler.G3  Only handlers send during a run. So if all loops that began sleep, no message can be sent any more.
///
/// Edges
///   `set up`   set_up -> send_slowly, give    the loops of this run
///   `woken`    wake -> sleep                  what the waking thread wrote before
///   `handled`  start_loops -> run_in_fiber    what the handlers on other workers wrote
///
/// Pair `sleeping`, sequentially consistent: a loop that falls asleep stores sleepers_, then reads any_injected_ and
/// each queue's back_ (sleep, any_ready). A thread that brings an actor stores back_ or any_injected_, then reads
/// sleepers_ (worker_slot::queue, inject). So at least one of the two sees the other's store (scheduler.G2).
class scheduler {
 public:
  void send_slowly(message& m, actor& to);
  void give(message& m, actor& a);
  void must_end(actor& a, const char* what);
  result run(int workers);
  simulated run(const simulate& on);

 private:
  friend class worker_slot;
  friend class loop;
  enum class after_sleep : bool { look_again, over };

  void run_in_fiber(sched::runtime& on, int workers);
  void start_loops(sched::runtime& on, int workers, std::atomic<int>& others, std::exception_ptr& failure);
  void set_up(sched::runtime& on);
  [[nodiscard]] std::string tear_down(std::exception_ptr& failure);
  [[nodiscard]] bool loop_begins() noexcept;
  after_sleep sleep(loop& me) noexcept;
  void end() noexcept;
  [[nodiscard]] loop& take_sleeper() noexcept;
  static void wake(loop& sleeper) noexcept;
  void wake_one() noexcept;
  void inject(actor& a) noexcept;
  [[nodiscard]] actor* take_injected() noexcept;
  [[nodiscard]] bool any_ready() const noexcept;
  void fail(std::exception_ptr what) noexcept;
  [[nodiscard]] std::string names_of_unended();
  [[nodiscard]] loop* loop_of_handler() const noexcept;
  [[noreturn]] void refuse(const char* call, const actor* to, const std::string& why) const;
  [[noreturn]] void refuse_foreign(const char* call, const message& m, const actor* to) const;

  // Read by each send, written when a loop falls asleep or is woken, under lock_.
  alignas(quiet_distance) std::atomic<int> sleepers_{0};
  std::atomic<bool> running_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> any_injected_{false};

  alignas(quiet_distance) std::mutex lock_;  // guards what follows
  // Actors that were sent to outside of a run, or when a queue was full.
  actor* injected_first_ = nullptr;  // oldest first
  actor* injected_last_ = nullptr;
  std::vector<loop*> asleep_;
  int began_ = 0;  // loops
  bool over_ = false;
  std::exception_ptr failure_;
  actor* awaiting_ = nullptr;  // see must_end()

  virtual_time* virtual_ = nullptr;           // the clock of a run in virtual time; written while nothing runs
  std::vector<std::unique_ptr<loop>> loops_;  // by worker; changed by run() only, before running_ is set
  sched::runtime* runtime_ = nullptr;         // of the present run
};

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
