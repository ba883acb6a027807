/// The worker's side of a snapshot.
#include <shunt/sched/observe/detail/snapshot.hpp>

#include <string_view>

#include <shunt/context/backtrace.hpp>
#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

template <std::size_t Size>
void keep(std::string_view text, std::array<char, Size>& buffer) noexcept {
  std::copy_n(text.data(), std::min(text.size(), buffer.size() - 1), buffer.data());
}

/// \param may_move  no signal handler calls: a compact fiber's frames can be brought where they belong, but not where
///                  the caller runs.
void fill_stack(worker& w, fiber_record& r, fiber& f, bool may_move) noexcept {
  if (r.doing == fiber_record::state::running) {
    r.frame_count = static_cast<std::uint8_t>(context::backtrace(r.frames));
    return;
  }
  const auto low = reinterpret_cast<std::uintptr_t>(f.stack.low);
  const fiber* const runs = w.running();
  const bool is_here = runs != nullptr && compact_stacks::share_a_stack(*runs, f);
  if (f.compact && may_move && !is_here) compact_stacks::bring_in(f);
  if (!f.compact || compact_stacks::has_place(f)) {
    r.frame_count = static_cast<std::uint8_t>(context::backtrace(f.run, r.frames));
  }
  r.stack_used = low + f.stack.bytes - reinterpret_cast<std::uintptr_t>(f.run.sp);
}

/// Copies what a report says of the fiber, texts included: when the requester reads the record, the fiber may be gone.
void fill_record(worker& w, fiber_record& r, fiber& f, bool stacks, bool may_move) noexcept {
  r = {};
  r.fiber = &f;
  r.generation = f.generation.load(std::memory_order_relaxed);  // relaxed: it changes at the fiber's end only
  r.scope = f.scope;
  r.doing = &f == w.running()  ? fiber_record::state::running
            : f.state.parked() ? fiber_record::state::parked
                               : fiber_record::state::ready;
  r.has_deadline = f.timer != fiber::no_timer;
  keep(f.called(), r.name);
  if (r.doing == fiber_record::state::parked) keep(f.waits_for == nullptr ? "a wake" : f.waits_for, r.waits_for);
  r.waits_on = f.waits_on.load(std::memory_order_relaxed);  // relaxed: for a report
  r.parked_ms = w.now_ms - f.since;
  if (const auto* const work = work_of(f)) {
    if (note_text* const note = w.snapshot.next_note()) {
      work->write(*work, w.now_ms, *note);
      if (!note->text().empty()) r.work = note;
    }
  }
  r.stack_bytes = f.stack.bytes;
  if (stacks) fill_stack(w, r, f, may_move);
}

/// Writes down each started fiber of this worker that lies in the requested slabs (fiber.F4).
void fill(worker& w, bool stacks, bool may_move) noexcept {
  w.look_at_clock();
  if (stacks) w.ready.show_places();
  const fiber* const runs = w.running();
  for (const fiber_slab slab : w.snapshot.of()) {
    for (fiber& f : slab) {
      if (f.where() != &w.remote || !f.started) continue;
      if (w.snapshot.what() == snapshot::scope::running_only && &f != runs) continue;
      fiber_record* const r = w.snapshot.next();
      if (r == nullptr) return;
      fill_record(w, *r, f, stacks, may_move);
    }
  }
}

}  // namespace

void answer_snapshot(worker& w) noexcept {
  if (!w.snapshot.take()) return;
  fill(w, true, true);
  w.snapshot.finished();
}

/// Where the running fiber's own code was interrupted, no switch is under way: the stacks of all other fibers are
/// complete.
void answer_snapshot(worker& w, std::uintptr_t sp) noexcept {
  if (!w.snapshot.take()) return;
  const fiber* const runs = w.running();
  const auto low = runs == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(runs->stack.low);
  const bool between = low == 0 || sp < low || sp - low >= runs->stack.bytes || w.ready.moves();
  fill(w, !between, false);
  if (between) w.snapshot.leave_stacks_out();
  w.snapshot.finished();
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
