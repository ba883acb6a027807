/// A worker of a PGAS job: a thread on which some PEs live, put together from its parts.
///
///    programs of PEs --send--> outbound, channel 0 --+                     +--> channel 0 --> handlers
///    handlers        --send--> outbound, channel 1 --+--> trains --> inbox |
///                                       |            |               inbound
///                                     pool <---------+---- empty ----+     +--> channel 1 --> handlers
///
/// The PEs of a worker are fibers pinned to one thread, so they share one inbox, one pool and one open train per
/// destination without a lock. That is why a thousand PEs cost what two do: trains fill at the pace of all PEs of the
/// worker, and a train for any of them is unloaded by whichever fiber of the worker makes progress.
///
///   facts          what does not change over the job
///   selectors      what this worker's PEs know of each selector
///   out, inbound   sending and receiving
///   collective     barrier, gather, reduce, the end; agreement about them
///   ending         when every message has been processed
///   of_tasks       what tasks of its PEs send from other workers
///   parts          the parts of symmetric objects, for messages that name them
///
/// Invariants
///   worker.P1  Only the worker's thread touches anything here, except the train inbox, task_sends, facts, and
///              job_link::failed().
///   worker.P2  A handler never waits: what it sends goes into trains of channel 1, which may use the pool up to its
///              limit.
///
/// ../DESIGN.md has the protocol, why it ends, and the rejected ways.
#pragma once

#include <cstdint>
#include <string_view>

#include <shunt/pgas/detail/collectives.hpp>
#include <shunt/pgas/detail/inbound.hpp>
#include <shunt/pgas/detail/local_parts.hpp>
#include <shunt/pgas/detail/outbound.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/detail/task_sends.hpp>
#include <shunt/pgas/detail/termination.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

/// Values that fetch() waits for; over two hops their places travel with the request and come back.
class awaited_values {
 public:
  void add(const void* place, const void* type) { values_.push_back({place, type}); }
  void remove(const void* place) {
    std::erase_if(values_, [place](const value& v) { return v.place == place; });
  }
  /// \throws damage unless a fetch() of this worker waits for a value of that type at that place.
  void check(const void* place, const void* type) const;

 private:
  struct value {
    const void* place;
    const void* type;
  };
  std::vector<value> values_;
};

// `waiting` first: what is called in every wait needs no adjustment of the pointer.
class pe_worker final : public waiting, public sched::poller, private rail::credit {
 public:
  /// \param wake   wakes the worker of this rank; any thread
  /// \param place  in memory that other processes map; {}: it has none there
  pe_worker(job_link& job, worker_facts facts, const outbound::endpoint::pool_size& size,
            rail::train_inbox::wake_function wake, void* wake_argument, transport::shared_place place = {});
  ~pe_worker() override;

  const worker_facts facts;
  selector_table selectors;
  outbound out;
  collectives collective;
  task_sends of_tasks;
  termination ending;
  awaited_values awaited;
  local_parts parts;

  // --- selectors ---

  /// A PE of this worker constructs a selector. Returns once every PE of the worker has: what comes for a selector that
  /// only some have made would keep its train here, and with it the credit of a worker that these may be waiting for.
  selector_state& construct_selector(std::uint16_t id, std::size_t mailboxes, std::string_view name,
                                     std::span<const std::uint64_t> feeders = {});
  /// The PE's object is gone.
  void forget_selector(std::uint16_t id, int pe);
  /// Fails the job if messages are under way that no finish() or quiesce() has waited for.
  void refuse_unfinished(selector_state& s, int pe) noexcept;
  /// The PE's program sends no more to a mailbox in this epoch. \param said  of each mailbox, whether it has said so
  /// \throws usage_error for a mailbox that the selector does not have
  void say_done(selector_state& s, int pe, std::size_t mailbox, std::span<bool> said,
                const std::source_location& where);
  /// The PE's program calls finish(), or ending(): says done() for every mailbox. \param end  of an earlier ending():
  /// then there is no other epoch, and both are about that end.
  void finish_selector(selector_state& s, int pe, std::span<bool> said, const task::future<void>& end);
  void end_selector(selector_state& s, int pe, std::span<bool> said, task::future<void>& end);
  /// The PE's program ends a superstep, in which these carry the changes: as finish_selector() of all of them at once.
  /// \param all  at least one
  void finish_selectors(std::span<const ending_selector> all, int pe);

  // --- waiting ---

  bool progress() override;
  /// The calling thread is another one: a task calls. \throws error for another thread than those of the job's workers.
  [[nodiscard]] bool called_by_task(int pe, const std::source_location& where) const {
    return !owns_thread() && lent_buffers::is_task_of(pe, where);
  }
  /// \throws usage_error where a task on another worker calls. \param call  "finish()"
  void refuse_in_task(int pe, const char* call) const {
    if (!owns_thread()) [[unlikely]]
      refuse_call_in_task(pe, call);
  }
  /// The PE calls a collective. \throws usage_error where the job checks, and the operand lies in a part that messages
  /// may still change. \param call  "reduce()"
  void refuse_early_operand(int pe, const char* call, std::span<const std::byte> operand);
  /// The PE's selector goes without finish(). \throws usage_error where the job checks, and a collective has been
  /// called amid the last messages.
  void refuse_forgotten_finish(const selector_state& s, int pe) const;
  [[nodiscard]] bool owns_thread() const noexcept { return this_threads_sending.owner == &out; }
  /// The job checks, and the calling thread is the worker's.
  [[nodiscard]] bool checks_here() const noexcept { return facts.checked && owns_thread(); }
  [[nodiscard]] job_link& job() const noexcept { return job_; }

  // --- sched::poller ---

  /// progress(); and where there is nothing to do, lets open trains depart.
  bool poll() override;
  bool arm() override;
  void disarm() override;
  std::chrono::nanoseconds patience() override;
  [[nodiscard]] bool fed_from_outside() const noexcept override { return facts.workers > 1; }
  [[nodiscard]] std::atomic<std::uint32_t>* shared_token() const noexcept override { return place_.token; }

 private:
  void begin_wait(const event& changed) override;
  bool idle_step(int& idle) override;
  void say_all_done(selector_state& s, int pe, std::span<bool> said);
  bool notice_failure();
  [[nodiscard]] bool open_trains_are_due() noexcept;
  void wait(std::uint8_t channel, std::size_t trains, call_site call) override;  // rail::credit
  void came_home(std::size_t trains) noexcept override;

  job_link& job_;
  const transport::shared_place place_;
  running_handler handlers_;
  arrived_trains arrived_;
  inbound in_;
  event trains_home_;  // a train of the pool came home
  bool failure_noticed_ = false;
};

template <class Part>
Part& arrival::part() const noexcept {
  return *static_cast<Part*>(of->parts[static_cast<std::size_t>(way.to - at->facts.first_pe)]);
}
inline batch_key arrival::sender_bits(bool named) const noexcept {
  return named ? out->sender_bits(of->id, way.to) : selector_bits(of->id);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
