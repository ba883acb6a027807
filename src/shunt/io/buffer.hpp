/// Views of memory: `const_buffer` is what a call writes, `buffer` is where a call reads to. Both are made implicitly
/// from strings, vectors, arrays and spans; a `const_buffer` from text, too.
///
/// ```cpp
/// peer.write("a\0b");                       // three bytes: a literal's final 0 is not written, others are
/// peer.write(key);                          // std::byte key[32]: all of them
/// peer.write(std::string_view(line));       // char line[80]: the text up to its first 0 ...
/// peer.write(std::span(line));              // ... or all 80 bytes. `peer.write(line)` does not compile
/// ```
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

namespace detail {
template <typename T>
concept character = std::same_as<T, char> || std::same_as<T, char8_t> || std::same_as<T, wchar_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <typename R>
concept array_of_characters = std::is_array_v<std::remove_cvref_t<R>> &&
                              character<std::remove_cv_t<std::remove_all_extents_t<std::remove_cvref_t<R>>>>;
template <typename P>
concept pointer_to_text = std::is_pointer_v<std::remove_cvref_t<P>> &&
                          std::same_as<const std::remove_pointer_t<std::remove_cvref_t<P>>, const char>;
}  // namespace detail

/// Bytes that a call writes: text, or the bytes of a range. A view: the memory is the caller's, and must stay until the
/// call returns.
class const_buffer {
 public:
  /// Text, without the final 0. \param text  of char; not null (contract).
  template <detail::pointer_to_text P>
  const_buffer(P&& text) noexcept : const_buffer(std::string_view(text)) {}
  /// A string literal, or another constant array of characters: all of it but a final 0.
  template <detail::character C, std::size_t N>
  const_buffer(const C (&text)[N]) noexcept : const_buffer(text, (text[N - 1] == C() ? N - 1 : N) * sizeof(C)) {}
  /// Not of an array of characters that can be changed: a text may end amid it, or all of its bytes may be meant. Say
  /// which: `std::string_view(array)` or `std::span(array)`.
  template <detail::character C, std::size_t N>
  const_buffer(C (&array)[N]) = delete;
  /// `count` bytes from `first` on.
  const_buffer(const void* first, std::size_t count) noexcept
      : data_(static_cast<const std::byte*>(first)), size_(count) {}
  /// The bytes of a string, vector, array or span. Of a built-in array of characters see above.
  template <byte_range R>
    requires(!std::same_as<std::remove_cvref_t<R>, const_buffer> && !detail::array_of_characters<R>)
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
