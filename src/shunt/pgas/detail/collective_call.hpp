/// What a collective call is, so that a program whose PEs disagree is told so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {

struct ending_selector;

/// All PEs of the job make the same collective calls in the same order. The end of a PE's program is one of them: a PE
/// that has ended is in no other call.
struct collective_call {
  enum class kind : std::uint8_t { barrier, finish, superstep, quiesce, gather, reduce, scan, ending, end };
  static constexpr kind last_kind = kind::end;

  kind is{};
  std::uint16_t selector = 0;  // concerned; 0: none. Of superstep: stands for all, as superstep() says

  friend bool operator==(const collective_call&, const collective_call&) = default;

  /// "barrier()"; static text.
  [[nodiscard]] static std::string_view name_of(kind is) noexcept;
  [[nodiscard]] std::string_view name() const noexcept { return name_of(is); }
  /// Where a PE is that has made this call: "in barrier()", "at the end of the program".
  [[nodiscard]] std::string text() const;

  /// The end of a superstep, of selectors with these numbers: it differs where their numbers do, or nearly always.
  [[nodiscard]] static collective_call superstep(std::span<const ending_selector> all) noexcept;

 private:
  static constexpr unsigned mark_bits = 10;  // of `selector`, of the numbers; the others are how many they are
  static constexpr unsigned most_counted = (1U << (16 - mark_bits)) - 1;  // this many, or more
};

/// A number for the calls that a worker has completed, in their order.
class call_history {
 public:
  void add(const collective_call& what) noexcept {
    const auto word = static_cast<std::uint32_t>(what.is) << 16 | what.selector;
    sum_ = (sum_ ^ word) * 0x01000193u;  // FNV-1a, by words
  }
  [[nodiscard]] std::uint32_t sum() const noexcept { return sum_; }

 private:
  std::uint32_t sum_ = 0x811c9dc5u;
};

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
