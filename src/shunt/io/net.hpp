/// Sockets: streams over TCP and Unix sockets, listeners, datagrams.
///
/// Everything that waits is a fiber's, takes an io::limit last, and
/// comes twice, throwing and with a std::error_code& (failure.hpp). Addresses are written as in
/// address.hpp. Sockets are closed on exec, and a peer that went away is an error, never a signal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <shunt/io/address.hpp>
#include <shunt/io/bytes.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/detail/transfer.hpp>

namespace shunt {
inline namespace v1 {
namespace net {

using io::bytes;
using io::limit;
using io::room;

/// Which half of a stream ends.
enum class half : std::uint8_t { reading, writing, both };

/// A connection. One fiber may read while another writes; each half takes one call at a time.
/// shutdown() and close() at any time, by anyone. Moves, does not copy.
///
/// TCP: what is written leaves at once (TCP_NODELAY); who writes many small pieces joins them first.
class stream {
 public:
  stream() noexcept = default;  ///< closed
  /// Takes a connected socket over, wherever it came from. \throws io::failure, std::bad_alloc.
  explicit stream(int fd);

  /// Waits for at least one byte. \return bytes read; 0: the peer sends no more, or no room.
  /// \throws io::failure: timed_out, cancelled, closed, the system's (ECONNRESET).
  std::size_t read_some(room into, const limit& how_long = {});
  std::size_t read_some(room into, std::error_code& bad, const limit& how_long = {});

  /// Fills `into`. \throws io::end_of_stream if the peer ended before, io::failure as read_some(); both
  /// say how many bytes came. \return with `bad`: bytes that came.
  void read_exactly(room into, const limit& how_long = {});
  std::size_t read_exactly(room into, std::error_code& bad, const limit& how_long = {});

  /// All up to and with `delimiter`. What comes behind it, and what came before a failure, is kept
  /// for the next read.
  /// \param most  bytes at most, the delimiter's among them; memory is bounded by it.
  /// \return empty: the end, and nothing before it. \throws io::failure: as read_some(), too_long;
  /// io::end_of_stream if bytes but no delimiter came before the end; usage_error for an empty
  /// delimiter or 0 bytes; std::bad_alloc.
  std::string read_until(std::string_view delimiter, std::size_t most, const limit& how_long = {});
  std::string read_until(std::string_view delimiter, std::size_t most, std::error_code& bad,
                         const limit& how_long = {});

  /// Writes all of it, to the system: not to the peer. \throws io::failure: timed_out, cancelled, closed,
  /// the system's (EPIPE, ECONNRESET); moved() says how much went before. \return with `bad`: that.
  void write(bytes what, const limit& how_long = {});
  std::size_t write(bytes what, std::error_code& bad, const limit& how_long = {});

  /// Does not wait. `writing`: the peer reads what was written, then the end. `reading`: here, reads
  /// find the end. Also if the peer is gone already. \throws io::failure: closed.
  void shutdown(half which);

  /// Does not wait; whoever waits on it is woken and fails with errc::closed. What was written still
  /// leaves, unless bytes that had come were not read: then TCP resets the connection.
  void close() noexcept { base_.close(); }

  /// \return the address of nobody if it was not connected.
  [[nodiscard]] const address& peer() const noexcept { return peer_; }
  [[nodiscard]] address local() const;  ///< \throws io::failure
  [[nodiscard]] const io::descriptor& base() const noexcept { return base_; }

 private:
  friend class listener;
  friend stream connect(const address&, std::error_code&, const limit&);
  stream(io::descriptor base, const address& peer) noexcept : base_(std::move(base)), peer_(peer) {}
  [[nodiscard]] std::string text(const char* call) const;

  io::descriptor base_;
  io::detail::rest rest_;
  address peer_;
};

/// Connects over TCP or a Unix socket. \throws io::failure: timed_out, cancelled, the system's
/// (ECONNREFUSED). A Unix listener whose queue is full gives no sign when it is not: it is asked again
/// after 1 ms, then less often, up to every 64 ms.
[[nodiscard]] stream connect(const address& to, const limit& how_long = {});
/// \return a closed stream with `bad`.
[[nodiscard]] stream connect(const address& to, std::error_code& bad, const limit& how_long = {});

/// Two connected ends of a Unix socket, in this process. Any thread. \throws io::failure.
[[nodiscard]] std::pair<stream, stream> connected_pair();

/// Where connections come in. Any number of fibers may accept at a time: each connection goes to one.
class listener {
 public:
  listener() noexcept = default;  ///< closed
  ~listener() { close(); }
  listener(listener&&) noexcept = default;
  listener& operator=(listener&& other) noexcept {
    close();
    base_ = std::move(other.base_);
    local_ = std::exchange(other.local_, {});
    return *this;
  }

  /// Waits for a connection. One that ended before it was accepted is passed over.
  /// \throws io::failure: timed_out, cancelled, closed, the system's (EMFILE: it stays in the queue).
  [[nodiscard]] stream accept(const limit& how_long = {});
  [[nodiscard]] stream accept(std::error_code& bad, const limit& how_long = {});

  /// With the port that the system chose, if 0 was asked for.
  [[nodiscard]] const address& local() const noexcept { return local_; }
  /// Any thread. Who waits in accept() fails with errc::closed. A Unix socket's file is removed.
  void close() noexcept;
  [[nodiscard]] const io::descriptor& base() const noexcept { return base_; }

 private:
  friend listener listen(const address&, std::error_code&, int);
  io::descriptor base_;
  address local_;
};

/// Any thread. TCP addresses may be used again at once (SO_REUSEADDR); a Unix socket's file must not
/// exist. \param backlog  connections, at most, that wait to be accepted; the system may take less.
/// \throws io::failure: EADDRINUSE, EACCES.
[[nodiscard]] listener listen(const address& at, int backlog = 1024);
[[nodiscard]] listener listen(const address& at, std::error_code& bad, int backlog = 1024);

/// Messages that arrive whole or not at all: UDP, and Unix sockets of that kind. Any number of fibers.
class datagram {
 public:
  datagram() noexcept = default;  ///< closed
  /// Any thread. Sends from, and receives at, `local`: "127.0.0.1:0". \throws io::failure: EADDRINUSE.
  explicit datagram(const address& local);
  ~datagram() { close(); }
  datagram(datagram&&) noexcept = default;
  datagram& operator=(datagram&& other) noexcept {
    close();
    base_ = std::move(other.base_);
    local_ = std::exchange(other.local_, {});
    return *this;
  }

  /// Waits while the system's buffer is full; at a Unix socket, while the receiver's is, and asks again
  /// as connect(). \throws io::failure: timed_out, cancelled, closed, the system's
  /// (EMSGSIZE; ECONNREFUSED that an earlier one met).
  void send_to(const address& to, bytes what, const limit& how_long = {});
  void send_to(const address& to, bytes what, std::error_code& bad, const limit& how_long = {});

  struct received {
    std::size_t size = 0;    ///< bytes put into the room; may be 0
    bool truncated = false;  ///< it was longer, and the rest is lost
    address from;
  };
  /// Waits for one. \throws io::failure: timed_out, cancelled, closed, the system's.
  [[nodiscard]] received receive(room into, const limit& how_long = {});
  [[nodiscard]] received receive(room into, std::error_code& bad, const limit& how_long = {});

  [[nodiscard]] const address& local() const noexcept { return local_; }
  /// As listener::close().
  void close() noexcept;
  [[nodiscard]] const io::descriptor& base() const noexcept { return base_; }

 private:
  io::descriptor base_;
  address local_;
};

}  // namespace net
}  // namespace v1
}  // namespace shunt
