/// Collective calls of PEs: barrier, gather, reduce, scan, the end of a program; and what all of them have in common.
///
/// All PEs of the job make the same calls in the same order. The last PE of a worker to make a call acts for all of its
/// worker; the others wait until it calls complete().
///
///   a PE calls     the worker               then
///   not the last   ++at_call                waits for complete()
///   the last       barrier, gather, ...     complete(): the number of calls goes up, and all return
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <shunt/pgas/detail/agreement.hpp>
#include <shunt/pgas/detail/barrier_tokens.hpp>
#include <shunt/pgas/detail/tree_gather.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

class collectives {
 public:
  collectives(const worker_facts& facts, job_link& job, outbound& out, selector_table& selectors, waiting& waits);

  // --- the calls ---

  void barrier(int pe);
  /// The PE's program has returned. Returns when all have, everywhere; the worker sends nothing any more.
  void end(int pe);
  /// Every PE's bytes, by PE. The PEs of the worker share the result.
  using bytes_by_pe = std::shared_ptr<const std::vector<std::vector<std::byte>>>;
  bytes_by_pe gather(int pe, std::span<const std::byte> mine);
  using combine_bytes = void (*)(std::byte* into, const std::byte* from);
  /// combine(into, from) over all PEs in order; every PE gets the result in `mine`.
  void reduce(int pe, std::span<std::byte> mine, combine_bytes combine);
  /// combine(into, from) over the PEs before this one, in order, into `mine`.
  /// \return false: there is none, and `mine` is as it was
  [[nodiscard]] bool scan(int pe, std::span<std::byte> mine, combine_bytes combine);

  // --- for other calls that are collective ---

  /// A PE makes a call. \return true: it is the last of this worker, and acts for all; then complete().
  /// \throws error when PEs disagree, job_over when the job has failed
  [[nodiscard]] bool arrive(const collective_call& what, int pe);
  void complete();
  /// The same of a call that waits for no other worker: until all_have_called(), workers may be further than others.
  void complete_locally();
  /// Every worker has come to that call.
  void all_have_called(const collective_call& what) { agreement_.all_have_called(what); }
  /// The last PE of each worker calls: a barrier of workers.
  void worker_barrier(collective_call::kind kind);
  /// The last PE of each worker calls. \return every worker's bytes, by worker.
  [[nodiscard]] std::vector<std::vector<std::byte>> worker_gather(std::vector<std::byte> mine);
  /// The job fails, whatever the program does with the exception: a PE that caught it and went on would leave the
  /// others in a call that cannot end. \param mine, theirs  where the PEs are, each with its preposition
  [[noreturn, gnu::cold]] void disagree(const std::string& mine, const std::string& theirs);
  /// The same of two that are in the same call, and have not made the same calls before it.
  [[noreturn, gnu::cold]] void disagree_about_the_past(const std::string& call);

  /// A PE waits in the construction of a selector until all PEs of this worker have constructed it.
  /// \param built  whether they have
  /// \throws error when another PE of this worker is in a collective call already
  void await_construction(selector_state& s, const std::function<bool()>& built);
  void construction_complete() noexcept { constructing_ = nullptr; }

  // --- what other workers say; these throw `damage` for what cannot be. \param from  the worker that says so ---

  void token_arrived(int from, const barrier_token& token);
  void notice_arrived(int from, std::uint64_t number, const collective_call& what);
  void leave_notice_arrived(int from, std::uint64_t notices) { agreement_.leave_notice_arrived(from, notices); }
  void piece_arrived(const gather_piece& head, std::span<const std::byte> bytes) { tree_.piece_arrived(head, bytes); }

  /// The worker is about to sleep. \return whether that made it send something.
  bool announce() noexcept;
  /// The job has failed: wakes the PEs that wait for complete().
  void notify_all() { completed_.notify_all(); }

 private:
  void compare_with_neighbour();
  /// What the first ones of `values` make together, one after another; of none, no bytes.
  /// \throws error where PEs gave values of different sizes
  [[nodiscard]] std::vector<std::byte> combined(std::span<const std::vector<std::byte>> values, combine_bytes combine);
  [[nodiscard]] std::vector<std::byte> bundle_of_pes() const;
  [[nodiscard]] bytes_by_pe by_pe(const std::vector<std::vector<std::byte>>& of_workers) const;

  const worker_facts& facts_;
  job_link& job_;
  outbound& out_;
  selector_table& selectors_;
  waiting& waits_;
  agreement agreement_;
  tree_gather tree_;

  int at_call_ = 0;  // local PEs inside the current call
  int caller_ = 0;   // the PE that came last
  collective_call call_;
  std::uint64_t calls_ = 0;  // completed
  call_history past_;        // they
  event completed_;
  const selector_state* constructing_ = nullptr;  // which some PEs of the worker have constructed, and others not yet

  struct entered {
    collective_call::kind kind{};
    std::uint32_t past = 0;
    friend bool operator==(const entered&, const entered&) = default;
  };
  barrier_tokens<entered> tokens_[17];  // by round
  std::uint64_t barriers_ = 0;
  std::vector<std::vector<std::byte>> contributed_;  // by local PE
  bytes_by_pe gathered_;
  std::vector<std::byte> reduced_;
  std::vector<std::vector<std::byte>> scanned_;  // by local PE; of the job's first PE, no bytes
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
