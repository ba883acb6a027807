/// What the functions of shmem.h call: by the size of an element, not by its type, so that a program that includes
/// shmem.h compiles little.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <type_traits>

#include <shunt/pgas/openshmem/world.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace openshmem {

/// What is done to an element.
enum class operation : std::uint8_t {
  put,      ///< it becomes the operand
  add,      ///< the operand is added, modulo its range
  bit_and,  ///< and
  bit_or,   ///< or
  bit_xor,  ///< exclusive or
};

/// The bits of a number of at most eight bytes.
template <class T>
[[nodiscard]] std::uint64_t bits_of(const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
/// The number that has these bits.
template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
static_assert(std::endian::native == std::endian::little, "the low bytes of the bits are the number's");

/// Of integers modulo their range, as reductions have it.
template <class T>
[[nodiscard]] constexpr T sum_of(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
/// The same.
template <class T>
[[nodiscard]] constexpr T product_of(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
static_assert(sum_of(std::numeric_limits<int>::max(), 1) == std::numeric_limits<int>::min());
static_assert(product_of(std::numeric_limits<long>::max(), 2L) == -2);
static_assert(product_of<unsigned short>(0xFFFF, 0xFFFF) == 1, "of two ints it would be none");

/// One-sided. Changes an element of 1, 2, 4 or 8 bytes, some time before quiet() or a barrier returns.
void change(void* at, std::size_t bytes, operation what, std::uint64_t operand, int pe);
/// One-sided. The same, now. \return what the element was before
std::uint64_t fetch_change(void* at, std::size_t bytes, operation what, std::uint64_t operand, int pe);
/// One-sided, now. If the element is `expected`, it becomes `operand`. \return what it was before
std::uint64_t compare_swap(void* at, std::size_t bytes, std::uint64_t expected, std::uint64_t operand, int pe);
/// One-sided, now. \return an element's bits
std::uint64_t fetch(const void* at, std::size_t bytes, int pe);

/// Collective. `to` becomes what combine(), called for the PEs' items in order, makes of `from`.
/// \param combine  of the items of two PEs, in pieces: into, from, how many
void reduce(void* to, const void* from, std::size_t count, std::size_t bytes,
            void (*combine)(void* into, const void* from, std::size_t count));
/// Collective. The bytes of PE `root` come to every PE. \param also_there  `to` of the root itself is written, too
void broadcast(void* to, const void* from, std::size_t bytes, int root, bool also_there);
/// Collective. The bytes of all PEs, one PE's after the other; they may differ in number.
void collect(void* to, const void* from, std::size_t bytes);
/// Collective. `bytes` of each PE go to each PE.
void all_to_all(void* to, const void* from, std::size_t bytes);
/// \throws usage_error unless the PEs named are all of them
void require_all_pes(int start, int log_stride, int count);

/// Waits until it has a lock, which lies at PE 0.
void lock(long* word);
/// \return whether it has the lock now
[[nodiscard]] bool try_lock(long* word);
/// What was changed under the lock is done; another PE may have it.
void unlock(long* word);

/// Ends the process, and with it, by its launcher, the job.
[[noreturn]] void end_job(int status);
/// Collective. The end of the program's use of OpenSHMEM: other PEs need no answers any more.
void finalize();

}  // namespace openshmem
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
