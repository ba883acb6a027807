#include <shunt/pgas/detail/control_messages.hpp>

#include <cstring>
#include <string>

#include <shunt/pgas/detail/pe_worker.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

/// Calls take(worker, captures, payload, sender) for every message of a batch.
template <class Captures, auto Take>
void unload_control(void* what) {
  auto& a = *static_cast<arrival*>(what);
  for (std::byte* p = a.first; p != a.last;) {
    const auto* head = reinterpret_cast<const wire::span_head*>(p);
    const std::byte* body = p + sizeof(wire::span_head);
    Captures c;
    std::memcpy(&c, body, sizeof c);
    Take(*a.at, c, std::span<const std::byte>(body + sizeof c, head->bytes - sizeof c), a.from_worker);
    p += wire::round_up(sizeof(wire::span_head) + head->bytes, wire::span_alignment);
  }
}

using payload = std::span<const std::byte>;

constexpr auto take_end_mark = [](pe_worker& w, const end_mark& m, payload, int) {
  w.ending.check(m);
  w.ending.mark_arrived(m);
};
constexpr auto take_token = [](pe_worker& w, const barrier_token& t, payload, int from) {
  w.collective.token_arrived(from, t);
};
constexpr auto take_notice = [](pe_worker& w, const collective_notice& n, payload, int from) {
  w.collective.notice_arrived(from, n.number, {n.kind, n.selector});
};
constexpr auto take_leave = [](pe_worker& w, const leave_notice& n, payload, int from) {
  w.collective.leave_notice_arrived(from, n.notices);
};
constexpr auto take_piece = [](pe_worker& w, const gather_piece& b, payload bytes, int from) {
  if (b.from != from || b.down > 1) throw damage{"collective: a piece of worker " + std::to_string(b.from)};
  w.collective.piece_arrived(b, bytes);
};

template <class Captures>
constexpr auto layout = wire::message_layout::varying_after<Captures>();

const wire::handler end_marks(typeid(end_mark), "end mark", unload_control<end_mark, take_end_mark>, control,
                              wire::varying, layout<end_mark>);
const wire::handler tokens(typeid(barrier_token), "barrier", unload_control<barrier_token, take_token>, control,
                           wire::varying, layout<barrier_token>);
const wire::handler notices(typeid(collective_notice), "collective notice",
                            unload_control<collective_notice, take_notice>, control, wire::varying,
                            layout<collective_notice>);
const wire::handler leaves(typeid(leave_notice), "leave notice", unload_control<leave_notice, take_leave>, control,
                           wire::varying, layout<leave_notice>);
const wire::handler pieces(typeid(gather_piece), "collective", unload_control<gather_piece, take_piece>, control,
                           wire::varying, layout<gather_piece>);

}  // namespace

template <>
batch_key control_key<end_mark>() noexcept {
  return key_of(end_marks, 0);
}
template <>
batch_key control_key<barrier_token>() noexcept {
  return key_of(tokens, 0);
}
template <>
batch_key control_key<collective_notice>() noexcept {
  return key_of(notices, 0);
}
template <>
batch_key control_key<leave_notice>() noexcept {
  return key_of(leaves, 0);
}
template <>
batch_key control_key<gather_piece>() noexcept {
  return key_of(pieces, 0);
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
