/// Views of memory: `const_buffer` is what a call writes, `buffer` is where a call reads to. Both are made implicitly
/// from strings, vectors, std::arrays and spans; a `const_buffer` from text, too, and a `buffer` from a built-in array.
#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace shunt {
inline namespace v1 {
namespace io {

/// A contiguous range of values that are their bytes.
template <typename R>
concept byte_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;

/// Bytes that a call writes: text, or the bytes of a range. A view: the memory is the caller's, and must stay until the
/// call returns.
class const_buffer {
 public:
  const_buffer(const char* text) noexcept : const_buffer(std::string_view(text)) {}  ///< without the final 0
  /// `count` bytes from `first` on.
  const_buffer(const void* first, std::size_t count) noexcept
      : data_(static_cast<const std::byte*>(first)), size_(count) {}
  /// The bytes of a string, vector, std::array or span. Not of a built-in array: one of `char` is text up to its first
  /// 0; for any other, give a std::span.
  template <byte_range R>
    requires(!std::same_as<std::remove_cvref_t<R>, const_buffer> && !std::is_array_v<std::remove_reference_t<R>>)
  const_buffer(R&& range) noexcept
      : const_buffer(std::ranges::data(range), std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)) {}

  [[nodiscard]] const std::byte* data() const noexcept { return data_; }  ///< the first one
  [[nodiscard]] std::size_t size() const noexcept { return size_; }       ///< bytes
  /// The part behind the first `count` bytes, 0..size().
  [[nodiscard]] const_buffer from(std::size_t count) const noexcept { return {data_ + count, size_ - count}; }

 private:
  const std::byte* data_;
  std::size_t size_;
};

/// Memory that a call reads into. A view, like const_buffer.
class buffer {
 public:
  /// `count` bytes from `first` on.
  buffer(void* first, std::size_t count) noexcept : data_(static_cast<std::byte*>(first)), size_(count) {}
  /// The bytes of a string, vector, array or span whose items are not const: size() items, whatever the capacity.
  template <byte_range R>
    requires(!std::same_as<std::remove_cvref_t<R>, buffer> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  buffer(R&& range) noexcept
      : buffer(std::ranges::data(range), std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)) {}

  [[nodiscard]] std::byte* data() const noexcept { return data_; }   ///< the first byte
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< bytes
  /// The part behind the first `count` bytes, 0..size().
  [[nodiscard]] buffer from(std::size_t count) const noexcept { return {data_ + count, size_ - count}; }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
