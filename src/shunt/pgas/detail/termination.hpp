/// The end of an epoch: when every message that was sent has been processed.
///
/// finish(), per mailbox m, on each worker (G1, G2 of selector_state.hpp):
///
///   state        goes on when                                               by doing
///   open         all PEs here said done(), and its feeders have ended here  end marks with counts to all neighbours
///   closed       epoch * neighbours marks are in, arrived == announced      two hops: marks of hop 1
///   passed on    the same for hop 1                                         -
///   unanswered   no request of this worker is without a reply               the mailbox has ended here
///
/// ending(), of a selector that is used no more: a fiber of each worker does the same. Where finish() has a barrier,
/// marks of the whole selector go round, so that no worker need be in a call:
///
///   state        goes on when                                by doing
///   ended        all mailboxes have ended here               marks of the selector, hop 0, to all neighbours
///   known        those of all neighbours are in              two hops: hop 1, "and at my neighbours"
///   over         likewise of hop 1: it has ended everywhere  the future has its value
///
/// quiesce(): Mattern's four counters, over the tree of gathers.
///
/// Sources: end marks, DESIGN.md; Mattern, Distributed Computing 2, 1987.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <shunt/pgas/detail/collectives.hpp>
#include <shunt/pgas/detail/task_sends.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class termination {
 public:
  termination(const worker_facts& facts, outbound& out, selector_table& selectors, waiting& waits,
              collectives& collective, job_link& job, task_sends& of_tasks) noexcept
      : facts_(facts),
        out_(out),
        selectors_(selectors),
        waits_(waits),
        collective_(collective),
        job_(job),
        of_tasks_(of_tasks) {}

  /// The PE's program sends no more to a mailbox in this epoch.
  void done(selector_state& s, int pe, unsigned mailbox);
  /// Collective. Returns when every message of this epoch has been processed everywhere.
  void finish(selector_state& s, int pe);
  /// Collective. The same for several selectors, with one barrier: no message of a next epoch is handled before all of
  /// them have ended. \param all  at least one
  void finish_superstep(std::span<const ending_selector> all, int pe);
  /// Collective, but waits for the PEs of this worker only: the selector ends, and is used no more.
  /// \return satisfied when every message of the selector has been processed everywhere; with an error when the job
  ///         fails before
  [[nodiscard]] task::future<void> end(selector_state& s, int pe);
  /// A PE has called ending(): an open shunt::finish() around the call waits for it, too.
  static void let_finish_wait(const task::future<void>& over);
  /// A PE waits for the end as in finish().
  void await_end(selector_state& s);
  /// Fibers of this worker that are at the end of a selector.
  [[nodiscard]] int ends_in_progress() const noexcept { return ends_in_progress_; }
  /// A PE's object goes. Where the selector's end is not reached it never will be: that fails the job.
  void abandon_end(selector_state& s);
  /// Collective. Returns when no message is under way anywhere.
  void quiesce(selector_state& s, int pe);

  void mark_arrived(const end_mark& mark);
  /// A mark of another process: \throws damage unless it may be one.
  void check(const end_mark& mark) const;
  /// A selector has been constructed: marks that came before count now.
  void replay_early_marks();

  /// Messages of this worker that no finish() or quiesce() has waited for.
  [[nodiscard]] bool unfinished(selector_state& s);

 private:
  struct sums {
    std::uint64_t sent = 0, handled = 0;
    friend bool operator==(const sums&, const sums&) = default;
  };
  void returned(selector_state& s);
  void send_marks(selector_state& s, unsigned mailbox, unsigned hop);
  [[nodiscard]] bool may_go_on(const selector_state& s, unsigned mailbox, std::uint64_t epoch) const;
  void go_on(selector_state& s, unsigned mailbox);
  [[nodiscard]] bool ended(const selector_state& s, unsigned mailbox, unsigned hop, std::uint64_t epoch) const;
  void end_mailboxes(selector_state& s, const char* call);
  void finish_all(std::span<const ending_selector> all, const collective_call& call, int pe);
  void finish_for_worker(std::span<const ending_selector> all, collective_call::kind call);
  void begin_epoch(selector_state& s) const;
  void begin_end(selector_state& s);
  void drive_end(selector_state& s) noexcept;
  void end_everywhere(selector_state& s);
  static void refuse_if_abandoned(const selector_state& s);
  void quiesce_for_worker(selector_state& s);
  [[nodiscard]] sums sum_over_workers(const selector_state& s);

  const worker_facts& facts_;
  outbound& out_;
  selector_table& selectors_;
  waiting& waits_;
  collectives& collective_;
  job_link& job_;
  task_sends& of_tasks_;
  std::vector<end_mark> early_marks_;  // of selectors that are not constructed here yet
  int ends_in_progress_ = 0;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
