/// How a thread accounts for the time of its transactions.
///
/// Looking at the clock costs more than a small transaction. So a thread looks once in `every_` transactions, and
/// adapts that number until the looks are 20 to 50 us apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class time_slice {
 public:
  struct measure {
    std::int64_t elapsed_ns;  ///< since the last look
    std::int64_t used_ns;     ///< of that, what counts: time without the CPU does not
    std::uint64_t count;      ///< transactions since the last look, nearly
  };
  /// \param number  the thread's, as participant.
  measure look(std::int64_t now_ns, std::uint64_t number) noexcept {
    const auto elapsed = now_ns - last_look_;
    last_look_ = now_ns;
    const auto count = (number - std::exchange(looked_at_, number)) / 2;
    if (elapsed > apart_at_most) {
      every_ = std::max(std::int64_t{1}, every_ * apart_at_most / elapsed);
    } else if (elapsed < apart_at_least) {
      every_ = std::min(every_at_most, 2 * every_);
    }
    return {elapsed, std::min(elapsed, apart_at_most), count};
  }
  /// The number that the thread will have at its next look.
  [[nodiscard]] std::uint64_t next_look(std::uint64_t number) const noexcept {
    return number + 2 * static_cast<std::uint64_t>(every_);
  }

  /// The present fiber's turn. \param used_ns  of that turn, already.
  void begin_turn(std::int64_t now_ns, std::uint64_t number, std::int64_t used_ns = 0) noexcept {
    last_look_ = now_ns;
    looked_at_ = number;
    turn_used_ = used_ns;
  }
  void use(std::int64_t ns) noexcept { turn_used_ += ns; }
  [[nodiscard]] std::int64_t turn_used_ns() const noexcept { return turn_used_; }

 private:
  static constexpr std::int64_t apart_at_least = 20'000;  // ns
  static constexpr std::int64_t apart_at_most = 50'000;   // ns
  static constexpr std::int64_t every_at_most = 512;

  std::int64_t every_ = 1;       // transactions
  std::int64_t last_look_ = 0;   // ns
  std::uint64_t looked_at_ = 0;  // the number at the last look
  std::int64_t turn_used_ = 0;   // ns, by the present fiber
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
