#include <shunt/pgas/detail/outbound.hpp>

#include <algorithm>
#include <cstring>

#include <shunt/base/error.hpp>
#include <shunt/pgas/detail/recorder.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

namespace {

std::size_t buffers_of(const worker_facts& facts) noexcept {
  return static_cast<std::size_t>(facts.plain ? facts.pes : facts.workers);
}

/// Whether the open train carries messages of that selector. Its last batch may be open, and its bytes not known yet.
bool carries(const send_buffer& b, std::uint16_t selector) noexcept {
  if (b.open == nullptr) return false;
  for (auto p = address(b.open->goods()); p < b.cursor;) {
    auto& batch = *reinterpret_cast<wire::batch_head*>(p);
    if (batch.selector == selector) return true;
    if (&batch == b.batch) return false;
    p = aligned_for_batch(address(batch.messages()) + batch.bytes);
  }
  return false;
}

}  // namespace

constinit thread_local sending_state this_threads_sending{};

outbound::outbound(const surroundings& with, const endpoint::pool_size& size, rail::train_inbox::wake_function wake,
                   void* owner, const transport::shared_place& place)
    : plain_pes_(with.facts.plain ? static_cast<unsigned>(with.facts.pes) : 0),
      facts_(with.facts),
      job_(with.job),
      selectors_(with.selectors),
      handlers_(with.handlers),
      waits_(with.waits),
      arrived_(with.arrived),
      ends_(place.inbox == nullptr ? endpoint(wake, owner, size, buffers_of(with.facts), with.credit)
                                   : endpoint(*place.inbox, place.yard, size, buffers_of(with.facts), with.credit)),
      check_(with.facts.checked, buffers_of(with.facts), with.selectors) {}

// --- batches ---

void outbound::open_batch(send_buffer& b, int to, batch_key key, std::size_t stride, int from) {
  const wire::handler& entry = entry_of(key);
  auto* batch = ::new (static_cast<void*>(bytes_at(aligned_for_batch(b.cursor)))) wire::batch_head;
  batch->handler = entry.id();
  batch->selector = selector_id_of(key);
  batch->mailbox = entry.mailbox();
  batch->flags = entry.flags();
  batch->stride = static_cast<std::uint16_t>(stride);
  batch->from = static_cast<std::uint16_t>(from);
  if (facts_.plain) batch->to = static_cast<std::uint16_t>(to);
  if (batch->mailbox != control) {
    if (facts_.routed(batch->flags)) batch->flags |= wire::routed;
    if ((key & forwarding) != 0) {
      batch->flags = static_cast<std::uint8_t>((batch->flags & ~wire::requests) | wire::forwarded);
    } else if (facts_.hops == 2 && to != facts_.index) {
      batch->flags |= wire::mixed;
    }
  }
  b.batch = batch;
  b.key = key;
  b.cursor = address(batch->messages());
}

/// What a batch knows of its messages is written now, and its selector counts them.
void outbound::close_batch(send_buffer& b, int to) {
  if (b.batch == nullptr) return;
  wire::batch_head& batch = *b.batch;
  b.batch = nullptr;
  b.key = 0;
  b.limit = address(b.open->goods()) + b.open->capacity;
  batch.bytes = static_cast<std::uint32_t>(b.cursor - address(batch.messages()));
  if (batch.stride != 0) batch.count = batch.bytes / batch.stride;
  if (b.continuations != 0) {
    pending_.close(batch.request_id, batch.count);
    b.continuations = 0;
  }
  const int to_worker = facts_.worker_of_buffer(to);
  if (facts_.networked) {
    batch.check =
        wire::head_check(batch, static_cast<std::uint16_t>(facts_.index), static_cast<std::uint16_t>(to_worker));
  }
  if (batch.mailbox == control) return;
  selector_state* const s = selectors_.find(batch.selector);
  if (s == nullptr) return;  // gone: the job has failed
  s->count_sent(batch, to_worker);
  if ((batch.flags & wire::forwarded) == 0) moved_.messages += batch.count;
  if (facts_.recorded != nullptr) [[unlikely]]
    facts_.recorded->sent(batch, &b >= ends_.outs(1) && &b < ends_.outs(1) + buffers_of(facts_));
}

void outbound::close_batches() {
  for (const std::uint8_t channel : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{2}}) {
    for (const auto to : ends_.open_destinations(channel)) close_batch(ends_.out(channel, to), static_cast<int>(to));
  }
}

// --- trains ---

bool outbound::open_train(std::uint8_t channel, int to) {
  if (!ends_.open(channel, static_cast<std::size_t>(to), facts_.worker_of_buffer(to) == facts_.index)) return false;
  ends_.out(channel, static_cast<std::size_t>(to)).begin_train();
  return true;
}

void outbound::depart(std::uint8_t channel, int to) {
  send_buffer& b = ends_.out(channel, static_cast<std::size_t>(to));
  close_batch(b, to);
  const std::uint32_t bytes = b.bytes();
  const int to_worker = facts_.worker_of_buffer(to);
  rail::train& t = ends_.take_open(channel, static_cast<std::size_t>(to));
  t.head.bytes = bytes;
  t.head.from = static_cast<std::uint16_t>(facts_.index);
  t.head.to = static_cast<std::uint16_t>(to_worker);
  ++moved_.trains;
  moved_.bytes += bytes;
  moved_.train_capacity += t.capacity;
  if (to_worker == facts_.index) {
    arrived_[channel].push_back(t);
  } else {
    if (job_.deliver(t, to_worker)) moved_.network_bytes += bytes;
  }
}

bool outbound::flush() {
  const bool programs = flush(0);
  const bool handlers = flush(1);
  const bool between_workers = flush(2);
  return programs || handlers || between_workers;
}

// --- room for a message ---

/// One step towards room: opens a train, or a batch in the open train, or lets the train depart.
[[gnu::always_inline]] inline void outbound::make_room_once(std::uint8_t channel, int to, batch_key key,
                                                            std::size_t message_bytes, std::size_t stride,
                                                            std::size_t kept_bytes, int from) {
  send_buffer& b = ends_.out(channel, static_cast<std::size_t>(to));
  const bool asks = kept_bytes != 0;
  if (b.open == nullptr) {
    // A request needs a train to travel in and one for its continuations. Taken one by one, the last train would stand
    // open without continuations, depart with nothing in it, come home, and stand open again.
    const std::size_t trains = asks ? 2 : 1;
    if (channel == 0 && !pool().has(0, trains)) {
      ends_.wait_for_trains(0, trains, asks ? "ask" : "send");
    } else if (!open_train(channel, to)) {
      if (channel == 1) refuse_budget(from, handlers_.entry(), pool(), facts_.budget);
      ends_.wait_for_trains(0, trains, "send");
    }
    return;
  }
  if (b.key != key || asks) {
    close_batch(b, to);
    if (b.fits_batch(message_bytes)) {
      if (asks && channel == 0 && !pool().has(0)) return ends_.wait_for_trains(0, 1, "ask");
      open_batch(b, to, key, stride, from);
      if (asks && !keep_continuations(b, channel, key, stride, kept_bytes))
        refuse_budget(from, handlers_.entry(), pool(), facts_.budget);
      return;
    }
  }
  depart(channel, to);
  if (channel == 0) {
    waits_.progress();
    waits_.leave_if_failed();
  }
}

bool outbound::make_room(int to, batch_key key, std::size_t message_bytes, std::size_t stride, std::size_t kept_bytes,
                         int from, const std::source_location& where) {
  check_mailbox(key, from, where);
  if (message_bytes + sizeof(wire::batch_head) > pool().capacity() || stride > 0xffff ||
      kept_bytes > pool().capacity()) {
    refuse_length(from, std::max(message_bytes, kept_bytes), pool().capacity(), key, where);
  }
  const std::uint8_t channel = handlers_.channel();
  send_buffer& b = ends_.out(channel, static_cast<std::size_t>(to));
  const bool lent = channel == 0 && !is_own(from);  // what a handler sends, or sends on, is this worker's
  const auto make = [&] {
    // Whatever lets other code run (progress, waiting) may change the buffer, so each turn looks afresh.
    for (; !b.takes(key, message_bytes); make_room_once(channel, to, key, message_bytes, stride, kept_bytes, from)) {
      if (lent && !lent_buffers::lends(*this, key)) {
        ends_.pass_on_credit();
        return false;
      }
    }
    return true;
  };
  if (!facts_.explored) [[likely]]
    return make();
  // Each message is a step, and has a batch of its own.
  sched::this_fiber::interleave();
  const bool made = make();
  b.limit = b.cursor + message_bytes;
  return made;
}

/// Gives the batch just opened its place for continuations, and ends the batch where that will be full.
bool outbound::keep_continuations(send_buffer& b, std::uint8_t channel, batch_key key, std::size_t stride,
                                  std::size_t kept_bytes) {
  rail::train* const t = ends_.pool().take(channel, true);
  if (t == nullptr) return false;
  b.batch->request_id = pending_.open(*t, entry_of(key).replies(), selector_id_of(key));
  b.continuations = address(t->goods());
  b.limit = std::min(b.limit, b.cursor + t->capacity / kept_bytes * stride);
  return true;
}

void outbound::open_replies(int to, batch_key key, std::size_t bytes, std::uint32_t request_id, std::uint32_t first) {
  if (bytes + sizeof(wire::batch_head) > pool().capacity() || bytes > 0xffff) {
    refuse_length(handlers_.pe(), bytes, pool().capacity(), key, std::source_location::current());
  }
  send_buffer& b = ends_.out(1, static_cast<std::size_t>(to));
  if (b.open != nullptr && !b.fits_batch(bytes)) depart(1, to);
  if (b.open == nullptr && !open_train(1, to)) refuse_budget(handlers_.pe(), handlers_.entry(), pool(), facts_.budget);
  close_batch(b, to);
  open_batch(b, to, key, bytes, handlers_.pe());
  b.batch->request_id = request_id;
  b.batch->first = first;
}

// --- messages whose length is known only now ---

void outbound::send_span_without_room(int from, int to, batch_key key, std::span<const std::byte> captures,
                                      std::span<const std::byte> payload, const std::source_location& where) {
  outbound& here = lent_buffers::of_thread(from, where);
  const sched::this_fiber::stay on_this_worker;
  if (here.check_.on() && !here.handlers_.any()) here.selectors_.note_message(from, key, where);
  if (!here.is_own(from)) {
    lent_buffers::finish_construction_elsewhere(here, from, key);
  } else if (!here.handlers_.any()) {
    here.selectors_.finish_construction(from);
  }
  if ((here.is_own(from) || lent_buffers::lends(here, key)) && here.load_span(from, to, key, captures, payload, where))
    return;
  const auto captured = captures.size();
  if (to < 0 || to >= here.facts_.pes) refuse_destination(from, to, here.facts_.pes, where);
  const std::size_t most = here.pool().capacity() - sizeof(wire::batch_head) - sizeof(wire::span_head);
  if (captured + payload.size() > most) {
    refuse_length(from, captured + payload.size(), here.pool().capacity(), key, where);
  }
  task_sends& sends = lent_buffers::sends_of(from);
  std::byte* const place = sends.begin_add(
      [=](std::span<const std::byte> bytes) {
        outbound& home = *this_threads_sending.owner;
        home.selectors_.finish_construction(from);
        static_cast<void>(home.load_span(from, to, key, bytes.first(captured), bytes.subspan(captured), where));
      },
      captured + payload.size());
  if (!captures.empty()) std::memcpy(place, captures.data(), captured);
  if (!payload.empty()) std::memcpy(place + captured, payload.data(), payload.size());
  sends.end_add();
}

bool outbound::load_span(int from, int to, batch_key key, std::span<const std::byte> captures,
                         std::span<const std::byte> payload, const std::source_location& where) {
  if (to < 0 || to >= facts_.pes) refuse_destination(from, to, facts_.pes, where);
  const std::size_t bytes = captures.size() + payload.size();
  const std::size_t whole = wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
  const int hop = facts_.buffer_of(to, entry_of(key).flags());
  send_buffer& b = ends_.out(handlers_.channel(), static_cast<std::size_t>(hop));
  if (!b.takes(key, whole) && !make_room(hop, key, whole, 0, 0, from, where)) return false;
  b.append_span({static_cast<std::uint16_t>(to), static_cast<std::uint16_t>(from)}, captures, payload);
  return true;
}

/// The open train that may take such a message along to a worker, if it has room. Over a network only one with messages
/// of the mark's own selector: that one has to arrive before the epoch can end, whatever else waits. Any other train
/// may stand behind trains that are deferred, and what ends the deferring would stand there, too.
send_buffer* outbound::taken_along(std::size_t at, std::uint16_t selector) noexcept {
  if (!facts_.networked) return &ends_.out(0, at);
  for (const std::uint8_t channel : {std::uint8_t{0}, std::uint8_t{1}}) {
    if (selector != 0 && carries(ends_.out(channel, at), selector)) return &ends_.out(channel, at);
  }
  return nullptr;
}

void outbound::send_control(int to_worker, batch_key key, std::span<const std::byte> captures,
                            std::span<const std::byte> payload, std::uint16_t selector) {
  const std::size_t bytes = captures.size() + payload.size();
  const std::size_t whole = wire::round_up(sizeof(wire::span_head) + bytes, wire::span_alignment);
  const int to = facts_.buffer_of_worker(to_worker);
  const auto at = static_cast<std::size_t>(to);
  // Else a train of channel 1, or over a network of a channel of their own: deferred trains take the places where
  // others could arrive, and these messages are what ends the deferring.
  // Only programs come here, and they may wait for a train: their buffers may change meanwhile.
  const std::uint8_t channel = facts_.networked ? 2 : 1;
  send_buffer* b = taken_along(at, selector);
  while (b == nullptr || b->open == nullptr || !b->fits_batch(whole)) {
    b = &ends_.out(channel, at);
    if (b->open != nullptr && !b->fits_batch(whole)) depart(channel, to);
    if (b->open == nullptr && !open_train(channel, to)) ends_.wait_for_trains(channel, 1, "finish()");
  }
  if (!b->takes(key, whole)) {
    close_batch(*b, to);
    open_batch(*b, to, key, 0, facts_.first_pe);
  }
  b->append_span(control_check(captures), captures, payload);
}

void outbound::forward(int to_worker, batch_key key, const std::byte* message, std::size_t bytes, std::uint16_t stride,
                       int from) {
  send_buffer& b = ends_.out(handlers_.channel(), static_cast<std::size_t>(to_worker));
  if (!b.takes(key, bytes)) {
    static_cast<void>(make_room(to_worker, key, bytes, stride, 0, from, std::source_location::current()));
  }
  std::memcpy(bytes_at(b.cursor), message, bytes);
  b.cursor += bytes;
  if (stride == 0) ++b.batch->count;
}

// --- refusals ---

void outbound::check_mailbox(batch_key key, int from, const std::source_location& where) const {
  const wire::handler& entry = entry_of(key);
  if ((entry.flags() & wire::replies) != 0 || (key & forwarding) != 0) return;
  const selector_state* const found = selectors_.find(selector_id_of(key));
  if (found == nullptr) refuse_gone(from, where);
  const selector_state& s = *found;
  const bool after_ending = s.end && s.end->driven && !handlers_.any() && is_own(from);
  if (s.mailboxes[entry.mailbox()].closed || after_ending) refuse_closed_mailbox(from, entry.mailbox(), s, where);
}

void outbound::refuse_send(int from, int to, std::source_location where) {
  const outbound& here = lent_buffers::of_thread(from, where);
  refuse_destination(from, to, here.facts_.pes, where);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
