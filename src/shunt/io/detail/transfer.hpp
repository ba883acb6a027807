/// Bytes into and out of a descriptor: the part that streams and pipes have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <shunt/io/buffer.hpp>
#include <shunt/io/detail/descriptor_state.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace detail {

/// Bytes that were read and not yet asked for: those behind a delimiter. It holds no more bytes than the largest `most`
/// that read_until() was given.
class read_buffer {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return std::string_view(bytes_).substr(begin_); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  /// Removes the first `count` bytes, which went to the caller.
  void consume(std::size_t count) noexcept {
    begin_ += count;
    if (begin_ < bytes_.size()) return;
    bytes_.clear();
    begin_ = 0;
  }
  /// Removes and returns the first `count` bytes. \throws std::bad_alloc; then they stay.
  [[nodiscard]] std::string take(std::size_t count) {
    std::string first(view().substr(0, count));
    consume(count);
    return first;
  }
  /// Space for `more` bytes at the end; trim() follows. \throws std::bad_alloc
  [[nodiscard]] char* prepare(std::size_t more) {
    if (begin_ != 0) {
      bytes_.erase(0, begin_);
      begin_ = 0;
    }
    const auto size = bytes_.size();
    bytes_.resize(size + more);
    return bytes_.data() + size;
  }
  /// Removes the part of prepare()'s space that was not filled.
  void trim(std::size_t unused) noexcept { bytes_.resize(bytes_.size() - unused); }
  /// Frees the memory that the bytes do not need, so that a connection that waits holds none to spare.
  void shrink() noexcept { bytes_.shrink_to_fit(); }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

/// How bytes are written without SIGPIPE: send(2) has a flag for that; for write(2) the thread blocks the signal.
enum class write_call : bool { write, send };

// The first three: one fiber at a time.
[[nodiscard]] outcome read_some(descriptor_state* on, read_buffer& buffered, buffer into, const deadline& until);
/// moved < into.size(): `ec` says why.
[[nodiscard]] outcome read_exactly(descriptor_state* on, read_buffer& buffered, buffer into, const deadline& until);
/// moved: bytes in `buffered` up to and with the delimiter; 0 without `ec`: the end of the stream. With `ec`: bytes
/// that stay in `buffered`. \throws usage_error for an empty delimiter, or 0 bytes; std::bad_alloc.
[[nodiscard]] outcome read_until(descriptor_state* on, read_buffer& buffered, std::string_view delimiter,
                                 std::size_t most, const deadline& until);
/// \throws usage_error for an empty delimiter, or 0 bytes.
void require_delimiter(std::string_view delimiter, std::size_t most, const deadline& until);
[[nodiscard]] outcome write_all(descriptor_state* on, write_call how, const_buffer what, const deadline& until);

// For sockets, inlined: see descriptor_state::receive().
[[nodiscard, gnu::always_inline]] inline outcome receive_some(descriptor_state* on, read_buffer& buffered, buffer into,
                                                              const deadline& until) {
  if (!buffered.empty() || into.size() == 0) [[unlikely]]
    return read_some(on, buffered, into, until);
  sched::this_fiber::require_wait(until.call("read"));
  if (on == nullptr) [[unlikely]]
    return {0, errc::closed};
  return on->receive(into.data(), into.size(), until);
}
[[nodiscard, gnu::always_inline]] inline outcome send_all(descriptor_state* on, const_buffer what,
                                                          const deadline& until) {
  std::size_t sent = 0;
  if (what.size() == 0) [[unlikely]]
    return {};
  sched::this_fiber::require_wait(until.call("write"));
  if (on == nullptr) [[unlikely]]
    return {0, errc::closed};
  do {
    const auto one = on->send(what.data() + sent, what.size() - sent, until);
    if (one.ec) [[unlikely]]
      return {sent, one.ec};
    sent += one.moved;
  } while (sent < what.size());
  return {sent, {}};
}

/// Throws io_error or end_of_stream. \param what  the operation, and on what.
[[noreturn, gnu::cold]] void raise(const std::string& what, const outcome& of, const std::source_location& where);

}  // namespace detail
}  // namespace io
}  // namespace v1
}  // namespace shunt
