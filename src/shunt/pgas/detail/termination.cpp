#include <shunt/pgas/detail/termination.hpp>

#include <bit>
#include <cstring>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/detail/validation.hpp>
#include <shunt/task/finish.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

// --- end marks ---

void termination::check(const end_mark& mark) const {
  if (mark.selector == 0) throw damage{"end mark: of no selector"};
  if (mark.hop >= facts_.hops) {
    throw damage{"end mark: of hop " + std::to_string(mark.hop) + " of " + std::to_string(facts_.hops)};
  }
  // A selector of another digest is a program whose PEs disagree: mark_arrived() says so.
  const selector_state* const s = selectors_.find(mark.selector);
  if (mark.mailbox == end_mark::whole_selector) {
    // Without a state here all PEs of this worker have destroyed their objects, and the job is about to fail.
    if (mark.count == 0 && (s == nullptr || s->marks_of_the_end[mark.hop] < facts_.neighbours.size())) return;
    throw damage{"end mark: of selector " + std::to_string(mark.selector) + " as a whole, which has not ended there"};
  }
  const std::size_t mailboxes = s != nullptr && s->digest == mark.digest ? s->mailboxes.size() : most_mailboxes;
  if (mark.mailbox >= mailboxes) {
    throw damage{"end mark: mailbox " + std::to_string(mark.mailbox) + ", but the selector has " +
                 std::to_string(mailboxes)};
  }
}

void termination::mark_arrived(const end_mark& mark) {
  selector_state* const s = selectors_.find(mark.selector);
  if (s == nullptr) return early_marks_.push_back(mark);
  if (mark.digest != s->digest) {
    return job_.fail(error_number(924).added_to("PE " + std::to_string(facts_.first_pe) + ": " +
                                                selector_table::disagreement_about(*s, {})));
  }
  if (mark.mailbox == end_mark::whole_selector) {
    ++s->marks_of_the_end[mark.hop];
    return;
  }
  if (mark.mailbox >= s->mailboxes.size()) {  // it came before this selector was constructed here
    return job_.fail(error_number(941).added_to("PE " + std::to_string(facts_.first_pe) + ": an end mark of mailbox " +
                                                std::to_string(mark.mailbox) + " of " + std::string(s->name) +
                                                ", which has " + std::to_string(s->mailboxes.size())));
  }
  auto& m = s->mailboxes[mark.mailbox];
  ++m.marks[mark.hop];
  m.announced[mark.hop] += mark.count;
}

void termination::replay_early_marks() {
  for (const end_mark& mark : std::exchange(early_marks_, {})) mark_arrived(mark);
}

/// Announces to every neighbour how many messages have left for it, and to this worker itself likewise.
void termination::send_marks(selector_state& s, unsigned mailbox, unsigned hop) {
  out_.close_batches();
  auto& m = s.mailboxes[mailbox];
  auto& sent = m.sent[hop];
  for (const int neighbour : facts_.neighbours) {
    const end_mark mark{std::exchange(sent[static_cast<std::size_t>(neighbour)], 0), s.digest, s.id,
                        static_cast<std::uint8_t>(mailbox), static_cast<std::uint8_t>(hop)};
    out_.send_control(neighbour, control_key<end_mark>(), bytes_of(mark), {}, s.id);
  }
  m.announced[hop] += std::exchange(sent[static_cast<std::size_t>(facts_.index)], 0);
}

bool termination::ended(const selector_state& s, unsigned mailbox, unsigned hop, std::uint64_t epoch) const {
  const auto& m = s.mailboxes[mailbox];
  return m.marks[hop] >= epoch * facts_.neighbours.size() && m.arrived[hop] == m.announced[hop];
}

// --- finish() ---

void termination::done(selector_state& s, int pe, unsigned mailbox) {
  of_tasks_.finish(waits_, "done()");
  selectors_.finish_construction(pe);
  auto& m = s.mailboxes[mailbox];
  if (++m.pes_done < facts_.pes_here) return;
  if (m.feeders == 0) {  // the others wait for theirs, in finish()
    m.closed = true;
    send_marks(s, mailbox, 0);
  }
}

void termination::finish(selector_state& s, int pe) {
  const ending_selector one{&s, {}};
  finish_all({&one, 1}, {collective_call::kind::finish, s.id}, pe);
}

void termination::finish_superstep(std::span<const ending_selector> all, int pe) {
  finish_all(all, collective_call::superstep(all), pe);
}

void termination::finish_all(std::span<const ending_selector> all, const collective_call& call, int pe) {
  // A task that is too late is told so while the mailboxes are closed.
  of_tasks_.finish(waits_, call.name().data());
  if (collective_.arrive(call, pe)) finish_for_worker(all, call.is);
  for (const auto& each : all) {
    if (facts_.checked) selectors_.end_messages(*each.of, pe);
  }
  for (const auto& each : all) returned(*each.of);
}

/// Of one PE, finish() is over.
void termination::returned(selector_state& s) {
  if (--s.returning != 0) return;
  s.between = false;
  selectors_.retry_deferred();
}

/// Whether all that a mailbox waits for in its state (the table of the header) has come.
bool termination::may_go_on(const selector_state& s, unsigned mailbox, std::uint64_t epoch) const {
  const auto& m = s.mailboxes[mailbox];
  if ((s.ended >> mailbox & 1) != 0) return false;
  if (!m.closed) return (m.feeders & ~s.ended) == 0;
  if (facts_.hops == 2 && !m.passed_on) return ended(s, mailbox, 0, epoch);
  return ended(s, mailbox, facts_.hops - 1, epoch) && s.unanswered == 0;
}

/// May wait, for trains.
void termination::go_on(selector_state& s, unsigned mailbox) {
  auto& m = s.mailboxes[mailbox];
  if (!m.closed) {
    m.closed = true;
    send_marks(s, mailbox, 0);
  } else if (facts_.hops == 2 && !m.passed_on) {
    m.passed_on = true;
    send_marks(s, mailbox, 1);
  } else {
    s.ended |= std::uint64_t{1} << mailbox;
  }
}

/// Ends each mailbox here after its feeders. \param call  as of waiting::until()
void termination::end_mailboxes(selector_state& s, const char* call) {
  const std::uint64_t epoch = s.epoch + 1;
  const auto mailboxes = static_cast<unsigned>(s.mailboxes.size());
  while (std::popcount(s.ended) < static_cast<int>(mailboxes)) {
    unsigned next = 0;
    waits_.until(call, [&] {
      refuse_if_abandoned(s);
      for (next = 0; next < mailboxes && !may_go_on(s, next, epoch);) ++next;
      return next < mailboxes;
    });
    go_on(s, next);
  }
}

/// What the last PE of a worker does for all: ends the mailboxes, then meets the other workers. All selectors are
/// between epochs before it tells any of them so, and until its PEs have returned.
void termination::finish_for_worker(std::span<const ending_selector> all, collective_call::kind call) {
  for (const auto& each : all) end_mailboxes(*each.of, collective_call::name_of(call).data());
  for (const auto& each : all) begin_epoch(*each.of);
  collective_.worker_barrier(call);
  collective_.complete();
}

void termination::begin_epoch(selector_state& s) const {
  for (auto& m : s.mailboxes) {
    m.closed = m.passed_on = false;
    m.pes_done = 0;
  }
  s.ended = 0;
  ++s.epoch;
  s.finished = s.started;
  s.between = true;
  s.returning = facts_.pes_here;
}

bool termination::unfinished(selector_state& s) {
  out_.close_batches();
  return s.started != s.finished;
}

// --- ending() ---

task::future<void> termination::end(selector_state& s, int pe) {
  of_tasks_.finish(waits_, "ending()");
  if (!s.end) s.end.emplace();
  auto over = s.end->over.get_future();
  if (collective_.arrive({collective_call::kind::ending, s.id}, pe)) begin_end(s);
  return over;
}

void termination::let_finish_wait(const task::future<void>& over) {
  constexpr std::source_location no_line;  // of the program
  if (sched::this_fiber::scope() != nullptr) task::async([over, no_line] { over.get(no_line); }, no_line);
}

/// The last PE of a worker calls.
void termination::begin_end(selector_state& s) {
  out_.close_batches();  // the next send asks whether it still may
  s.end->driven = true;
  ++ends_in_progress_;
  try {
    job_.spawn_on(facts_.local, "end of a selector", [this, &s] { drive_end(s); });
  } catch (const std::exception& thrown) {
    s.end->driven = false;
    --ends_in_progress_;
    job_.fail(std::string("ending(): ") + thrown.what());
    throw;
  }
  collective_.complete_locally();
}

/// The fiber. A failure here fails the job, and is handed to all that wait for the future.
void termination::drive_end(selector_state& s) noexcept {
  const auto name = "PE " + std::to_string(facts_.first_pe) + ": ending() of " + std::string(s.name) + ": ";
  try {
    sched::this_fiber::require_stack();
    end_everywhere(s);
    s.end->reached = true;
    s.end->over.set_value();
  } catch (const job_over&) {
    s.end->over.set_exception(
        std::make_exception_ptr(error(error_number(940), name + "the job has failed; its own message says why")));
  } catch (const std::exception& thrown) {
    job_.fail(name + thrown.what(), job_link::fault_of(thrown));
    s.end->over.set_exception(std::current_exception());
  }
  s.end->driven = false;
  --ends_in_progress_;
  s.changed.notify_all();
}

/// May throw what a send does, job_over, and where a PE has destroyed its object an error.
void termination::end_everywhere(selector_state& s) {
  end_mailboxes(s, "ending()");
  for (unsigned hop = 0; hop < static_cast<unsigned>(facts_.hops); ++hop) {
    for (const int neighbour : facts_.neighbours) {
      const end_mark mark{0, s.digest, s.id, end_mark::whole_selector, static_cast<std::uint8_t>(hop)};
      out_.send_control(neighbour, control_key<end_mark>(), bytes_of(mark));
    }
    waits_.until("ending()", [&] {
      refuse_if_abandoned(s);
      return s.marks_of_the_end[hop] == facts_.neighbours.size();
    });
  }
  s.finished = s.started;
  collective_.all_have_called({collective_call::kind::ending, s.id});
  if (!facts_.checked) return;
  for (int pe = facts_.first_pe; pe < facts_.first_pe + facts_.pes_here; ++pe) selectors_.end_messages(s, pe);
}

void termination::abandon_end(selector_state& s) {
  if (!s.end || !s.end->driven || s.end->reached) return;
  s.end->abandoned = true;
  waits_.look_again();
}

void termination::refuse_if_abandoned(const selector_state& s) {
  if (s.end && s.end->abandoned) throw error(error_number(926), "a PE has destroyed its object before the end");
}

void termination::await_end(selector_state& s) {
  waits_.until(s.changed, "finish()", [&s] { return s.end->reached; });
}

// --- quiesce() ---

void termination::quiesce(selector_state& s, int pe) {
  of_tasks_.finish(waits_, "quiesce()");
  const bool last = collective_.arrive({collective_call::kind::quiesce, s.id}, pe);
  if (last) quiesce_for_worker(s);
  if (facts_.checked) selectors_.end_messages(s, pe);
}

/// Sums of sent and handled that are equal, and the same in two waves one after the other: nothing was under way
/// between them. Each worker takes part when it has nothing to do. What was sent before counts in no later finish():
/// end marks announce it, and it has arrived.
void termination::quiesce_for_worker(selector_state& s) {
  std::optional<sums> before;
  for (;;) {
    while (waits_.progress() || out_.flush()) waits_.leave_if_failed();
    const sums now = sum_over_workers(s);
    if (now.sent == now.handled && before == now) break;
    before = now;
  }
  s.finished = s.started;
  collective_.complete();
}

auto termination::sum_over_workers(const selector_state& s) -> sums {
  const std::uint64_t mine[3] = {s.sent, s.handled, s.id};
  const auto bytes = std::as_bytes(std::span(mine));
  sums all;
  for (const auto& one : collective_.worker_gather({bytes.begin(), bytes.end()})) {
    std::uint64_t theirs[3];
    if (one.size() != sizeof theirs) {
      refuse_collected("quiesce()", "a part has " + std::to_string(one.size()) + " bytes");
    }
    std::memcpy(theirs, one.data(), sizeof theirs);
    if (theirs[2] != s.id) {
      const collective_call here{collective_call::kind::quiesce, s.id};
      const collective_call there{collective_call::kind::quiesce, static_cast<std::uint16_t>(theirs[2])};
      collective_.disagree(here.text(), there.text());
    }
    all.sent += theirs[0];
    all.handled += theirs[1];
  }
  return all;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
