/// Sockets: streams over TCP and Unix sockets, listeners, datagrams.
///
/// Only fibers call the functions that wait. Each of them takes an io::deadline last, and comes twice: throwing, and
/// with a std::error_code& (io_error.hpp). Addresses are written as in address.hpp. Sockets are closed on exec. A peer
/// that went away is an error, never a signal. Errors name the line of the call: a last parameter `where`, or the
/// deadline, carries it, and programs leave it out.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <shunt/io/address.hpp>
#include <shunt/io/buffer.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/detail/transfer.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// The direction of a stream that shutdown() ends.
enum class shutdown_side : std::uint8_t { reading, writing, both };

/// A connection. One fiber may read while another writes; each direction takes one call at a time. Any thread calls
/// shutdown() and close(), at any time. Moves, does not copy.
///
/// TCP: the bytes of a write leave at once (TCP_NODELAY). Join small pieces before you write them.
class stream {
 public:
  stream() noexcept = default;  ///< closed
  /// Takes a connected socket over, wherever it came from. \throws io_error, std::bad_alloc.
  explicit stream(int fd);

  /// Waits for at least one byte. \return bytes read; 0: the peer sends no more, or `into` is empty.
  /// \throws io_error: timed_out, cancelled, closed, the system's (ECONNRESET).
  std::size_t read_some(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes read; 0: an error, the end, or `into` is empty.
  std::size_t read_some(buffer into, std::error_code& ec, const deadline& until = {});

  /// Fills `into`. \throws end_of_stream if the peer ended before, io_error as read_some(); moved() says how many bytes
  /// came. \return with `ec`: bytes that came.
  void read_exactly(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes that are in `into`; fewer than it holds: an error.
  std::size_t read_exactly(buffer into, std::error_code& ec, const deadline& until = {});

  /// Reads up to and with `delimiter`. Keeps for the next read the bytes behind it, and those that came before a
  /// failure.
  /// \param most  bytes at most, the delimiter's among them; they bound the memory of the call.
  /// \return empty: the stream ended before a first byte. \throws io_error: as read_some(), too_long; end_of_stream if
  ///         bytes but no delimiter came before the end; usage_error for an empty delimiter or 0 bytes;
  ///         std::bad_alloc.
  std::string read_until(std::string_view delimiter, std::size_t most, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return empty: an error (what came stays for the next read), or the end.
  std::string read_until(std::string_view delimiter, std::size_t most, std::error_code& ec, const deadline& until = {});

  /// Writes all of it, to the system: not to the peer. \throws io_error: timed_out, cancelled, closed, the system's
  /// (EPIPE, ECONNRESET); moved() says how many bytes were written before. \return with `ec`: that number.
  void write(const_buffer what, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes written; with an error, those written before it.
  std::size_t write(const_buffer what, std::error_code& ec, const deadline& until = {});

  /// Any thread. Does not wait. `writing`: the peer reads what was written, then the end. `reading`: reads at this end
  /// find the end. Succeeds also if the peer has gone. \throws io_error: closed.
  void shutdown(shutdown_side which, std::source_location where = std::source_location::current());

  /// Any thread. Does not wait. Each fiber that waits on the stream is woken, and its call fails with errc::closed.
  /// What was written still leaves, unless bytes that had come were not read: then TCP resets the connection.
  void close() noexcept { base_.close(); }

  /// \return address() if it was not connected.
  [[nodiscard]] const address& peer() const noexcept { return peer_; }
  [[nodiscard]] address local(
      std::source_location where = std::source_location::current()) const;  ///< \throws io_error
  /// The socket, for setsockopt(2) by base().native(). Its readable() does not see what read_until() has kept.
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }

 private:
  friend class listener;
  friend stream connect(const address&, std::error_code&, const deadline&);
  stream(descriptor base, const address& peer) noexcept : base_(std::move(base)), peer_(peer) {}
  [[nodiscard]] std::string text(const char* call) const;

  descriptor base_;
  detail::read_buffer read_buffer_;
  address peer_;
};

/// A fiber: connects over TCP or a Unix socket. A Unix listener with a full queue gives no sign when there is room in
/// it: then this call tries again after 1 ms, and after each failure later, up to every 64 ms.
/// \throws io_error: timed_out, cancelled, the system's (ECONNREFUSED).
[[nodiscard]] stream connect(const address& to, const deadline& until = {});
/// \return a closed stream with `ec`.
[[nodiscard]] stream connect(const address& to, std::error_code& ec, const deadline& until = {});

/// Any thread: two connected ends of a Unix socket, in this process. \throws io_error.
[[nodiscard]] std::pair<stream, stream> connected_pair();

/// Accepts connections at an address. Any number of fibers may accept at a time: each connection goes to one of them.
class listener {
 public:
  listener() noexcept = default;  ///< closed
  ~listener() { close(); }
  /// `other` is closed afterwards; the address stays bound.
  listener(listener&&) noexcept = default;
  /// Closes what this object listened at, as close() does, then takes over what `other` listens at.
  listener& operator=(listener&& other) noexcept {
    close();
    base_ = std::move(other.base_);
    local_ = std::exchange(other.local_, {});
    return *this;
  }

  /// Waits for a connection. Passes over connections that ended before they were accepted.
  /// \throws io_error: timed_out, cancelled, closed, the system's (EMFILE: the connection stays in the queue).
  [[nodiscard]] stream accept(const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return a closed stream with an error.
  [[nodiscard]] stream accept(std::error_code& ec, const deadline& until = {});

  /// With the port that the system chose, if the program asked for port 0.
  [[nodiscard]] const address& local() const noexcept { return local_; }
  /// Any thread. Each accept() that waits fails with errc::closed. Removes the file of a Unix socket.
  void close() noexcept;
  /// The socket, for setsockopt(2) by base().native(), or to wait until a connection is there.
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }

 private:
  friend listener listen(const address&, std::error_code&, int);
  descriptor base_;
  address local_;
};

/// Any thread. A TCP address may be used again at once (SO_REUSEADDR); the file of a Unix socket must not exist.
/// \param backlog  connections, at most, that wait to be accepted; the system may take less.
/// \throws io_error: EADDRINUSE, EACCES.
[[nodiscard]] listener listen(const address& at, int backlog = 1024,
                              std::source_location where = std::source_location::current());
/// Sets `ec` instead of throwing io_error. \return a closed listener with an error.
[[nodiscard]] listener listen(const address& at, std::error_code& ec, int backlog = 1024);

/// Messages that arrive whole or not at all: UDP, and Unix sockets of that kind. Any number of fibers.
class datagram {
 public:
  datagram() noexcept = default;  ///< closed
  /// Any thread. Sends from `local` and receives there: "127.0.0.1:0". \throws io_error: EADDRINUSE.
  explicit datagram(const address& local, std::source_location where = std::source_location::current());
  ~datagram() { close(); }
  /// `other` is closed afterwards; the address stays bound.
  datagram(datagram&&) noexcept = default;
  /// Closes the socket that this object had, as close() does, then takes over that of `other`.
  datagram& operator=(datagram&& other) noexcept {
    close();
    base_ = std::move(other.base_);
    local_ = std::exchange(other.local_, {});
    return *this;
  }

  /// Waits while the system's buffer is full. At a Unix socket it waits while the receiver's is full, and tries again
  /// as connect() does. \throws io_error: timed_out, cancelled, closed, the system's (EMSGSIZE; ECONNREFUSED, which may
  /// be the answer to an earlier datagram).
  void send_to(const address& to, const_buffer what, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. With an error, nothing was sent.
  void send_to(const address& to, const_buffer what, std::error_code& ec, const deadline& until = {});

  /// A datagram, as receive() returns it.
  struct received {
    std::size_t size = 0;    ///< bytes written to the buffer; may be 0
    bool truncated = false;  ///< the datagram was longer than the buffer, and its other bytes are lost
    /// The sender; address() where it has none (a Unix socket without a name).
    address from;
  };
  /// Waits for one. \throws io_error: timed_out, cancelled, closed, the system's.
  [[nodiscard]] received receive(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return with an error: 0 bytes from address().
  [[nodiscard]] received receive(buffer into, std::error_code& ec, const deadline& until = {});

  /// With the port that the system chose, if the program asked for port 0; also after close().
  [[nodiscard]] const address& local() const noexcept { return local_; }
  /// As listener::close().
  void close() noexcept;
  /// The socket, for setsockopt(2) by base().native().
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }

 private:
  descriptor base_;
  address local_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
