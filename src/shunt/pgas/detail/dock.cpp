#include <shunt/pgas/detail/dock.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <shunt/base/clock.hpp>
#include <shunt/pgas/detail/job.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Trains that one call of progress() unloads at most, so that a program that only looks in is not kept.
constexpr int trains_a_look = 64;

/// Looks at the inbox between two looks at everything else.
constexpr int looks_a_step = 32;
/// Steps in a row without a pause between the looks: a pause lasts as long as an answer from a near core.
constexpr int tight_steps = 4;
/// Steps before a waiting fiber leaves the watching to the worker, which then sleeps.
constexpr int idle_steps = 32;

/// Wherever runs start.
std::uintptr_t aligned(std::uintptr_t p) noexcept { return wire::round_up(p, wire::run_alignment); }
std::uintptr_t address(const std::byte* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }
std::byte* bytes_at(std::uintptr_t p) noexcept { return reinterpret_cast<std::byte*>(p); }

struct barrier_token {
  std::uint64_t number;
  std::uint8_t round;
  dock::call kind;
  std::uint8_t spare[6] = {};
};
struct standing {
  std::uint64_t number;
  std::uint16_t slot;
  dock::call kind;
  std::uint8_t spare[5] = {};
};
struct farewell {
  std::uint64_t standings;
};
struct blob_piece {
  std::uint32_t sequence;
  std::uint32_t total;
  std::uint32_t offset;
  std::uint16_t from;
  std::uint8_t down;  // 0 or 1
  std::uint8_t spare = 0;
};
/// Captures of control goods: their bytes are added up (control_check), so none may be padding.
template <class T>
constexpr bool is_control = std::has_unique_object_representations_v<T> && sizeof(T) <= 32;
static_assert(is_control<end_mark> && is_control<barrier_token> && is_control<standing> && is_control<farewell> &&
              is_control<blob_piece>);

/// Calls f(captures, payload) for every control good of a run.
template <class Captures, class F>
void each_control(arrival& a, F f) {
  for (std::byte* p = a.first; p != a.last;) {
    const auto* head = reinterpret_cast<const wire::span_head*>(p);
    const std::byte* body = p + sizeof(wire::span_head);
    Captures c;
    std::memcpy(&c, body, sizeof c);
    f(c, std::span<const std::byte>(body + sizeof c, head->bytes - sizeof c));
    p += wire::round_up(sizeof(wire::span_head) + head->bytes, wire::span_alignment);
  }
}

void unload_end_marks(void* what) {
  auto& a = *static_cast<arrival*>(what);
  each_control<end_mark>(a, [&](const end_mark& m, auto) {
    a.at->check(m);
    a.at->end_mark_arrived(m);
  });
}
void unload_tokens(void* what) {
  auto& a = *static_cast<arrival*>(what);
  each_control<barrier_token>(
      a, [&](const barrier_token& t, auto) { a.at->barrier_token_arrived(a.from_dock, t.round, t.number, t.kind); });
}
void unload_standings(void* what) {
  auto& a = *static_cast<arrival*>(what);
  each_control<standing>(
      a, [&](const standing& s, auto) { a.at->neighbour_stands(a.from_dock, s.number, {s.kind, s.slot}); });
}
void unload_farewells(void* what) {
  auto& a = *static_cast<arrival*>(what);
  each_control<farewell>(a, [&](const farewell& f, auto) { a.at->neighbour_leaves(a.from_dock, f.standings); });
}
void unload_blobs(void* what) {
  auto& a = *static_cast<arrival*>(what);
  each_control<blob_piece>(a, [&](const blob_piece& b, std::span<const std::byte> bytes) {
    if (b.from != a.from_dock || b.down > 1) throw damage{"collective: a piece of worker " + std::to_string(b.from)};
    a.at->blob_arrived(b.from, b.sequence, b.down != 0, b.total, b.offset, bytes);
  });
}

template <class Captures>
constexpr auto control_good = wire::good_layout::varying_after<Captures>();
const wire::handler end_marks(typeid(end_mark), "end mark", unload_end_marks, control, wire::varying,
                              control_good<end_mark>);
const wire::handler tokens(typeid(barrier_token), "barrier", unload_tokens, control, wire::varying,
                           control_good<barrier_token>);
const wire::handler standings(typeid(standing), "standing", unload_standings, control, wire::varying,
                              control_good<standing>);
const wire::handler farewells(typeid(farewell), "farewell", unload_farewells, control, wire::varying,
                              control_good<farewell>);
const wire::handler pieces(typeid(blob_piece), "collective", unload_blobs, control, wire::varying,
                           control_good<blob_piece>);

run_key control_key(const wire::handler& entry) noexcept { return key_of(entry, 0); }

template <class T>
std::span<const std::byte> bytes_of(const T& value) noexcept {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

std::string_view name_of(dock::call kind) noexcept {
  switch (kind) {
    case dock::call::barrier: return "barrier()";
    case dock::call::finish: return "finish()";
    case dock::call::quiesce: return "quiesce()";
    case dock::call::gather: return "gather() or broadcast()";
    case dock::call::reduce: return "reduce()";
    case dock::call::end: return "the end of the program";
  }
  return "?";
}

/// Where a PE is that made this call: "in barrier()".
std::string text_of(const dock::collective& what) {
  return (what.kind == dock::call::end ? "at " : "in ") + std::string(name_of(what.kind)) +
         (what.slot == 0 ? "" : " of selector " + std::to_string(what.slot));
}

/// \param one, others  where they are, each with its preposition
std::string disagreement(const std::string& one, const std::string& others) {
  return "PEs disagree: one is " + one + " while others are " + others +
         "; every PE must make the same collective calls in the same order";
}

std::uint32_t kind_of(std::size_t mailboxes, std::string_view name) noexcept {
  auto hash = 0x811c9dc5u ^ static_cast<std::uint32_t>(mailboxes);  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return hash;
}

std::string at(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

}  // namespace

dock::dock(job& the_job, int index_, int local_, int first, int here)
    : whole(the_job),
      index(index_),
      local(local_),
      first_pe(first),
      pes_here(here),
      train_inbox(
          [](void* d) noexcept {
            auto& sleeper = *static_cast<dock*>(d);
            sleeper.whole.runtime().unpark(sleeper.local);
          },
          this),
      pool_(train_inbox, the_job.trains().capacity, the_job.trains().regular, the_job.trains().limit,
            the_job.trains().resting) {
  const auto& plan = the_job.plan();
  pes = static_cast<unsigned>(plan.pes);
  remote = the_job.remote();
  docks = plan.docks;
  hops = the_job.trains().hops;
  plain = the_job.trains().plain;
  plain_pes = plain ? pes : 0;
  dock_of = plan.dock_of.data();
  for (auto& channel : lanes_) channel.resize(static_cast<std::size_t>(plain ? plan.pes : docks));
  active_ = lanes_[0].data();
  contributed_.resize(static_cast<std::size_t>(pes_here));
}

dock::~dock() = default;

// --- loading ---

bool dock::fits(const lane& l, std::size_t good_bytes) {
  return aligned(l.cursor) + sizeof(wire::run_head) + good_bytes <= l.limit;
}

void dock::open_run(lane& l, int to, run_key key, std::size_t stride, int from) {
  const wire::handler& entry = entry_of(key);
  auto* run = ::new (static_cast<void*>(bytes_at(aligned(l.cursor)))) wire::run_head;
  run->handler = entry.id();
  run->group = slot_of(key);
  run->mailbox = entry.mailbox();
  run->flags = entry.flags();
  run->stride = static_cast<std::uint16_t>(stride);
  run->from = static_cast<std::uint16_t>(from);
  if (plain) run->to = static_cast<std::uint16_t>(to);
  if (run->mailbox != control) {
    if (!plain && (run->flags & wire::untagged) == 0) run->flags |= wire::tagged;
    if ((key & forwarding) != 0) {
      run->flags = static_cast<std::uint8_t>((run->flags & ~wire::asks) | wire::forwarded);
    } else if (hops == 2 && to != index) {
      run->flags |= wire::mixed;
    }
  }
  l.run = run;
  l.key = key;
  l.cursor = address(run->goods());
}

void dock::close_run(lane& l, int to) {
  if (l.run == nullptr) return;
  wire::run_head& run = *l.run;
  l.run = nullptr;
  l.key = 0;
  l.limit = address(l.open->goods()) + l.open->capacity;
  run.bytes = static_cast<std::uint32_t>(l.cursor - address(run.goods()));
  if (run.stride != 0) run.count = run.bytes / run.stride;
  if (l.shelf != 0) {
    shelves_[run.ticket].unanswered = shelves_[run.ticket].count = run.count;
    l.shelf = 0;
  }
  if (remote) {
    run.check = wire::head_check(run, static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(dock_of_lane(to)));
  }
  if (run.mailbox == control || groups_[run.group] == nullptr) return;  // gone: the job has failed
  group& g = *groups_[run.group];
  const bool second_leg = (run.flags & wire::forwarded) != 0;
  if (!second_leg) {
    g.sent += run.count;
    if ((run.flags & wire::answers) == 0) g.started += run.count;
    moved_.messages += run.count;
    if ((run.flags & wire::asks) != 0) g.unanswered += run.count;
  }
  if ((run.flags & wire::answers) == 0) {
    g.mailboxes[run.mailbox].sent[second_leg ? 1 : 0][static_cast<std::size_t>(dock_of_lane(to))] += run.count;
  }
}

void dock::depart(std::uint8_t channel, int to) {
  auto& lanes = lanes_[channel];
  lane& l = lanes[static_cast<std::size_t>(to)];
  close_run(l, to);
  const int to_dock = dock_of_lane(to);
  rail::train& t = *l.open;
  t.head.bytes = static_cast<std::uint32_t>(l.cursor - address(t.goods()));
  t.head.from = static_cast<std::uint16_t>(index);
  t.head.to = static_cast<std::uint16_t>(to_dock);
  auto& open = open_[channel];
  open[l.place] = open.back();  // the last takes its place
  lanes[open.back()].place = l.place;
  open.pop_back();
  l = lane{};
  ++moved_.trains;
  moved_.bytes += t.head.bytes;
  moved_.train_capacity += t.capacity;
  if (to_dock == index) {
    pending_[channel].push_back(t);
  } else {
    whole.deliver(t, to_dock);
  }
}

bool dock::flush(std::uint8_t channel) {
  const bool any = !open_[channel].empty();
  while (!open_[channel].empty()) depart(channel, open_[channel].back());
  return any;
}

bool dock::flush() {
  const bool programs = flush(0);
  const bool handlers = flush(1);
  const bool docks_own = flush(2);
  return programs || handlers || docks_own;
}

bool dock::open_train(std::uint8_t channel, int to) {
  rail::train* const t = pool_.take(channel, dock_of_lane(to) == index);
  if (t == nullptr) return false;
  lane& l = lanes_[channel][static_cast<std::size_t>(to)];
  l.open = t;
  l.cursor = address(t->goods());
  l.limit = l.cursor + t->capacity;
  l.place = static_cast<std::uint32_t>(open_[channel].size());
  open_[channel].push_back(static_cast<std::uint16_t>(to));
  return true;
}

/// Gives the run just opened on a lane its shelf, and ends the run where the shelf will be full.
bool dock::open_shelf(lane& l, std::uint8_t channel, run_key key, std::size_t stride, std::size_t kept_bytes) {
  rail::train* const t = pool_.take(channel, true);
  if (t == nullptr) return false;
  if (free_tickets_.empty()) {
    free_tickets_.push_back(static_cast<std::uint32_t>(shelves_.size()));
    shelves_.emplace_back();
  }
  l.run->ticket = free_tickets_.back();
  free_tickets_.pop_back();
  shelves_[l.run->ticket] = {t, 0, 0, entry_of(key).replies(), slot_of(key)};
  l.shelf = address(t->goods());
  l.limit = std::min(l.limit, l.cursor + t->capacity / kept_bytes * stride);
  return true;
}

void dock::take_from_shelf(std::uint32_t ticket, std::uint32_t count) {
  shelf& s = shelves_[ticket];
  s.unanswered -= count;
  if (s.unanswered != 0) return;
  pool_.put(*s.on, true);
  s.on = nullptr;
  free_tickets_.push_back(ticket);
  trains_home.notify_one();
}

void dock::open_replies(int to, run_key key, std::size_t bytes, std::uint32_t ticket, std::uint32_t first) {
  if (bytes + sizeof(wire::run_head) > pool_.capacity() || bytes > 0xffff) {
    refuse_length(now_->stop.to, bytes, key, std::source_location::current());
  }
  lane& l = lanes_[1][static_cast<std::size_t>(to)];
  if (l.open != nullptr && !fits(l, bytes)) depart(1, to);
  if (l.open == nullptr && !open_train(1, to)) refuse_budget(now_->stop.to);
  close_run(l, to);
  open_run(l, to, key, bytes, now_->stop.to);
  l.run->ticket = ticket;
  l.run->first = first;
}

void dock::make_room(int to, run_key key, std::size_t good_bytes, std::size_t stride, std::size_t kept_bytes, int from,
                     const std::source_location& where) {
  check_open(key, from, where);
  if (!in_handler()) settle(from);
  if (good_bytes + sizeof(wire::run_head) > pool_.capacity() || stride > 0xffff || kept_bytes > pool_.capacity()) {
    refuse_length(from, std::max(good_bytes, kept_bytes), key, where);
  }
  const std::uint8_t channel = in_handler() ? 1 : 0;
  lane& l = lanes_[channel][static_cast<std::size_t>(to)];
  // Whatever lets other code run (progress, waiting) may change the lane, so each turn looks afresh.
  while (!l.takes(key, good_bytes)) {
    if (l.open == nullptr) {
      // A request needs a train to travel in and one for its shelf. Taken one by one, the last train would stand open
      // without a shelf, depart with nothing in it, come home, and stand open again.
      const std::size_t trains = kept_bytes == 0 ? 1 : 2;
      if (channel == 0 && !pool_.has(0, trains)) {
        wait_for_train(0, trains, kept_bytes == 0 ? "send" : "ask");
      } else if (!open_train(channel, to)) {
        if (channel == 1) refuse_budget(from);
        wait_for_train(0, trains, "send");
      }
    } else if ((l.key != key || kept_bytes != 0) && (close_run(l, to), fits(l, good_bytes))) {
      if (kept_bytes == 0) {
        open_run(l, to, key, stride, from);
      } else if (channel == 0 && !pool_.has(0)) {
        wait_for_train(0, 1, "ask");
      } else {
        open_run(l, to, key, stride, from);
        if (!open_shelf(l, channel, key, stride, kept_bytes)) refuse_budget(from);
      }
    } else {
      depart(channel, to);
      if (channel == 0) {
        progress();
        leave_if_failed();
      }
    }
  }
}

void dock::wait_for_train(std::uint8_t channel, std::size_t count, const char* what) {
  // A pool that could not buy a train has lowered its limit to what it has.
  if (pool_.limit() < count) throw error("no memory for a train of " + std::to_string(pool_.capacity()) + " bytes");
  wait(trains_home, what, [this, channel, count] { return pool_.has(channel, count); });
}

std::byte* dock::append_span(lane& l, wire::stop stop, std::size_t bytes) {
  auto* head = ::new (static_cast<void*>(bytes_at(l.cursor))) wire::span_head;
  head->at = stop;
  head->bytes = static_cast<std::uint32_t>(bytes);
  std::byte* const body = bytes_at(l.cursor) + sizeof(wire::span_head);
  l.cursor += wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
  ++l.run->count;
  return body;
}

void dock::send_span(int from, int to, run_key key, std::span<const std::byte> captures,
                     std::span<const std::byte> payload, std::source_location where) {
  if (static_cast<unsigned>(to) >= pes) refuse_destination(from, to, where);
  const std::size_t bytes = captures.size() + payload.size();
  const std::size_t whole_good = wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
  const int hop = plain ? to : hop_of[to];
  lane& l = active_[hop];
  if (!l.takes(key, whole_good)) make_room(hop, key, whole_good, 0, 0, from, where);
  std::byte* const body = append_span(l, {static_cast<std::uint16_t>(to), static_cast<std::uint16_t>(from)}, bytes);
  if (!captures.empty()) std::memcpy(body, captures.data(), captures.size());
  if (!payload.empty()) std::memcpy(body + captures.size(), payload.data(), payload.size());
}

void dock::send_control(int to_dock, run_key key, std::span<const std::byte> captures,
                        std::span<const std::byte> payload) {
  const std::size_t bytes = captures.size() + payload.size();
  const std::size_t whole_good = wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
  const int to = plain ? whole.plan().first_pe[static_cast<std::size_t>(to_dock)] : to_dock;
  // A train that stands there anyway takes it along; else one of channel 1. Between processes a channel of their own:
  // trains that are held here take the places where others could arrive, and control goods are what ends the holding.
  // Only programs come here, and they may wait for a train: their lanes may change meanwhile.
  const std::uint8_t channel = remote ? 2 : 1;
  lane* l = &lanes_[remote ? 2 : 0][static_cast<std::size_t>(to)];
  while (l->open == nullptr || !fits(*l, whole_good)) {
    l = &lanes_[channel][static_cast<std::size_t>(to)];
    if (l->open != nullptr && !fits(*l, whole_good)) depart(channel, to);
    if (l->open == nullptr && !open_train(channel, to)) wait_for_train(channel, 1, "finish()");
  }
  if (!l->takes(key, whole_good)) {
    close_run(*l, to);
    open_run(*l, to, key, 0, first_pe);
  }
  std::byte* const body = append_span(*l, control_check(captures), bytes);
  std::memcpy(body, captures.data(), captures.size());
  if (!payload.empty()) std::memcpy(body + captures.size(), payload.data(), payload.size());
}

// --- refusals ---

void dock::refuse_destination(int from, int to, std::source_location where) const {
  throw error("PE " + std::to_string(from) + ": send to PE " + std::to_string(to) + ", but the job has PEs 0.." +
                  std::to_string(pes - 1) + " (" + at(where) + ")",
              {.pe = from}, where);
}

void dock::refuse_length(int from, std::size_t bytes, run_key key, const std::source_location& where) const {
  const std::size_t most =
      std::min<std::size_t>(pool_.capacity() - sizeof(wire::run_head),
                            (entry_of(key).flags() & wire::varying) != 0 ? ~std::size_t{0} : 0xffff);
  throw error("PE " + std::to_string(from) + ": a message of " + std::to_string(bytes) +
                  " bytes is too long, a train carries " + std::to_string(most) +
                  "; send less at once, or raise --train (" + at(where) + ")",
              {.pe = from}, where);
}

void dock::refuse_budget(int from) const {
  std::string who = "PE " + std::to_string(from);
  if (handler_ != nullptr) who += ": handler " + std::string(handler_->name());
  throw error(who + ": handlers have sent more than " + std::to_string(pool_.limit()) + " trains of " +
                  std::to_string(pool_.capacity()) + " bytes hold, and they cannot wait; raise --budget (" +
                  std::to_string(whole.wanted().budget) + " bytes a PE) or let handlers send less",
              {.pe = from});
}

void dock::check_open(run_key key, int from, const std::source_location& where) const {
  const wire::handler& entry = entry_of(key);
  if ((entry.flags() & wire::answers) != 0 || (key & forwarding) != 0) return;
  const auto mailbox = entry.mailbox();
  const group& g = *groups_[slot_of(key)];
  if (!g.mailboxes[mailbox].closed) return;
  throw error(
      "PE " + std::to_string(from) + ": send to mailbox " + std::to_string(mailbox) + " of " + std::string(g.name) +
          " after done(); where handlers send to their own or an earlier mailbox, use quiesce() (" + at(where) + ")",
      {.pe = from}, where);
}

void dock::refuse(const char* what) const {
  throw error("PE " + std::to_string(now_->stop.to) + ": handler " + std::string(handler_->name()) + " called " + what +
              ", which waits; a handler must not wait, it runs between two messages of its PE");
}

void dock::refuse_inside_handler(const char* what) const {
  if (in_handler()) refuse(what);
}

bool dock::leaving() const noexcept { return whole.failed(); }

void dock::leave_if_failed() const {
  if (whole.failed() && std::uncaught_exceptions() == 0) throw job_over{};
}

// --- unloading ---

bool dock::sort_arrivals() {
  bool any = false;
  const auto sort = [&](rail::train& t) {
    any = true;
    if (t.head.empty != 0) {
      pool_.put(t);
      trains_home.notify_one();
    } else {
      pending_[t.head.channel].push_back(t);
    }
  };
  for (rail::train* t = train_inbox.arrivals(); t != nullptr;) {
    rail::train& now = *t;
    t = t->next;
    sort(now);
  }
  if (whole.remote()) {
    rail::train_list arrived;
    any |= whole.carrier().poll(arrived);
    while (!arrived.empty()) {
      rail::train& t = arrived.pop_front();
      if (const auto fault = whole.fault_of(t); !fault.empty()) [[unlikely]] {
        whole.fail(fault);
        rail::send_home(t);
      } else if (t.head.to == index) {
        sort(t);
      } else {
        whole.deliver(t, t.head.to);
      }
    }
  }
  return any;
}

bool dock::progress() {
  if (in_handler()) return false;  // D4
  if (whole.failed()) [[unlikely]]
    return notice_failure();
  bool any = sort_arrivals();
  if (look_at_held_) [[unlikely]] {
    look_at_held_ = false;
    auto held = std::move(held_);
    held_.clear();
    for (rail::train* t : held) unload(*t);
    any = true;
  }
  for (int left = trains_a_look; left > 0; --left) {
    if (!pending_[2].empty()) {
      unload(pending_[2].pop_front());
    } else if (!pending_[1].empty()) {
      unload(pending_[1].pop_front());
    } else if (!pending_[0].empty() && !pool_.strained()) {  // D3
      unload(pending_[0].pop_front());
    } else {
      break;
    }
    any = true;
  }
  // Strained by trains that stand half loaded: let them go, or they never come home.
  if (!any && !pending_[0].empty()) any = flush(1);
  if (any && activity.anybody()) activity.notify_all();
  return any;
}

bool dock::poll() {
  try {
    if (progress()) return true;
    return !whole.failed() && !sched::this_worker::has_runnable() && flush();
  } catch (const std::exception& thrown) {  // the transport's: handlers' are dealt with where they run
    whole.fail("PE " + std::to_string(first_pe) + ": " + thrown.what());
    return true;
  }
}

bool dock::arm() {
  if (announce()) return false;
  return (spoiled_ || !whole.failed()) && train_inbox.arm();
}
void dock::disarm() { train_inbox.disarm(); }
std::chrono::nanoseconds dock::patience() {
  return whole.remote() ? whole.carrier().patience() : std::chrono::nanoseconds::max();
}

void dock::let_go(rail::train& t) {
  if (t.home == &train_inbox) {
    pool_.put(t, true);
    trains_home.notify_one();
  } else {
    rail::send_home(t);
  }
}

void dock::unload(rail::train& t) {
  if (unload_runs(t)) {
    let_go(t);
  } else {
    held_.push_back(&t);
  }
}

bool dock::unload_runs(rail::train& t) {
  bool everything = true;
  const sched::no_wait* const before = sched::this_worker::forbid_wait(this);
  const auto end = address(t.goods()) + t.head.bytes;
  for (auto p = address(t.goods()); p < end;) {
    auto& run = *reinterpret_cast<wire::run_head*>(p);
    p = aligned(address(run.goods()) + run.bytes);
    if ((run.flags & wire::spent) != 0) continue;
    group* g = nullptr;
    if (run.group != 0) {
      g = run.group < groups_.size() ? groups_[run.group].get() : nullptr;
      // Not constructed here yet, or between epochs (G3): the rest of the train need not wait for it. Replies that pass
      // through on their second leg belong to the epoch that others have not ended yet.
      if (g == nullptr || g->ready < pes_here || (g->between && (run.flags & wire::answers) == 0)) {
        everything = false;
        continue;
      }
    }
    const wire::handler& how = wire::handler_table::at(run.handler);
    if (g != nullptr && run.mailbox != control &&
        ((how.owner().data() != g->name.data() && how.owner() != g->name) || run.mailbox >= g->mailboxes.size())) {
      refuse_stranger(*g, how.owner());
      run.flags |= wire::spent;
      continue;
    }
    arrival a{this, g, &run, run.goods(), run.goods() + run.bytes, t.head.from, {run.to, run.from}};
    now_ = &a;
    handler_ = &how;
    active_ = lanes_[1].data();
    try {
      if (remote && (run.flags & wire::answers) != 0) check_replies(a, how);
      if ((run.flags & wire::mixed) != 0) {
        unload_mixed(a, how);
      } else {
        how.unload(&a);
        account(a, run.count);
      }
    } catch (const damage& found) {
      whole.fail(
          damaged(t, static_cast<std::size_t>(address(run.goods()) - address(t.goods())) - sizeof run, found.what));
    } catch (const std::exception& thrown) {
      const std::string who = "PE " + std::to_string(a.stop.to) + ": handler " + std::string(how.name());
      const std::string_view what = thrown.what();
      whole.fail(what.starts_with(who) ? std::string(what) : who + " threw: " + std::string(what),
                 job::fault_of(thrown));
    } catch (...) {
      whole.fail("PE " + std::to_string(a.stop.to) + ": handler " + std::string(how.name()) +
                 " threw something that is not a std::exception");
    }
    active_ = lanes_[0].data();
    handler_ = nullptr;
    now_ = nullptr;
    run.flags |= wire::spent;
  }
  sched::this_worker::forbid_wait(before);
  return everything;
}

void dock::account(const arrival& a, std::uint64_t handled_here) {
  const wire::run_head& run = *a.run;
  if (run.mailbox == control) return;
  group& g = *a.of;
  g.handled += handled_here;
  if ((run.flags & wire::answers) != 0) {
    g.unanswered -= handled_here;
  } else {
    g.mailboxes[run.mailbox].arrived[(run.flags & wire::forwarded) != 0 ? 1 : 0] += run.count;
  }
}

/// First of two legs: goods for PEs of this dock are handled, others go on to their dock.
void dock::unload_mixed(arrival& a, const wire::handler& how) {
  const wire::run_head& run = *a.run;
  std::byte* const end = a.last;
  const run_key onward = key_of(how, run_key{run.group} << 16) | forwarding;
  std::uint64_t handled = 0;
  for (std::byte* p = a.first; p != end;) {
    std::size_t bytes = run.stride;
    if (bytes == 0) {
      bytes = wire::round_up(sizeof(wire::span_head) + reinterpret_cast<const wire::span_head*>(p)->bytes,
                             wire::span_alignment);
    }
    const auto stop = *reinterpret_cast<const wire::stop*>(p);
    const int to_dock = dock_of[stop.to];
    if (to_dock == index) {
      a.first = p;
      a.last = p + bytes;
      how.unload(&a);
      ++handled;
    } else {
      lane& l = active_[to_dock];
      if (!l.takes(onward, bytes)) {
        make_room(to_dock, onward, bytes, run.stride, 0, stop.from, std::source_location::current());
      }
      std::memcpy(bytes_at(l.cursor), p, bytes);
      l.cursor += bytes;
      if (run.stride == 0) ++l.run->count;
    }
    p += bytes;
  }
  account(a, handled);
}

// --- waiting ---

bool dock::idle_step(int& idle) {
  if (sched::this_worker::has_runnable()) return true;
  if (flush()) return false;
  if (!whole.remote()) {
    // Nothing but a train can change anything: watch the one word that says so.
    for (int looks = 0; looks < looks_a_step && !train_inbox.any(); ++looks) {
      if (idle >= tight_steps) relax();
    }
  } else {
    relax();
  }
  return ++idle >= idle_steps;
}

bool dock::notice_failure() {
  if (spoiled_) return false;
  spoiled_ = true;
  trains_home.notify_all();
  activity.notify_all();
  call_done_.notify_all();
  for (const auto& g : groups_) {
    if (g != nullptr) g->complete.notify_all();
  }
  return true;
}

// --- groups ---

group& dock::group_at(std::uint16_t slot, std::size_t mailboxes, std::string_view name) {
  if (groups_.size() <= slot) groups_.resize(slot + std::size_t{1});
  auto& place = groups_[slot];
  if (place == nullptr) {
    place = std::make_unique<group>();
    place->slot = slot;
    place->name = name;
    place->kind = kind_of(mailboxes, name);
    place->parts.resize(static_cast<std::size_t>(pes_here));
    place->mailboxes.resize(mailboxes);
    for (auto& m : place->mailboxes) {
      for (auto& leg : m.sent) leg.resize(static_cast<std::size_t>(docks));
    }
    for (const end_mark& mark : std::exchange(early_marks_, {})) end_mark_arrived(mark);
  } else if (place->mailboxes.size() != mailboxes || place->name != name) {
    throw error(disagreement_about(*place, name));
  }
  group& g = *place;
  ++g.present;
  if (++g.built == pes_here) {
    constructing_ = nullptr;
    g.complete.notify_all();
  } else {
    // Who is in a collective call has not constructed it, or would not be there.
    if (at_call_ > 0) throw error(disagreement("in the construction of " + std::string(name), text_of(call_)));
    constructing_ = &g;
    wait(g.complete, "construction", [this, &g] { return g.built == pes_here; });
  }
  return g;
}

std::string dock::disagreement_about(const group& g, std::string_view other) {
  return "PEs disagree: one constructs " + (other.empty() ? "another selector" : std::string(other)) +
         " where another constructed " + std::string(g.name) +
         "; every PE must construct the same selectors in the same order";
}

void dock::refuse_stranger(const group& g, std::string_view other) noexcept {
  whole.fail("PE " + std::to_string(first_pe) + ": " + disagreement_about(g, other));
}

void dock::forget_group(std::uint16_t slot, int pe) {
  group& g = *groups_[slot];
  std::erase_if(newborn_, [&](const newborn& n) { return n.of == &g && n.pe == pe; });
  void*& part = g.parts[static_cast<std::size_t>(pe - first_pe)];
  if (std::exchange(part, nullptr) != nullptr) --g.ready;
  if (--g.present > 0) return;
  close_runs();  // of a job that failed: they count for the group when they close
  groups_[slot].reset();
}

void dock::part_ready(group& g, int pe, void* part) {
  g.parts[static_cast<std::size_t>(pe - first_pe)] = part;
  if (++g.ready == pes_here && !held_.empty()) look_at_held_ = true;
}

void dock::settle_newborn(int pe) {
  for (std::size_t i = 0; i < newborn_.size();) {
    const newborn n = newborn_[i];
    if (n.pe != pe) {
      ++i;
      continue;
    }
    newborn_.erase(newborn_.begin() + static_cast<std::ptrdiff_t>(i));
    part_ready(*n.of, n.pe, n.part);
  }
}

void dock::close_runs() {
  for (const auto channel : {0, 1, 2}) {
    for (const auto d : open_[channel]) close_run(lanes_[channel][d], d);
  }
}

bool dock::unfinished(group& g) {
  close_runs();
  return g.started != g.settled;
}

void dock::refuse_unfinished(group& g, int pe) noexcept {
  if (whole.failed() || !unfinished(g)) return;
  whole.fail("PE " + std::to_string(pe) + ": " + std::string(g.name) +
             " is destroyed with messages under way; call finish() first");
}

// --- control goods of other processes: what the validator cannot know ---

void dock::check(const end_mark& mark) const {
  const group* const g = mark.slot < groups_.size() ? groups_[mark.slot].get() : nullptr;
  if (mark.slot == 0) throw damage{"end mark: of no selector"};
  if (mark.leg >= hops) throw damage{"end mark: of hop " + std::to_string(mark.leg) + " of " + std::to_string(hops)};
  // A group of another kind is a program whose PEs disagree: end_mark_arrived() says so.
  const std::size_t mailboxes = g != nullptr && g->kind == mark.kind ? g->mailboxes.size() : most_mailboxes;
  if (mark.mailbox >= mailboxes) {
    throw damage{"end mark: mailbox " + std::to_string(mark.mailbox) + ", but the selector has " +
                 std::to_string(mailboxes)};
  }
}

/// Replies name a run of requests of this dock by its ticket, and their places in it.
void dock::check_replies(const arrival& a, const wire::handler& how) const {
  const wire::run_head& run = *a.run;
  if (hops == 2) {  // continuations travel
    if ((run.flags & wire::mixed) == 0 && run.count > a.of->unanswered) {
      throw damage{std::to_string(run.count) + " replies, but " + std::to_string(a.of->unanswered) +
                   " requests wait for one"};
    }
    return;
  }
  const shelf* const s = run.ticket < shelves_.size() ? &shelves_[run.ticket] : nullptr;
  if (s == nullptr || s->on == nullptr || s->replies != &how || s->slot != run.group) {
    throw damage{"replies to requests " + std::to_string(run.ticket) + ", which are not under way"};
  }
  if (std::uint64_t{run.first} + run.count > s->count || run.count > s->unanswered) {
    throw damage{"replies " + std::to_string(run.first) + " and " + std::to_string(run.count) + " following to " +
                 std::to_string(s->count) + " requests, of which " + std::to_string(s->unanswered) + " wait for one"};
  }
}

void dock::check_value(const void* place, const void* type) const {
  const auto known = std::find_if(awaited_.begin(), awaited_.end(), [&](const awaited& a) { return a.place == place; });
  if (known == awaited_.end() || known->type != type) throw damage{"a value that no fetch() of this worker waits for"};
}

void dock::end_mark_arrived(const end_mark& mark) {
  group* const g = mark.slot < groups_.size() ? groups_[mark.slot].get() : nullptr;
  if (g == nullptr) return early_marks_.push_back(mark);
  if (mark.kind != g->kind) return refuse_stranger(*g, {});
  auto& m = g->mailboxes[mark.mailbox];
  ++m.marks[mark.leg];
  m.announced[mark.leg] += mark.count;
}

void dock::send_marks(group& g, unsigned mailbox, int leg) {
  close_runs();
  auto& m = g.mailboxes[mailbox];
  auto& sent = m.sent[leg];
  const run_key key = control_key(end_marks);
  for (const int d : neighbours) {
    const end_mark mark{std::exchange(sent[static_cast<std::size_t>(d)], 0), g.kind, g.slot,
                        static_cast<std::uint8_t>(mailbox), static_cast<std::uint8_t>(leg)};
    send_control(d, key, bytes_of(mark), {});
  }
  m.announced[leg] += std::exchange(sent[static_cast<std::size_t>(index)], 0);
}

bool dock::ended(const group& g, unsigned mailbox, int leg, std::uint64_t epoch) const {
  const auto& m = g.mailboxes[mailbox];
  return m.marks[leg] >= epoch * neighbours.size() && m.arrived[leg] == m.announced[leg];
}

void dock::done(group& g, int pe, unsigned mailbox) {
  settle(pe);
  auto& m = g.mailboxes[mailbox];
  if (++m.pes_done < pes_here) return;
  if (mailbox == 0) {  // nothing feeds it; the others wait for their feeder, in finish()
    m.closed = true;
    send_marks(g, 0, 0);
  }
}

void dock::finish(group& g, int pe) {
  if (arrive({call::finish, g.slot}, pe)) finish_here(g);
  if (--g.returning == 0) {
    g.between = false;
    look_at_held_ = look_at_held_ || !held_.empty();
  }
}

/// What the last PE of a dock does for all of them.
void dock::finish_here(group& g) {
  const std::uint64_t epoch = g.epoch + 1;
  for (unsigned m = 0; m < g.mailboxes.size(); ++m) {
    if (m > 0) {
      g.mailboxes[m].closed = true;
      send_marks(g, m, 0);
    }
    wait(activity, "finish()", [&] { return ended(g, m, 0, epoch); });
    if (hops == 2) {
      send_marks(g, m, 1);
      wait(activity, "finish()", [&] { return ended(g, m, 1, epoch); });
    }
    wait(activity, "finish()", [&] { return g.unanswered == 0; });
  }
  for (auto& m : g.mailboxes) {
    m.closed = false;
    m.pes_done = 0;
  }
  g.epoch = epoch;
  g.settled = g.started;
  g.between = true;
  g.returning = pes_here;
  dock_barrier(call::finish);
  complete();
}

void dock::quiesce(group& g, int pe) {
  if (!arrive({call::quiesce, g.slot}, pe)) return;
  // Mattern's four counters (Distributed Computing 2, 1987): sums of sent and handled that are equal, and the same
  // in two waves one after the other. Each dock takes part when it has nothing to do. What was sent before counts in
  // no later finish(): end marks announce it, and it has arrived.
  std::uint64_t before_sent = ~std::uint64_t{0}, before_handled = 0;
  for (;;) {
    while (progress() || flush()) leave_if_failed();
    const std::uint64_t mine[3] = {g.sent, g.handled, g.slot};
    const auto bytes = std::as_bytes(std::span(mine));
    const auto all = dock_gather({bytes.begin(), bytes.end()});
    std::uint64_t sent = 0, handled = 0;
    for (const auto& one : all) {
      std::uint64_t theirs[3];
      if (one.size() != sizeof theirs) refuse_bundle("a part has " + std::to_string(one.size()) + " bytes");
      std::memcpy(theirs, one.data(), sizeof theirs);
      if (theirs[2] != g.slot) {
        disagree(text_of(call_), text_of({call::quiesce, static_cast<std::uint16_t>(theirs[2])}));
      }
      sent += theirs[0];
      handled += theirs[1];
    }
    if (sent == handled && sent == before_sent && handled == before_handled) break;
    before_sent = sent;
    before_handled = handled;
  }
  g.settled = g.started;
  complete();
}

// --- collectives ---

bool dock::arrive(const collective& what, int pe) {
  refuse_inside_handler(name_of(what.kind).data());
  leave_if_failed();
  settle(pe);
  caller_ = pe;
  if (at_call_ > 0 && call_ != what) disagree(text_of(what), text_of(call_));
  if (constructing_ != nullptr) {
    disagree(text_of(what), "in the construction of " + std::string(constructing_->name));
  }
  call_ = what;
  ++at_call_;
  compare_with_neighbour();
  leave_if_failed();
  if (at_call_ == pes_here) return true;
  const auto now = calls_;
  wait(call_done_, name_of(what.kind).data(), [&] { return calls_ != now; });
  return false;
}

/// The job fails, whatever the program does with the exception: a PE that caught it and went on would leave the others
/// in a call that cannot end.
void dock::disagree(const std::string& one, const std::string& others) {
  const auto text = "PE " + std::to_string(caller_) + ": " + disagreement(one, others);
  whole.fail(text);
  throw error(text, {.pe = caller_});
}

/// A worker that is about to sleep amid a collective tells the next dock which one, once. Docks that wait for each
/// other in different ones stand somewhere side by side, and the second of two such sees it.
bool dock::announce() noexcept {
  if (docks == 1 || at_call_ < pes_here || announced_ > calls_ || farewell_said_ || whole.failed() || !pool_.has(2)) {
    return false;
  }
  announced_ = calls_ + 1;
  ++standings_sent_;
  const standing mine{calls_, call_.slot, call_.kind};
  send_control((index + 1) % docks, control_key(standings), bytes_of(mine), {});
  flush();
  return true;
}

void dock::neighbour_stands(int from, std::uint64_t number, const collective& what) {
  // No PE leaves a collective call before every one is in it, so another dock may be one call ahead.
  if (from != (index + docks - 1) % docks || number > calls_ + 1 || what.kind > call::end) {
    throw damage{"standing: worker " + std::to_string(from) + " in call " + std::to_string(number)};
  }
  ++standings_seen_;
  if (number < neighbour_number_) return;  // trains of two channels may overtake each other
  neighbour_number_ = number + 1;
  neighbour_ = what;
  compare_with_neighbour();
}

void dock::compare_with_neighbour() {
  if (neighbour_number_ != calls_ + 1 || at_call_ == 0 || neighbour_ == call_) return;
  whole.fail("PE " + std::to_string(first_pe) + ": " + disagreement(text_of(call_), text_of(neighbour_)));
}

void dock::complete() {
  at_call_ = 0;
  ++calls_;
  call_done_.notify_all();
}

void dock::barrier_token_arrived(int from, unsigned round, std::uint64_t number, call kind) {
  const int distance = round < std::size(tokens_) - 1 ? 1 << round : docks;
  if (distance >= docks || from != (index + docks - distance) % docks || number == 0 || number > barriers_ + 1 ||
      kind > call::end) {
    throw damage{"barrier: round " + std::to_string(round) + " of barrier " + std::to_string(number) + " of worker " +
                 std::to_string(from) + ", while barrier " + std::to_string(barriers_) + " is the last"};
  }
  tokens_[round].arrived(number, kind);
}

/// Dissemination barrier (Hensgen, Finkel, Manber, IJPP 17, 1988): in round k a dock tells the one 2^k further on.
void dock::dock_barrier(call kind) {
  ++barriers_;
  std::uint8_t round = 0;
  for (int distance = 1; distance < docks; distance *= 2, ++round) {
    const barrier_token token{barriers_, round, kind};
    send_control((index + distance) % docks, control_key(tokens), bytes_of(token), {});
    flush();
    wait(activity, name_of(kind).data(), [&] { return tokens_[round].reached(barriers_); });
    if (const auto theirs = tokens_[round].kind_of(barriers_); theirs && *theirs != kind) {
      disagree(text_of({kind}), text_of({*theirs}));
    }
  }
}

void dock::barrier(int pe) {
  if (!arrive({call::barrier}, pe)) return;
  dock_barrier(call::barrier);
  complete();
}

void dock::end(int pe) {
  if (!arrive({call::end}, pe)) return;
  dock_barrier(call::end);
  if (docks > 1) {
    // Whatever was announced has to arrive before the transport stops.
    farewell_said_ = true;
    send_control((index + 1) % docks, control_key(farewells), bytes_of(farewell{standings_sent_}), {});
    flush();
    wait(activity, "the end", [this] { return farewell_ == standings_seen_ + 1; });
  }
  complete();
}

void dock::neighbour_leaves(int from, std::uint64_t said) {
  if (from != (index + docks - 1) % docks || farewell_ != 0 || said < standings_seen_) {
    throw damage{"farewell: worker " + std::to_string(from) + " after " + std::to_string(said) + " standings"};
  }
  farewell_ = said + 1;
}

/// Bytes are kept as they come, and no more: memory for a total that somebody announces is not set apart.
void dock::blob_arrived(int from, std::uint32_t sequence, bool down, std::uint32_t total, std::uint32_t offset,
                        std::span<const std::byte> bytes) {
  const auto refuse = [&] {
    throw damage{"collective: bytes " + std::to_string(offset) + " and " + std::to_string(bytes.size()) +
                 " following of " + std::to_string(total) + " of worker " + std::to_string(from) + " in gather " +
                 std::to_string(sequence) + ", while gather " + std::to_string(sequence_) + " is the last"};
  };
  // A child may be one gather ahead; the parent never is, for it waits for this dock.
  const std::uint32_t ahead = sequence - sequence_;
  if (down ? from != index - (index & -index) || index == 0 || ahead != 0 : !is_child(from) || ahead > 1) refuse();
  if (std::uint64_t{offset} + bytes.size() > total || (bytes.empty() && total != 0)) refuse();
  auto p = std::find_if(partials_.begin(), partials_.end(),
                        [&](const partial& q) { return q.sequence == sequence && q.from == from && q.down == down; });
  if (p == partials_.end()) {
    partials_.push_back({sequence, from, down, total, {}, {}});
    p = partials_.end() - 1;
  }
  if (p->total != total || offset < p->bytes.size()) refuse();
  if (offset > p->bytes.size()) {
    if (!p->early.emplace(offset, std::vector<std::byte>(bytes.begin(), bytes.end())).second) refuse();
    return;
  }
  p->bytes.insert(p->bytes.end(), bytes.begin(), bytes.end());
  while (!p->early.empty() && p->early.begin()->first <= p->bytes.size()) {
    if (p->early.begin()->first < p->bytes.size()) refuse();
    const auto next = p->early.extract(p->early.begin());
    p->bytes.insert(p->bytes.end(), next.mapped().begin(), next.mapped().end());
  }
}

/// In the binomial tree of gathers.
bool dock::is_child(int d) const noexcept {
  const int reach = index == 0 ? docks : index & -index;
  const int distance = d - index;
  return distance > 0 && distance < reach && (distance & (distance - 1)) == 0 && d < docks;
}

void dock::send_blob(int to, bool down, std::span<const std::byte> bytes) {
  const std::size_t most = (pool_.capacity() - sizeof(wire::run_head) - sizeof(wire::span_head) - sizeof(blob_piece)) /
                           wire::span_alignment * wire::span_alignment;
  std::size_t offset = 0;
  if (bytes.size() > 0xffff'ffffu) {
    throw error(std::string(name_of(call_.kind)) + ": " + std::to_string(bytes.size()) +
                " bytes in all, at most 4,294,967,295 can be gathered; it is for facts, not for bulk data");
  }
  do {
    const auto piece = bytes.subspan(offset, std::min(most, bytes.size() - offset));
    const blob_piece head{sequence_, static_cast<std::uint32_t>(bytes.size()), static_cast<std::uint32_t>(offset),
                          static_cast<std::uint16_t>(index), down};
    // Large results go out piece by piece: a piece waits until the pool is at ease.
    wait(activity, "gather()", [this] { return pool_.out(1) + pool_.out(2) <= pool_.regular(); });
    send_control(to, control_key(pieces), bytes_of(head), piece);
    offset += piece.size();
  } while (offset < bytes.size());
  flush();
}

std::vector<std::byte> dock::take_blob(int from, bool down) {
  auto found = partials_.end();
  wait(activity, "gather()", [&] {
    found = std::find_if(partials_.begin(), partials_.end(), [&](const partial& q) {
      return q.sequence == sequence_ && q.from == from && q.down == down && q.bytes.size() == q.total;
    });
    return found != partials_.end();
  });
  auto bytes = std::move(found->bytes);
  partials_.erase(found);
  return bytes;
}

/// Up a binomial tree to dock 0, and down again: 2 * log2(docks) messages deep. Collective over docks, called by the
/// last PE of each. \return every dock's bytes, by dock.
std::vector<std::vector<std::byte>> dock::dock_gather(std::vector<std::byte> mine) {
  ++sequence_;
  // A bundle is a sequence of (dock, which collective call, length, bytes).
  std::vector<std::byte> bundle;
  const auto put = [&bundle](const auto& value) {
    const auto b = bytes_of(value);
    bundle.insert(bundle.end(), b.begin(), b.end());
  };
  put(static_cast<std::uint64_t>(index));
  put(std::uint64_t{static_cast<std::uint8_t>(call_.kind)} << 16 | call_.slot);
  put(static_cast<std::uint64_t>(mine.size()));
  bundle.insert(bundle.end(), mine.begin(), mine.end());
  const int reach = index == 0 ? docks : index & -index;
  std::vector<int> children;
  for (int d = 1; d < reach && index + d < docks; d *= 2) children.push_back(index + d);
  for (const int child : children) {
    const auto theirs = take_blob(child, false);
    bundle.insert(bundle.end(), theirs.begin(), theirs.end());
  }
  if (index != 0) {
    const int parent = index - reach;
    send_blob(parent, false, bundle);
    bundle = take_blob(parent, true);
  }
  for (const int child : children) send_blob(child, true, bundle);

  std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(docks));
  int parts = 0;
  for (std::size_t p = 0; p < bundle.size(); ++parts) {
    std::uint64_t head[3];
    if (bundle.size() - p < sizeof head) refuse_bundle("it ends amid a head");
    std::memcpy(head, bundle.data() + p, sizeof head);
    p += sizeof head;
    if (head[0] >= all.size()) refuse_bundle("a part is of worker " + std::to_string(head[0]));
    if (head[2] > bundle.size() - p) refuse_bundle("a part has " + std::to_string(head[2]) + " bytes");
    if (head[1] >> 16 > static_cast<std::uint64_t>(call::end))
      refuse_bundle("a part is of call " + std::to_string(head[1] >> 16));
    const collective theirs{static_cast<call>(head[1] >> 16), static_cast<std::uint16_t>(head[1])};
    if (theirs != call_) disagree(text_of(call_), text_of(theirs));
    const auto* first = bundle.data() + p;
    all[head[0]].assign(first, first + head[2]);
    p += head[2];
  }
  if (parts != docks)
    refuse_bundle("it has the parts of " + std::to_string(parts) + " workers, not of " + std::to_string(docks));
  return all;
}

void dock::refuse_bundle(const std::string& what) const {
  throw error(std::string(name_of(call_.kind)) + ": what the workers gathered is damaged: " + what +
              "; the ranks do not run the same program, or the network or the memory of a machine changes data");
}

dock::blobs dock::gather(int pe, std::span<const std::byte> mine) {
  contributed_[static_cast<std::size_t>(pe - first_pe)].assign(mine.begin(), mine.end());
  if (arrive({call::gather}, pe)) {
    std::vector<std::byte> bundle;
    for (const auto& one : contributed_) {
      const std::uint64_t length = one.size();
      const auto b = bytes_of(length);
      bundle.insert(bundle.end(), b.begin(), b.end());
      bundle.insert(bundle.end(), one.begin(), one.end());
    }
    auto by_pe = std::make_shared<std::vector<std::vector<std::byte>>>();
    by_pe->reserve(pes);
    for (const auto& one : dock_gather(std::move(bundle))) {
      for (std::size_t p = 0; p < one.size();) {
        std::uint64_t length;
        if (one.size() - p < sizeof length) refuse_bundle("a part ends amid a length");
        std::memcpy(&length, one.data() + p, sizeof length);
        p += sizeof length;
        if (length > one.size() - p) refuse_bundle("a PE has " + std::to_string(length) + " bytes");
        by_pe->emplace_back(one.begin() + static_cast<std::ptrdiff_t>(p),
                            one.begin() + static_cast<std::ptrdiff_t>(p + length));
        p += length;
      }
    }
    if (by_pe->size() != pes)
      refuse_bundle("it has the bytes of " + std::to_string(by_pe->size()) + " PEs, not of " + std::to_string(pes));
    gathered_ = std::move(by_pe);
    complete();
  }
  return gathered_;
}

void dock::reduce(int pe, std::span<std::byte> mine, void (*combine)(std::byte* into, const std::byte* from)) {
  contributed_[static_cast<std::size_t>(pe - first_pe)].assign(mine.begin(), mine.end());
  if (arrive({call::reduce}, pe)) {
    const auto one_after_another = [&](const std::vector<std::vector<std::byte>>& values) {
      auto result = values.front();
      for (std::size_t i = 1; i < values.size(); ++i) {
        if (values[i].size() != result.size()) {
          disagree("in reduce() of " + std::to_string(values[i].size()) + " bytes",
                   "in reduce() of " + std::to_string(result.size()) + " bytes");
        }
        combine(result.data(), values[i].data());
      }
      return result;
    };
    reduced_ = one_after_another(dock_gather(one_after_another(contributed_)));
    complete();
  }
  std::copy(reduced_.begin(), reduced_.end(), mine.begin());
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
