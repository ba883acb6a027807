/// A counter to which concurrent transactions add without conflicts.
#pragma once

#include <cstdint>
#include <shunt/stm/atomically.hpp>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
inline constinit transaction_class class_of_tcounters{"tcounter"};
}

/// Any thread or fiber. Additions do not conflict with each other (tx::commute()); a transaction that reads the value
/// conflicts with all additions. Sums are modulo 2^64, in two's complement.
class tcounter {
 public:
  /// \param value  that it begins with.
  explicit tcounter(std::int64_t value = 0) : sum_(value) {}

  /// \param amount  negative: subtracts.
  void add(tx& t, std::int64_t amount = 1) {
    t.commute(sum_, [amount](std::int64_t now) { return plus(now, amount); });
  }
  /// The same as a transaction of its own.
  void add(std::int64_t amount = 1) {
    atomically(kind, [&](tx& t) { add(t, amount); });
  }

  /// The sum. Conflicts with every addition.
  [[nodiscard]] std::int64_t value(tx& t) const { return t.read(sum_); }
  /// The same outside of transactions: one load.
  [[nodiscard]] std::int64_t value() const { return sum_.load(); }

 private:
  static constexpr const auto& kind = detail::class_of_tcounters;

  static std::int64_t plus(std::int64_t a, std::int64_t b) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }

  tvar<std::int64_t> sum_;
};

}  // namespace stm

using stm::tcounter;

}  // namespace v1
}  // namespace shunt
