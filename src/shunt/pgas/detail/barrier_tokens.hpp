/// The tokens of one round of a dissemination barrier, from the one pe_worker that sends them there.
///
/// Barriers are numbered from 1. The sender may be one ahead: it is in barrier n+1 when this pe_worker is still in n.
/// And its tokens may overtake each other: two workers of a process may hand over what they found in either order. So a
/// token tells its number, and the highest number heard decides:
///
///   heard     this pe_worker, in barrier n
///   below n   waits
///   n         goes on; the token's kind is what the sender called
///   n+1       goes on: the sender has left barrier n, which no worker leaves before all are in it
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

template <class Kind>
class barrier_tokens {
 public:
  void arrived(std::uint64_t number, Kind kind) noexcept {
    auto& place = last_[number % 2];
    if (number > place.number) place = {number, kind};
  }
  /// Whether the pe_worker that is in barrier `number` may leave this round.
  [[nodiscard]] bool reached(std::uint64_t number) const noexcept {
    return std::max(last_[0].number, last_[1].number) >= number;
  }
  /// What the sender called `number`; nothing if that token is still under way, or overtaken.
  [[nodiscard]] std::optional<Kind> kind_of(std::uint64_t number) const noexcept {
    const auto& place = last_[number % 2];
    return place.number == number ? std::optional<Kind>(place.kind) : std::nullopt;
  }

 private:
  struct token {
    std::uint64_t number = 0;
    Kind kind{};
  };
  token last_[2];  // by number % 2
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
