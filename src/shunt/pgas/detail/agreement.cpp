#include <shunt/pgas/detail/agreement.hpp>

#include <string>

#include <shunt/pgas/detail/control_messages.hpp>
#include <shunt/pgas/detail/refusals.hpp>
#include <shunt/pgas/detail/validation.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

std::string_view collective_call::name_of(kind is) noexcept {
  switch (is) {
    case kind::barrier: return "barrier()";
    case kind::finish: return "finish()";
    case kind::quiesce: return "quiesce()";
    case kind::gather: return "gather() or broadcast()";
    case kind::reduce: return "reduce()";
    case kind::scan: return "scan()";
    case kind::end: return "the end of the program";
  }
  return "?";
}

std::string collective_call::text() const {
  return (is == kind::end ? "at " : "in ") + std::string(name()) +
         (selector == 0 ? "" : " of selector " + std::to_string(selector));
}

bool agreement::announce(std::uint64_t number, const collective_call& what) noexcept {
  if (announced_ > number || leaving_ || !out_.pool().has(2)) return false;
  announced_ = number + 1;
  ++sent_;
  out_.send_control(next(), control_key<collective_notice>(),
                    bytes_of(collective_notice{number, what.selector, what.is}));
  out_.flush();
  return true;
}

void agreement::notice_arrived(int from, std::uint64_t number, const collective_call& what, std::uint64_t here) {
  if (from != previous() || number > here + 1 || what.is > collective_call::last_kind) {
    throw damage{"collective notice: worker " + std::to_string(from) + " in call " + std::to_string(number)};
  }
  ++received_;
  if (number < neighbour_number_) return;  // trains of two channels may overtake each other
  neighbour_number_ = number + 1;
  neighbour_ = what;
}

std::optional<collective_call> agreement::other_call(std::uint64_t number, const collective_call& mine) const noexcept {
  if (neighbour_number_ != number + 1 || neighbour_ == mine) return std::nullopt;
  return neighbour_;
}

void agreement::leave() {
  leaving_ = true;
  out_.send_control(next(), control_key<leave_notice>(), bytes_of(leave_notice{sent_}));
  out_.flush();
}

void agreement::leave_notice_arrived(int from, std::uint64_t notices) {
  if (from != previous() || left_after_ != 0 || notices < received_) {
    throw damage{"leave notice: worker " + std::to_string(from) + " after " + std::to_string(notices) + " notices"};
  }
  left_after_ = notices + 1;
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
