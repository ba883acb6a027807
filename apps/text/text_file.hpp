/// A file of text that all PEs read, each a part of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace shunt::apps {

/// A file, mapped to memory: what no PE reads is not read.
class text_file {
 public:
  text_file() = default;
  /// \param option  that named the file, for errors \throws usage_error where it cannot be read
  text_file(const std::string& option, const std::string& path);
  text_file(text_file&& other) noexcept : text_(std::exchange(other.text_, {})) {}
  text_file& operator=(text_file&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~text_file();

  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Where a PE's part of a text begins, 0..pes. \return the text's size for pes
[[nodiscard]] inline std::size_t part_begin(std::size_t size, int pe, int pes) noexcept {
  const auto which = static_cast<std::size_t>(pe), parts = static_cast<std::size_t>(pes);
  return size / parts * which + std::min(which, size % parts);
}

}  // namespace shunt::apps
