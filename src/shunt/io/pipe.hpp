/// Bytes from one end to another: pipes, and any other descriptor that is one end of a connection.
///
/// A source takes one call at a time, and so does a sink. Any thread calls close(), at any time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include <shunt/io/buffer.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/detail/transfer.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The end that bytes are read from.
class source {
 public:
  source() noexcept = default;  ///< closed
  /// Takes `fd` over. \param name  in messages: "read_some from NAME". \throws as descriptor(fd).
  explicit source(int fd, std::string name = "descriptor");

  /// A fiber: waits for at least one byte. \return bytes read; 0: the end, or `into` is empty.
  /// \throws io_error: timed_out, cancelled, closed, the system's.
  std::size_t read_some(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes read; 0: an error, the end, or `into` is empty.
  std::size_t read_some(buffer into, std::error_code& ec, const deadline& until = {});

  /// A fiber: fills `into`. \throws end_of_stream, io_error; moved() says how many bytes came before.
  /// \return with `ec`: bytes that came.
  void read_exactly(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes that are in `into`; fewer than it holds: an error.
  std::size_t read_exactly(buffer into, std::error_code& ec, const deadline& until = {});

  /// A fiber: reads up to and with `delimiter`. Keeps for the next read the bytes behind it, and those that came before
  /// a failure.
  /// \param most  bytes at most, the delimiter's among them; they bound the memory of the call.
  /// \return empty: the stream ended before a first byte. \throws io_error: as read_some(), too_long; end_of_stream if
  ///         bytes but no delimiter came before the end; usage_error for an empty delimiter or 0 bytes;
  ///         std::bad_alloc.
  std::string read_until(std::string_view delimiter, std::size_t most, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return empty: an error (what came stays for the next read), or the end.
  std::string read_until(std::string_view delimiter, std::size_t most, std::error_code& ec, const deadline& until = {});

  /// As messages name this end: as the program gave it, "a pipe", or "the output of PROGRAM (process N)" of a child.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The descriptor. Its readable() does not see what read_until() has kept.
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }
  /// Any thread. Does not wait. A read that waits fails with errc::closed; a write to the pipe fails with EPIPE, if no
  /// other process reads from it.
  void close() noexcept { base_.close(); }

 private:
  descriptor base_;
  detail::read_buffer read_buffer_;
  std::string name_;
};

/// The end that bytes are written to.
class sink {
 public:
  sink() noexcept = default;  ///< closed
  /// Takes `fd` over. \param name  in messages: "write to NAME". \throws as descriptor(fd).
  explicit sink(int fd, std::string name = "descriptor");

  /// A fiber: writes all of it. \throws io_error: timed_out, cancelled, closed, the system's (EPIPE if there is no
  /// reader; no signal); moved() says how many bytes were written before. \return with `ec`: that number.
  /// Cost: except for sockets, three system calls more, which prevent SIGPIPE.
  void write(const_buffer what, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes written; with an error, those written before it.
  std::size_t write(const_buffer what, std::error_code& ec, const deadline& until = {});

  /// As source::name(); of a child: "the input of PROGRAM (process N)".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The descriptor: to wait until a write would not wait, or for fcntl(2) by base().native().
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }
  /// Any thread. Does not wait. A write that waits fails with errc::closed; the reader gets what was written, then the
  /// end, if no other process has this end too.
  void close() noexcept { base_.close(); }

 private:
  descriptor base_;
  detail::write_call how_ = detail::write_call::write;
  std::string name_;
};

/// The two ends of a pipe that pipe() made.
struct pipe_ends {
  source out;  ///< reads what was written to `in`
  sink in;     ///< once it is closed, `out` finds the end
};

/// Any thread. \throws io_error if the system has no descriptors left.
[[nodiscard]] pipe_ends pipe();

}  // namespace io
}  // namespace v1
}  // namespace shunt
