/// Files of a disk. A call on such a file blocks its thread whatever the caller does. So the kernel makes it beside the
/// worker, by io_uring, or a helper thread of the reactor makes it; reactor::backend() says which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <shunt/io/buffer.hpp>
#include <shunt/io/deadline.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/io_error.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// An open file. Fibers make its calls, any number at a time. The deadline bounds the wait for a free helper, not the
/// disk: a call that a helper or the disk has begun is waited for.
/// Cost of a call: with io_uring some 1 us where the page cache serves it, else two switches of threads, some 10 us;
/// and the disk.
class file {
 public:
  /// How it is opened. `create` and `replace` make it if it does not exist, with mode 0666 less umask.
  enum class mode : std::uint8_t {
    read,     ///< must exist
    update,   ///< must exist; reads and writes
    create,   ///< reads and writes; keeps what it contains
    replace,  ///< reads and writes; loses what it contained
  };

  file() noexcept = default;  ///< closed
  /// \throws io_error that names the path: the system's, timed_out, cancelled.
  explicit file(const std::string& path, mode how = mode::read, const deadline& until = {});

  /// Reads from byte `at` on, until `into` is full or the file ends. \return bytes read.
  /// \throws io_error: the system's, timed_out, cancelled, closed.
  std::size_t read_at(std::uint64_t at, buffer into, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes read; with an error, those that came before it.
  std::size_t read_at(std::uint64_t at, buffer into, std::error_code& ec, const deadline& until = {});

  /// Writes all of it from byte `at` on. \throws as read_at(); moved() says how many bytes were written (ENOSPC).
  void write_at(std::uint64_t at, const_buffer what, const deadline& until = {});
  /// Sets `ec` instead of throwing io_error. \return bytes written; with an error, those written before it.
  std::size_t write_at(std::uint64_t at, const_buffer what, std::error_code& ec, const deadline& until = {});

  /// \return bytes. Does not wait. \throws io_error: closed.
  [[nodiscard]] std::uint64_t size() const;

  /// Returns when the disk has what was written. \throws io_error: the system's (EIO), and as above.
  void sync(const deadline& until = {});

  /// As the program gave it to the constructor, relative or not; also after close(). "": it was never opened.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The descriptor, for fstat(2), posix_fadvise(2) and the like by base().native().
  [[nodiscard]] const descriptor& base() const noexcept { return base_; }
  /// Calls under way end as they would have; the system's file is closed after them.
  void close() noexcept { base_.close(); }

 private:
  descriptor base_;
  std::string path_;
};

}  // namespace io
}  // namespace v1
}  // namespace shunt
