/// CRC-32C: a checksum of bytes that are kept, such as files. It finds every error of up to 32 bits in a row, and any
/// other one but for one in 4 billion. No protection against intent.
///
/// Source: Castagnoli, Braeuer, Herrmann, IEEE Trans. Comm. 41 (1993), doi:10.1109/26.231911; eight bytes at a time
/// after Kounavis, Berry, IEEE Trans. Comp. 57 (2008), doi:10.1109/TC.2008.85.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shunt {
inline namespace v1 {

namespace detail {
/// crc32c::add() where the processor has no instruction for it. \return the state behind the bytes
[[nodiscard]] std::uint32_t crc32c_by_tables(std::uint32_t state, std::span<const std::byte> bytes) noexcept;
}  // namespace detail

/// The checksum of bytes that come one piece after the other: of "123456789" it is 0xe3069283.
class crc32c {
 public:
  /// One thread at a time. More bytes. By the processor's instruction (SSE 4.2), where it has one.
  void add(std::span<const std::byte> bytes) noexcept;
  /// Of all bytes so far.
  [[nodiscard]] std::uint32_t value() const noexcept { return ~state_; }
  /// Of these bytes alone.
  [[nodiscard]] static std::uint32_t of(std::span<const std::byte> bytes) noexcept {
    crc32c one;
    one.add(bytes);
    return one.value();
  }

 private:
  std::uint32_t state_ = 0xffff'ffff;
};

}  // namespace v1
}  // namespace shunt
