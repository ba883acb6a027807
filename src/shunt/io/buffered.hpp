/// A reader and a writer with a buffer each: a parser works in place on what has come, and many small writes leave by
/// one system call. Over a stream, a source, a sink, a file, and any type with the same functions.
///
/// A server of requests and replies ties the two together. It reads what came with one system call, replies to all of
/// it, and the replies leave with one system call more, however many they are:
///
/// ```cpp
/// shunt::io::buffered_writer out(peer);
/// shunt::io::buffered_reader in(peer, out);  // flushes `out` before it asks the system for more
/// for (;;) {
///   const auto line = in.read_until("\n", 4096);  // a view into the buffer: no copy
///   if (line.empty()) break;                      // the peer sends no more, and has all replies
///   out.write(line);
/// }
/// ```
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <shunt/base/error.hpp>
#include <shunt/io/buffer.hpp>
#include <shunt/io/deadline.hpp>
#include <shunt/io/file.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// What a buffered_reader reads from: stream, source, or a type of the program's own. read_some() waits for at least
/// one byte and returns how many came; 0 without an error is the end.
template <typename S>
concept byte_source = requires(S& from, buffer into, std::error_code& ec, const deadline& until) {
  { from.read_some(into, ec, until) } -> std::convertible_to<std::size_t>;
};

/// What a buffered_writer writes to: stream, sink, or a type of the program's own. write() writes all of it and returns
/// its size, or sets `ec` and returns how many bytes it wrote before.
template <typename S>
concept byte_sink = requires(S& to, const_buffer what, std::error_code& ec, const deadline& until) {
  { to.write(what, ec, until) } -> std::convertible_to<std::size_t>;
};

namespace detail {

/// A byte_source, a byte_sink or a file, whatever its type: three words. `at` is the place in a file.
template <typename Bytes>
struct byte_end {
  void* object;
  std::size_t (*move)(void* object, std::uint64_t at, Bytes bytes, std::error_code& ec, const deadline& until);
  std::string (*name)(const void* object);  // for messages
};

template <typename S>
std::string name_of_end(const void* object) {
  const auto& end = *static_cast<const S*>(object);
  if constexpr (requires { end.peer().text(); }) {
    return end.peer().text().empty() ? "a stream" : end.peer().text();
  } else if constexpr (requires { std::string(end.name()); }) {
    return std::string(end.name());
  } else if constexpr (requires { std::string(end.path()); }) {
    return std::string(end.path());
  } else {
    return "an object of the program";
  }
}

template <typename S>
byte_end<buffer> source_end(S& from) noexcept {
  return {&from,
          [](void* object, std::uint64_t at, buffer into, std::error_code& ec, const deadline& until) -> std::size_t {
            auto& it = *static_cast<S*>(object);
            if constexpr (std::same_as<S, file>) {
              return it.read_at(at, into, ec, until);
            } else {
              return it.read_some(into, ec, until);
            }
          },
          name_of_end<S>};
}

template <typename S>
byte_end<const_buffer> sink_end(S& to) noexcept {
  return {
      &to,
      [](void* object, std::uint64_t at, const_buffer what, std::error_code& ec, const deadline& until) -> std::size_t {
        auto& it = *static_cast<S*>(object);
        if constexpr (std::same_as<S, file>) {
          return it.write_at(at, what, ec, until);
        } else {
          return it.write(what, ec, until);
        }
      },
      name_of_end<S>};
}

}  // namespace detail

/// Collects what is written, and passes it on in large pieces.
///
/// One fiber at a time uses it, and no other fiber writes to what lies behind it. A call that finds another one under
/// way (two fibers share a writer, or the fiber that writes is not the one whose reader is tied) throws usage_error
/// where it notices.
///
/// What was not flushed
/// - stays, when a call fails: pending() says how many bytes. The next flush() goes on where the last one ended, so
///   after a deadline the peer still gets each byte once.
/// - is lost, when the writer is destroyed. The destructor neither waits nor throws, so it cannot flush. It prints one
///   line to stderr, unless the program knows of the loss: a call of this writer failed, an exception is under way, or
///   it called discard(). So a program ends with flush(), and learns of an error there.
class buffered_writer {
 public:
  static constexpr std::size_t default_capacity = 16 * 1024;  ///< bytes

  /// Any thread. \param to        outlives the writer, and stays where it is.
  ///             \param capacity  bytes that are collected at most, at least 1; allocated by the first write.
  /// \throws usage_error for a capacity of 0.
  template <byte_sink S>
  explicit buffered_writer(S& to, std::size_t capacity = default_capacity)
      : buffered_writer(detail::sink_end(to), 0, capacity) {}
  /// Writes to the file from byte `at` on.
  explicit buffered_writer(file& to, std::uint64_t at = 0, std::size_t capacity = default_capacity)
      : buffered_writer(detail::sink_end(to), at, capacity) {}
  ~buffered_writer();
  buffered_writer(const buffered_writer&) = delete;
  buffered_writer& operator=(const buffered_writer&) = delete;

  /// Appends. Waits only if `what` does not fit in the buffer: then it fills the buffer, flushes it, and goes on; of
  /// what is left, a part that is no smaller than the buffer goes to the system without being copied.
  /// \throws io_error: as the sink's write(); moved() says how many bytes of `what` were taken: written or collected.
  ///         std::bad_alloc. \return with `ec`: that number.
  /// Cost: where it fits, a copy; no system call, and any thread may call.
  void write(const_buffer what, const deadline& until = {}) {
    if (!append(what)) [[unlikely]]
      write_slowly(what, until);
  }
  /// Sets `ec` instead of throwing io_error. \return bytes of `what` that were taken: all of them without an error.
  std::size_t write(const_buffer what, std::error_code& ec, const deadline& until = {}) {
    if (!append(what)) [[unlikely]]
      return write_slowly(what, ec, until);
    ec.clear();
    return what.size();
  }

  /// A fiber: writes what is pending to the system, by one call of the sink's write(); nothing if none is.
  /// \throws io_error: as the sink's write(); moved() says how many bytes left. \return with `ec`: that number.
  void flush(const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes that left.
  std::size_t flush(std::error_code& ec, const deadline& until = {});

  /// Bytes that were written to this object and not yet to the system: 0..capacity().
  [[nodiscard]] std::size_t pending() const noexcept { return end_ - begin_; }
  /// Drops what is pending.
  void discard();
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< bytes

 private:
  friend class buffered_reader;
  buffered_writer(const detail::byte_end<const_buffer>& to, std::uint64_t at, std::size_t capacity);
  /// \return false if it does not fit, or there is no buffer yet.
  bool append(const_buffer what) noexcept {
    if (what.size() > room_) return false;
    if (what.size() != 0) std::memcpy(bytes_.get() + end_, what.data(), what.size());
    end_ += what.size();
    room_ -= what.size();
    return true;
  }
  [[gnu::noinline]] void write_slowly(const_buffer what, const deadline& until);
  [[gnu::noinline]] std::size_t write_slowly(const_buffer what, std::error_code& ec, const deadline& until);
  std::size_t write_through(const_buffer what, std::error_code& ec, const deadline& until);
  std::size_t flush_pending(std::error_code& ec, const deadline& until);
  void require_idle() const;
  [[nodiscard]] std::string name() const { return to_.name(to_.object); }

  detail::byte_end<const_buffer> to_;
  std::uint64_t at_;  // in a file
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_;
  std::size_t begin_ = 0;  // pending: [begin_, end_)
  std::size_t end_ = 0;
  std::size_t room_ = 0;  // bytes that append() takes: capacity_ - end_; 0 without a buffer, and during a write
  bool writing_ = false;  // a call of the sink is under way
  bool failed_ = false;   // a call has failed since the last flush that did not
  int exceptions_;        // under way when it was made
};

/// Reads in large pieces, and gives out as much as is asked for. What it returns as a view lies in its buffer, and is
/// valid until the next call of a function that reads, of peek(), or the end of the reader.
///
/// One fiber at a time uses it, and no other reads from what lies behind it: the buffer may hold bytes beyond those
/// that were asked for. To write, and to use a writer that is not tied, any other fiber is free.
///
/// A reader that is tied to a writer flushes it before each call of the system, be it that data is there or not. So a
/// reply is never kept while its reader waits for the next request, and never longer than it takes to work off what
/// came with one read. To flush only before a read that would block seems cheaper, but bounds nothing: a peer that
/// keeps one request ahead would get its replies when the writer is full. Nor is it cheaper: after a short read from
/// TCP it is known that the next one would block; elsewhere, to find out is a system call. The flush has the deadline
/// of the read. If it fails, the read fails with its error, and nothing is read; bytes that are buffered are given out
/// all the same.
///
/// Memory: the buffer is allocated by the first read and kept. A call that asks for more than the capacity makes it
/// grow, up to what the call allows; when it is empty again, the next read goes back to the capacity.
class buffered_reader {
 public:
  static constexpr std::size_t default_capacity = 16 * 1024;  ///< bytes

  /// Any thread. \param from      outlives the reader, and stays where it is. If something was read from it by a
  ///                              read_until() of its own, the bytes behind that come first.
  ///             \param capacity  bytes a read asks for at most, at least 1.
  /// \throws usage_error for a capacity of 0.
  template <byte_source S>
  explicit buffered_reader(S& from, std::size_t capacity = default_capacity)
      : buffered_reader(detail::source_end(from), 0, nullptr, capacity) {}
  /// Tied: \param flushed  outlives the reader; the fiber that reads is the one that writes.
  template <byte_source S>
  buffered_reader(S& from, buffered_writer& flushed, std::size_t capacity = default_capacity)
      : buffered_reader(detail::source_end(from), 0, &flushed, capacity) {}
  /// Reads the file from byte `at` on.
  explicit buffered_reader(file& from, std::uint64_t at = 0, std::size_t capacity = default_capacity)
      : buffered_reader(detail::source_end(from), at, nullptr, capacity) {}
  buffered_reader(const buffered_reader&) = delete;
  buffered_reader& operator=(const buffered_reader&) = delete;

  /// Bytes that are there, as text. Does not wait. A parser looks at them, and then consumes what it understood.
  [[nodiscard]] std::string_view buffered() const noexcept { return {bytes_.get() + begin_, end_ - begin_}; }

  /// Removes the first `count` of the buffered bytes. Views of them stay valid until the next read.
  /// \param count  0..buffered().size() (contract).
  void consume(std::size_t count) noexcept {
    SHUNT_ASSERT(count <= end_ - begin_);
    begin_ += count;
  }

  /// Waits until at least `least` bytes are buffered; consumes none. A parser asks for one byte more than it has, or
  /// for as many as it knows to follow.
  /// \return all that is buffered; empty: the stream ended, and nothing is.
  /// \throws io_error: as the source's read_some(); as a writer's flush(), if tied; end_of_stream if the stream ended
  ///         with some bytes, but fewer; they stay. std::bad_alloc. \return with `ec`: what is buffered.
  std::string_view peek(std::size_t least, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return what is buffered: with an error, what came before it.
  std::string_view peek(std::size_t least, std::error_code& ec, const deadline& until = {});

  /// Waits for at least one byte. An `into` that is no smaller than the buffer is read into without being copied.
  /// \return bytes read; 0: the end, or `into` is empty. \throws io_error: as peek().
  std::size_t read_some(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes read; 0: an error, the end, or `into` is empty.
  std::size_t read_some(buffer into, std::error_code& ec, const deadline& until = {});

  /// Fills `into`. \throws end_of_stream if the stream ended before, io_error as peek(); moved() says how many bytes
  /// came: they are in `into`. \return with `ec`: that number.
  void read_exactly(buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes that are in `into`; fewer than it holds: an error.
  std::size_t read_exactly(buffer into, std::error_code& ec, const deadline& until = {});

  /// Reads up to and with `delimiter`: a line, with "\n". Bytes that came before a failure stay.
  /// \param most  bytes at most, the delimiter's among them; at least 1.
  /// \return a view; empty: the stream ended before a first byte, or an error with `ec`. \throws io_error: as peek(),
  ///         too_long; end_of_stream if bytes but no delimiter came before the end; usage_error for an empty delimiter
  ///         or 0 bytes.
  std::string_view read_until(std::string_view delimiter, std::size_t most, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return a view; empty: an error (what came stays buffered), or the end.
  std::string_view read_until(std::string_view delimiter, std::size_t most, std::error_code& ec,
                              const deadline& until = {});

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< bytes

 private:
  /// How a call ended: bytes moved, the error, and whether it is the flush that failed.
  struct result {
    std::size_t moved = 0;
    std::error_code ec{};
    bool flushing = false;
  };
  buffered_reader(const detail::byte_end<buffer>& from, std::uint64_t at, buffered_writer* flushed,
                  std::size_t capacity);
  result call_system(buffer into, const deadline& until);
  result fill(std::size_t least, const deadline& until);
  result require(std::size_t least, const deadline& until);
  result some(buffer into, const deadline& until);
  result exactly(buffer into, const deadline& until);
  result find(std::string_view delimiter, std::size_t most, const deadline& until);
  std::size_t take(buffer into) noexcept;
  std::string_view taken(std::size_t count) noexcept;
  [[noreturn, gnu::cold]] void raise(const char* call, const result& of, const deadline& until) const;

  detail::byte_end<buffer> from_;
  std::uint64_t at_;  // in a file
  buffered_writer* flushed_;
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_;
  std::size_t size_ = 0;   // of bytes_
  std::size_t begin_ = 0;  // buffered: [begin_, end_)
  std::size_t end_ = 0;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
