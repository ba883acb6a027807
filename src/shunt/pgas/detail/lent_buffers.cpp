#include <shunt/pgas/detail/lent_buffers.hpp>

#include <cstring>
#include <utility>

#include <shunt/pgas/detail/outbound.hpp>
#include <shunt/pgas/detail/refusals.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

outbound& lent_buffers::of_thread(int from, const std::source_location& where) {
  outbound* const here = this_threads_sending.owner;
  if (here == nullptr || (!here->is_own(from) && here->job_.sends_of(from) == nullptr)) refuse_thread(from, where);
  return *here;
}

task_sends& lent_buffers::sends_of(int pe) { return *this_threads_sending.owner->job_.sends_of(pe); }

bool lent_buffers::is_task_of(int pe, const std::source_location& where) { return !of_thread(pe, where).is_own(pe); }

bool lent_buffers::lends(const outbound& here, batch_key key) noexcept {
  const wire::handler& entry = entry_of(key);
  if ((entry.flags() & wire::requests) != 0) return false;
  // Over a network a plain batch is refused that names a PE of another worker than the one that sends it.
  if (here.facts_.networked && here.facts_.plain) return false;
  const selector_state* const s = here.selectors_.find(selector_id_of(key));
  return s != nullptr && s->built == here.facts_.pes_here && !s->between && !s->mailboxes[entry.mailbox()].closed;
}

void lent_buffers::finish_construction_elsewhere(outbound& here, int pe, batch_key key) {
  selector_state* const s = here.selectors_.find(selector_id_of(key));
  if (s == nullptr) return;  // the message is handed over: that does it
  if (s->sent_for.empty()) s->sent_for.resize(static_cast<std::size_t>(here.facts_.pes));
  const auto index = static_cast<std::size_t>(pe);
  if (s->sent_for[index]) return;
  // All of its objects: a message that waits for one keeps its train, and the PE's program may wait for its tasks. In a
  // fiber of its own: sends that were handed over before may wait for just such trains.
  here.job_.spawn_on(sends_of(pe).local(), "objects of tasks",
                     [pe] { this_threads_sending.owner->selectors_.finish_construction(pe); });
  s->sent_for[index] = true;
}

std::byte* lent_buffers::make_room(int hop, const handed_message& m) {
  outbound& here = of_thread(m.from, m.where);
  if (here.check_.on()) [[unlikely]]
    return here.check_.place_for(hop, m);
  return find_room(here, hop, m);
}

std::byte* lent_buffers::find_room(outbound& here, int hop, const handed_message& m) {
  const sched::this_fiber::stay on_this_worker;  // a fiber that migrates goes on where it has looked for room
  if (here.is_own(m.from)) {
    if (!here.handlers_.any()) here.selectors_.finish_construction(m.from);
    static_cast<void>(here.make_room(hop, m.key, m.bytes, m.bytes, m.kept_bytes, m.from, m.where));
    return nullptr;
  }
  finish_construction_elsewhere(here, m.from, m.key);
  if (lends(here, m.key) && here.make_room(hop, m.key, m.bytes, m.bytes, m.kept_bytes, m.from, m.where)) return nullptr;
  return sends_of(m.from).begin_add([m](std::span<const std::byte> message) { m.send(message); }, m.whole());
}

void lent_buffers::handed_over(int from) {
  outbound& here = *this_threads_sending.owner;
  if (here.check_.on()) [[unlikely]]
    return send_checked(here);
  sends_of(from).end_add();
}

std::byte* lent_buffers::to_be_looked_at() noexcept {
  const outbound& here = *this_threads_sending.owner;
  return here.check_.on() ? here.check_.built() : nullptr;
}

/// The message has been built: looks at it, then sends it as if there were no check.
void lent_buffers::send_checked(outbound& here) {
  auto m = here.check_.take();
  here.check_.look_at(m);
  if (std::byte* const elsewhere = find_room(here, m.hop, m.what)) {
    std::memcpy(elsewhere, m.bytes.data(), m.bytes.size());
    sends_of(m.what.from).end_add();
  } else {
    m.what.load_into(here.ends_.out(here.handlers_.channel(), static_cast<std::size_t>(m.hop)), m.bytes);
    if (!here.handlers_.any()) here.selectors_.note_message(m.what.from, m.what.key, m.what.where);
  }
  here.check_.give(std::move(m));
}

void handed_message::send(std::span<const std::byte> message) const {
  outbound& here = *this_threads_sending.owner;
  here.selectors_.finish_construction(from);
  const int hop = here.facts_.buffer_of(to, entry_of(key).flags());
  send_buffer& b = here.ends_.out(here.handlers_.channel(), static_cast<std::size_t>(hop));
  if (!b.takes(key, bytes)) static_cast<void>(here.make_room(hop, key, bytes, bytes, kept_bytes, from, where));
  load_into(b, message);
}

void handed_message::load_into(send_buffer& b, std::span<const std::byte> message) const noexcept {
  std::memcpy(bytes_at(b.cursor), message.data(), bytes);
  b.cursor += bytes;
  if (kept_bytes == 0) return;
  std::memcpy(bytes_at(b.continuations), message.data() + kept_at(bytes), kept_bytes);
  b.continuations += kept_bytes;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
