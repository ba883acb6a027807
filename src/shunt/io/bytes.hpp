/// Views of memory: what is written, and where is read to. Both are made of what programs have.
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

/// Contiguous values that are their bytes.
template <typename R>
concept byte_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     std::is_trivially_copyable_v<std::ranges::range_value_t<R>>;

/// What is written: text, or the bytes of a range. A view: the memory is the caller's, and must stay
/// until the call returns.
class bytes {
 public:
  bytes(const char* text) noexcept : bytes(std::string_view(text)) {}  ///< without the final 0
  bytes(const void* first, std::size_t count) noexcept : data_(static_cast<const std::byte*>(first)), size_(count) {}
  template <byte_range R>
    requires(!std::same_as<std::remove_cvref_t<R>, bytes> && !std::is_array_v<std::remove_reference_t<R>>)
  bytes(R&& range) noexcept
      : bytes(std::ranges::data(range), std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)) {}

  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// What is left behind the first `count` bytes, 0..size().
  [[nodiscard]] bytes from(std::size_t count) const noexcept { return {data_ + count, size_ - count}; }

 private:
  const std::byte* data_;
  std::size_t size_;
};

/// Where is read to. A view, as bytes.
class room {
 public:
  room(void* first, std::size_t count) noexcept : data_(static_cast<std::byte*>(first)), size_(count) {}
  template <byte_range R>
    requires(!std::same_as<std::remove_cvref_t<R>, room> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  room(R&& range) noexcept
      : room(std::ranges::data(range), std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)) {}

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] room from(std::size_t count) const noexcept { return {data_ + count, size_ - count}; }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
