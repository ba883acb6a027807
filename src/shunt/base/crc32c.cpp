#include <shunt/base/crc32c.hpp>

#include <array>
#include <bit>
#include <cstring>

namespace shunt {
inline namespace v1 {
namespace {

constexpr std::uint32_t castagnoli = 0x82f6'3b78;  // the polynomial, its lowest power in the highest bit

/// crc_tables[k][b]: what byte b does to a checksum that has k bytes behind it.
using crc_table_set = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr crc_table_set make_crc_tables() {
  crc_table_set all{};
  for (std::uint32_t b = 0; b != 256; ++b) {
    std::uint32_t word = b;
    for (int bit = 0; bit != 8; ++bit) word = (word & 1U) != 0 ? (word >> 1U) ^ castagnoli : word >> 1U;
    all[0][b] = word;
  }
  for (std::size_t k = 1; k != all.size(); ++k) {
    for (std::size_t b = 0; b != 256; ++b) all[k][b] = (all[k - 1][b] >> 8U) ^ all[0][all[k - 1][b] & 0xffU];
  }
  return all;
}
constexpr crc_table_set crc_tables = make_crc_tables();
static_assert(crc_tables[0][1] == 0xf26b'8303);

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t crc32c_by_instruction(std::uint32_t state,
                                                              std::span<const std::byte> bytes) noexcept {
  std::uint64_t wide = state;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return detail::crc32c_by_tables(static_cast<std::uint32_t>(wide), bytes.subspan(at));
}
bool has_crc32c_instruction() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#else
std::uint32_t crc32c_by_instruction(std::uint32_t state, std::span<const std::byte> bytes) noexcept {
  return detail::crc32c_by_tables(state, bytes);
}
bool has_crc32c_instruction() noexcept { return false; }
#endif

}  // namespace

/// Eight bytes at a time, then what is left.
std::uint32_t detail::crc32c_by_tables(std::uint32_t state, std::span<const std::byte> bytes) noexcept {
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    word ^= state;
    state = 0;
    for (std::size_t k = 0; k != 8; ++k) state ^= crc_tables[7 - k][(word >> (8 * k)) & 0xffU];
  }
  for (; at != bytes.size(); ++at) {
    state = (state >> 8U) ^ crc_tables[0][(state ^ static_cast<std::uint32_t>(bytes[at])) & 0xffU];
  }
  return state;
}

void crc32c::add(std::span<const std::byte> bytes) noexcept {
  static const bool by_instruction = has_crc32c_instruction();
  state_ = by_instruction ? crc32c_by_instruction(state_, bytes) : detail::crc32c_by_tables(state_, bytes);
}

}  // namespace v1
}  // namespace shunt
