#include <shunt/pgas/detail/agreement.hpp>

#include <algorithm>
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
    case kind::superstep: return "superstep()";
    case kind::quiesce: return "quiesce()";
    case kind::gather: return "gather() or broadcast()";
    case kind::reduce: return "reduce()";
    case kind::scan: return "scan()";
    case kind::ending: return "ending()";
    case kind::end: return "the end of the program";
  }
  return "?";
}

std::string collective_call::text() const {
  const std::string where = (is == kind::end ? "at " : "in ") + std::string(name());
  if (is == kind::superstep) {
    const unsigned count = selector >> mark_bits, mark = selector & ((1U << mark_bits) - 1);
    return where + " with " + std::to_string(count) + (count == most_counted ? " or more" : "") +
           " distributed object" + (count == 1 ? "" : "s") + " (set " + std::to_string(mark) + ")";
  }
  return where + (selector == 0 ? "" : " of selector " + std::to_string(selector));
}

collective_call collective_call::superstep(std::span<const ending_selector> all) noexcept {
  std::uint32_t mark = 0;
  for (const auto& each : all) {
    mark = (mark ^ each.of->id) * 0x9E3779B1U;  // 2^32 / the golden ratio: each bit of a number changes the upper ones
    mark ^= mark >> 15;                         // and so the lower ones of what is multiplied next
  }
  const auto count = std::min<std::size_t>(all.size(), most_counted);
  return {kind::superstep, static_cast<std::uint16_t>(count << mark_bits | mark >> (32 - mark_bits))};
}

bool agreement::tell(std::uint64_t number, const collective_call& what) noexcept {
  if (leaving_ || !out_.pool().has(2)) return false;
  ++sent_;
  out_.send_control(next(), control_key<collective_notice>(),
                    bytes_of(collective_notice{number, what.selector, what.is}));
  out_.flush();
  return true;
}

bool agreement::announce(std::uint64_t number, const collective_call& what) noexcept {
  if (announced_ > number || !tell(number, what)) return false;
  announced_ = number + 1;
  return true;
}

bool agreement::announce_passed() noexcept {
  bool any = false;
  for (numbered_call& p : passed_) {
    if (p.announced) continue;
    p.announced = tell(p.number, p.what);
    any |= p.announced;
  }
  return any;
}

void agreement::notice_arrived(int from, std::uint64_t number, const collective_call& what, std::uint64_t here) {
  // Calls that it may have passed and this worker has not: each the end of another selector.
  constexpr std::uint64_t most_ahead = std::uint64_t{1} << 16;
  if (from != previous() || number > here + most_ahead || what.is > collective_call::last_kind) {
    throw damage{"collective notice: worker " + std::to_string(from) + " in call " + std::to_string(number)};
  }
  ++received_;
  told_.push_back({number, what});
}

std::optional<collective_call> agreement::other_call(std::uint64_t number, const collective_call& mine) const noexcept {
  for (const numbered_call& told : told_) {
    if (told.number == number && told.what != mine) return told.what;
  }
  return std::nullopt;
}

void agreement::came_to(std::uint64_t here) {
  std::erase_if(told_, [&](const numbered_call& told) {
    return told.number < here &&
           std::none_of(
               passed_.begin(), passed_.end(), [&](const numbered_call& p) { return p.number == told.number; });
  });
}

void agreement::all_have_called(const collective_call& what) {
  std::erase_if(passed_, [&](const numbered_call& p) { return p.what == what; });
}

auto agreement::other_call_passed() const noexcept -> std::optional<two_calls> {
  for (const numbered_call& p : passed_) {
    if (const auto other = other_call(p.number, p.what)) return two_calls{p.what, *other};
  }
  return std::nullopt;
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
