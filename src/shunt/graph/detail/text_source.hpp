/// Whole lines of text from a file, plain or gzip, in large blocks.
///
///   | lines that block() returned | start of a line, kept |        room         |
///   ^ buffer_                     ^ tail_                 ^ end_                ^ block_bytes
///
/// Invariants
///   X1  A block is never cut within a line, and its last byte is '\n': a parser needs no other
///       check for the end of what it may read.
///   X2  Bytes that precede a fault of the file are handed out before the fault is thrown, so that
///       the line in the message is where the good text ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shunt/graph/detail/gzip_stream.hpp>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {

/// Throws usage_error "path:line: found FOUND, expected EXPECTED".
[[noreturn]] void fail(const std::string& path, std::uint64_t line, const std::string& found,
                       const std::string& expected);

class text_source {
 public:
  /// \param block_bytes  the most that a block holds, and so the longest line that can be read; at least 16.
  /// \throws usage_error when the file cannot be opened, is a directory, is empty, or is compressed
  /// with something else than gzip, or with gzip where the library was built without zlib.
  text_source(const std::string& path, std::size_t block_bytes);
  text_source(const text_source&) = delete;
  text_source& operator=(const text_source&) = delete;

  /// The next lines (X1), valid until the next call; empty at the end of the file and ever after.
  /// \param line  the number of the line that the block will start with, for messages.
  /// \throws usage_error when gzip data are cut off or corrupt, or a line is longer than a block;
  /// error when the system cannot read on.
  [[nodiscard]] std::string_view block(std::uint64_t line);

  /// Bytes of the file that have been read, and its size (0 when unknown).
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

 private:
  /// What read(2) gives, 0 at the end of the file.
  std::size_t raw(char* to, std::size_t room);
  /// Text: 0 only at its end, else 1..room bytes.
  std::size_t text(char* to, std::size_t room, std::uint64_t line);
  std::size_t inflated(char* to, std::size_t room, std::uint64_t line);

  struct descriptor {
    int fd = -1;
    ~descriptor();
  };

  std::string path_;
  descriptor file_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;

  std::unique_ptr<char[]> input_;  ///< as on disk; of plain text, only the first look
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;

  std::optional<gzip_stream> gzip_;  ///< of a compressed file
  bool in_member_ = false;           ///< a gzip member has begun and not ended
  bool padded_ = false;              ///< zeros were seen after a member: only zeros may follow
  std::string fault_;                ///< what gzip_stream complained about, to be thrown by the next call (X2)

  std::size_t block_bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t tail_ = 0;
  std::size_t end_ = 0;
};

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
