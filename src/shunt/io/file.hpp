/// Files of a disk. Their calls block whatever one does: so the kernel makes them beside the worker, by
/// io_uring, or a helper of the reactor (reactor::backend() says which).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <shunt/io/bytes.hpp>
#include <shunt/io/descriptor.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/io/limit.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

/// An open file. Every call is a fiber's, any number at a time. Its limit
/// bounds the wait for a free helper, not the disk: what a helper, or the disk, has begun is waited for.
/// Cost of a call: with io_uring some 1 us where the page cache serves it, else two switches of threads,
/// some 10 us; and the disk.
class file {
 public:
  /// How it is opened. `create` and `replace` make it if it is not there, with mode 0666 less umask.
  enum class mode : std::uint8_t {
    read,     ///< must exist
    update,   ///< must exist; reads and writes
    create,   ///< reads and writes; what is there stays
    replace,  ///< reads and writes; what was there goes
  };

  file() noexcept = default;  ///< closed
  /// \throws io::failure that names the path: the system's, timed_out, cancelled.
  explicit file(const std::string& path, mode how = mode::read, const limit& how_long = {});

  /// Reads from byte `at` on, until `into` is full or the file ends. \return bytes read.
  /// \throws io::failure: the system's, timed_out, cancelled, closed.
  std::size_t read_at(std::uint64_t at, room into, const limit& how_long = {});
  std::size_t read_at(std::uint64_t at, room into, std::error_code& bad, const limit& how_long = {});

  /// Writes all of it from byte `at` on. \throws as read_at(); moved() says how much went (ENOSPC).
  void write_at(std::uint64_t at, bytes what, const limit& how_long = {});
  std::size_t write_at(std::uint64_t at, bytes what, std::error_code& bad, const limit& how_long = {});

  /// \return bytes. Does not wait. \throws io::failure: closed.
  [[nodiscard]] std::uint64_t size() const;

  /// Returns when the disk has what was written. \throws io::failure: the system's (EIO), and as above.
  void sync(const limit& how_long = {});

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
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
