/// Bytes from one end to another: pipes, and any descriptor that is one end of something.
///
/// Of these calls a source takes one at a time, and a sink one at a time; close() any time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include <shunt/io/bytes.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/detail/transfer.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// Where bytes come from.
class source {
 public:
  source() noexcept = default;  ///< closed
  /// Takes `fd` over. \param name  for messages. \throws as descriptor.
  explicit source(int fd, std::string name = "descriptor");

  /// A fiber: waits for at least one byte. \return bytes read; 0: the end, or no room.
  /// \throws io::failure: timed_out, cancelled, closed, the system's.
  std::size_t read_some(room into, const limit& how_long = {});
  std::size_t read_some(room into, std::error_code& bad, const limit& how_long = {});

  /// A fiber: fills `into`. \throws io::end_of_stream, which says how many bytes came before; io::failure,
  /// which says so too. \return with `bad`: bytes that came.
  void read_exactly(room into, const limit& how_long = {});
  std::size_t read_exactly(room into, std::error_code& bad, const limit& how_long = {});

  /// A fiber: all up to and with `delimiter`. What comes behind it, and what came before a failure, is
  /// kept for the next read.
  /// \param most  bytes at most, the delimiter's among them; memory is bounded by it.
  /// \return empty: the end, and nothing before it. \throws io::failure: as read_some(), too_long;
  /// io::end_of_stream if bytes but no delimiter came before the end; usage_error for an empty
  /// delimiter or 0 bytes; std::bad_alloc.
  std::string read_until(std::string_view delimiter, std::size_t most, const limit& how_long = {});
  std::string read_until(std::string_view delimiter, std::size_t most, std::error_code& bad,
                         const limit& how_long = {});

  [[nodiscard]] const descriptor& base() const noexcept { return base_; }
  void close() noexcept { base_.close(); }

 private:
  descriptor base_;
  detail::rest rest_;
  std::string name_;
};

/// Where bytes go.
class sink {
 public:
  sink() noexcept = default;  ///< closed
  explicit sink(int fd, std::string name = "descriptor");

  /// A fiber: writes all of it. \throws io::failure: timed_out, cancelled, closed, the system's (EPIPE
  /// if nobody reads; no signal); moved() says how much went before. \return with `bad`: that.
  /// Cost: for what is no socket, three system calls more, to keep SIGPIPE away.
  void write(bytes what, const limit& how_long = {});
  std::size_t write(bytes what, std::error_code& bad, const limit& how_long = {});

  [[nodiscard]] const descriptor& base() const noexcept { return base_; }
  void close() noexcept { base_.close(); }

 private:
  descriptor base_;
  detail::sends_as how_ = detail::sends_as::file;
  std::string name_;
};

struct pipe_ends {
  source out;  ///< what was written comes out here
  sink in;
};

/// Any thread. \throws io::failure if the system has no descriptors left.
[[nodiscard]] pipe_ends pipe();

}  // namespace io
}  // namespace v1
}  // namespace shunt
