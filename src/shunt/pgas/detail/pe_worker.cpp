#include <shunt/pgas/detail/pe_worker.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <shunt/base/clock.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Looks at the inbox between two looks at everything else.
constexpr int looks_a_step = 32;
/// Steps in a row without a pause between the looks: a pause lasts as long as an answer from a near core.
constexpr int tight_steps = 4;
/// Steps before a waiting fiber leaves the watching to the worker, which then sleeps.
constexpr int idle_steps = 32;

}  // namespace

void awaited_values::check(const void* place, const void* type) const {
  const auto known = std::find_if(values_.begin(), values_.end(), [&](const value& v) { return v.place == place; });
  if (known == values_.end() || known->type != type) throw damage{"a value that no fetch() of this worker waits for"};
}

pe_worker::pe_worker(job_link& job, worker_facts known, const outbound::endpoint::pool_size& size,
                     rail::train_inbox::wake_function wake, void* wake_argument, transport::shared_place place)
    : waiting(handlers_, job),
      facts(std::move(known)),
      selectors(facts.pes_here, facts.first_pe, facts.workers),
      out({facts, job, selectors, handlers_, *this, *this, arrived_}, size, wake, wake_argument, place),
      collective(facts, job, out, selectors, *this),
      of_tasks(job, facts.local),
      ending(facts, out, selectors, *this, collective, job, of_tasks),
      parts(handlers_, facts.first_pe, facts.pes_here),
      job_(job),
      place_(place),
      in_(*this, facts, job, selectors, handlers_, out, arrived_) {}

/// A thread may outlive the job (outbound.B1).
pe_worker::~pe_worker() {
  if (this_threads_sending.owner == &out) this_threads_sending = {};
  parts.leave_thread();
}

// --- selectors ---

selector_state& pe_worker::construct_selector(std::uint16_t id, std::size_t mailboxes, std::string_view name,
                                              std::span<const std::uint64_t> feeders) {
  refuse_in_task(facts.first_pe, "the construction of a selector");
  const auto [s, first] = selectors.construct(id, mailboxes, name, feeders);
  if (first) ending.replay_early_marks();
  const auto complete = [this, &state = s] { return state.built == facts.pes_here; };
  if (complete()) {
    collective.construction_complete();
    s.changed.notify_all();
  } else {
    collective.await_construction(s, complete);
  }
  return s;
}

void pe_worker::forget_selector(std::uint16_t id, int pe) {
  ending.abandon_end(*selectors.find(id));
  if (!selectors.forget(id, pe)) return;
  out.close_batches();  // of a job that failed: they count for the selector when they close
  selectors.drop(id);
}

void pe_worker::say_done(selector_state& s, int pe, std::size_t mailbox, std::span<bool> said,
                         const std::source_location& where) {
  refuse_in_task(pe, "done()");
  if (mailbox >= said.size()) refuse_mailbox(pe, "done()", mailbox, s, where);
  if (!std::exchange(said[mailbox], true)) ending.done(s, pe, static_cast<unsigned>(mailbox));
}

void pe_worker::finish_selector(selector_state& s, int pe, std::span<bool> said, const task::future<void>& end) {
  refuse_in_task(pe, "finish()");
  if (end.valid()) return ending.await_end(s);
  say_all_done(s, pe, said);
  ending.finish(s, pe);
  std::fill(said.begin(), said.end(), false);
}

void pe_worker::finish_selectors(std::span<const ending_selector> all, int pe) {
  refuse_in_task(pe, "superstep()");
  for (const auto& each : all) say_all_done(*each.of, pe, each.said);
  ending.finish_superstep(all, pe);
  for (const auto& each : all) std::ranges::fill(each.said, false);
}

void pe_worker::end_selector(selector_state& s, int pe, std::span<bool> said, task::future<void>& end) {
  refuse_in_task(pe, "ending()");
  if (!end.valid()) {
    say_all_done(s, pe, said);
    end = ending.end(s, pe);
  }
  termination::let_finish_wait(end);
}

void pe_worker::say_all_done(selector_state& s, int pe, std::span<bool> said) {
  for (std::size_t mailbox = 0; mailbox < said.size(); ++mailbox) {
    if (!std::exchange(said[mailbox], true)) ending.done(s, pe, static_cast<unsigned>(mailbox));
  }
}

void pe_worker::refuse_unfinished(selector_state& s, int pe) noexcept {
  if (job_.failed()) return;
  const auto refuse = [&](const char* why) {
    job_.fail(error_number(942).added_to("PE " + std::to_string(pe) + ": " + std::string(s.name) + " is destroyed " +
                                         why + " first"));
  };
  if (s.end && !s.end->reached) return refuse("before its end; wait for ending()");
  if (ending.unfinished(s)) refuse("with messages under way; call finish()");
}

void pe_worker::refuse_early_operand(int pe, const char* call, std::span<const std::byte> operand) {
  if (!facts.checked || handlers_.any()) return;  // a handler is refused the call itself
  const selector_state* const s = selectors.read_by(call, pe, operand);
  if (s != nullptr) refuse_operand(pe, call, *s, s->under_way[static_cast<std::size_t>(facts.local_pe(pe))]);
}

void pe_worker::refuse_forgotten_finish(const selector_state& s, int pe) const {
  if (s.under_way.empty()) return;
  const message_under_way& last = s.under_way[static_cast<std::size_t>(facts.local_pe(pe))];
  if (last.read_by != nullptr) refuse_no_finish(pe, s, last);
}

// --- progress ---

bool pe_worker::progress() {
  if (handlers_.any()) return false;  // inbound.A1
  if (job_.failed()) [[unlikely]]
    return notice_failure();
  const bool any = in_.unload_arrivals();
  if (any && activity_.any_waiting()) activity_.notify_all();
  return any;
}

/// Wakes every PE that waits, so that it leaves. \return true the first time.
bool pe_worker::notice_failure() {
  if (std::exchange(failure_noticed_, true)) return false;
  trains_home_.notify_all();
  of_tasks.notify_failure();
  activity_.notify_all();
  collective.notify_all();
  selectors.notify_all();
  return true;
}

/// Open trains depart when no fiber could fill them; in an explored run sometimes before.
bool pe_worker::open_trains_are_due() noexcept {
  if (!sched::this_worker::has_runnable()) return true;
  if (!facts.explored) return false;
  const bool any = out.ends().any_open(0) || out.ends().any_open(1);
  return any && sched::this_worker::choose(2) == 1;
}

bool pe_worker::poll() {
  try {
    if (progress()) return true;
    return !job_.failed() && open_trains_are_due() && out.flush();
  } catch (const std::exception& thrown) {  // the transport's: handlers' are dealt with where they run
    job_.fail("PE " + std::to_string(facts.first_pe) + ": " + thrown.what());
    return true;
  }
}

bool pe_worker::arm() {
  if (collective.announce()) return false;
  return (failure_noticed_ || !job_.failed()) && out.ends().inbox().arm();
}
void pe_worker::disarm() { out.ends().inbox().disarm(); }
std::chrono::nanoseconds pe_worker::patience() {
  return facts.networked ? job_.carrier().patience() : std::chrono::nanoseconds::max();
}

// --- waiting ---

/// A look at the network takes some 100 ns, during which open trains could be under way. Inside a process a look costs
/// next to nothing, and what arrives may still fill them.
void pe_worker::begin_wait(const event& changed) {
  if (&changed == &trains_home_) return;  // for that no other worker needs an answer, and the open trains may fill
  if (facts.networked && !sched::this_worker::has_runnable()) static_cast<void>(out.flush());
}

/// In this order: other fibers of the worker can run; open trains can depart; else the fiber watches the inbox for a
/// short while, and then parks.
bool pe_worker::idle_step(int& idle) {
  if (sched::this_worker::has_runnable()) return true;
  if (out.flush()) return false;
  if (!facts.networked) {
    // Nothing but a train can change anything: watch the one word that says so.
    for (int looks = 0; looks < looks_a_step && !out.ends().inbox().any(); ++looks) {
      if (idle >= tight_steps) relax();
    }
  } else {
    relax();
  }
  return ++idle >= idle_steps;
}

void pe_worker::wait(std::uint8_t channel, std::size_t trains, call_site call) {
  until(trains_home_, call.name(), [this, channel, trains] { return out.pool().has(channel, trains); });
}

void pe_worker::came_home(std::size_t trains) noexcept {
  for (; trains > 0; --trains) trains_home_.notify_one();
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
