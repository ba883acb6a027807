#include <shunt/graph/detail/text_source.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <shunt/base/error.hpp>
#include <shunt/base/quoted.hpp>
#include <system_error>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace graph {
namespace detail {
namespace {

constexpr std::size_t input_bytes = std::size_t{256} << 10;

/// A path as a user typed it, but on one line.
std::string shown(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += escaped(c);
    } else {
      out += c;
    }
  }
  return out.empty() ? "\"\"" : out;
}

/// \throws usage_error "path: cannot WHAT: REASON, expected ..."
[[noreturn]] void refuse(const std::string& path, const std::string& what, int number) {
  error::facts known;
  known.native = number;
  throw usage_error(error_number(1003),
                    shown(path) + ": cannot " + what + ": " + std::system_category().message(number) +
                        ", expected a file with an edge list or a Matrix Market matrix",
                    known);
}

/// What users try in vain, by its first bytes.
constexpr std::pair<std::string_view, const char*> foreign[] = {
    {"BZh", "bzip2 data"},
    {"\xfd"
     "7zXZ",
     "xz data"},
    {"\x28\xb5\x2f\xfd", "zstd data"},
    {"PK\x03\x04", "a zip archive"},
    {"7z\xbc\xaf", "a 7z archive"},
    {"\xff\xfe", "UTF-16 text"},
    {"\xfe\xff", "UTF-16 text"},
    {"\x7f"
     "ELF",
     "a program"},
};

}  // namespace

void fail(const std::string& path, std::uint64_t line, const std::string& found, const std::string& expected) {
  throw usage_error(error_number(1004),
                    shown(path) + ":" + std::to_string(line) + ": found " + found + ", expected " + expected);
}

text_source::descriptor::~descriptor() {
  if (fd >= 0) ::close(fd);
}

text_source::text_source(const std::string& path, std::size_t block_bytes) : path_(path), block_bytes_(block_bytes) {
  // The first block is looked at for a byte order mark, or a banner; zlib counts room in 32 bits.
  if (block_bytes < 16 || block_bytes > std::size_t{1} << 30) {
    throw usage_error(error_number(1005), path + ": lines of at most " + std::to_string(block_bytes) +
                                              " bytes; expected longest_line from 16 to 1073741824");
  }
  if (path.find('\0') != std::string::npos) refuse(path, "open", EINVAL);
  do {
    file_.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  } while (file_.fd < 0 && errno == EINTR);
  if (file_.fd < 0) refuse(path, "open", errno);
  struct stat known = {};
  if (::fstat(file_.fd, &known) != 0) refuse(path, "examine", errno);
  if (S_ISDIR(known.st_mode)) refuse(path, "read", EISDIR);
  if (S_ISREG(known.st_mode)) total_ = static_cast<std::uint64_t>(known.st_size);

  input_ = std::make_unique_for_overwrite<char[]>(input_bytes);
  buffer_ = std::make_unique_for_overwrite<char[]>(block_bytes_ + 1);  // one for a last '\n'

  // Until the longest magic number is there: a pipe may hand out single bytes.
  constexpr std::size_t magic_bytes = 8;
  while (input_end_ < magic_bytes) {
    const std::size_t n = raw(input_.get() + input_end_, input_bytes - input_end_);
    if (n == 0) break;
    input_end_ += n;
  }
  const std::string_view start(input_.get(), input_end_);
  if (start.empty()) fail(path_, 1, "an empty file", "an edge list or a Matrix Market matrix");
  for (const auto& [magic, name] : foreign) {
    if (start.starts_with(magic)) fail(path_, 1, name, "plain text, or text compressed with gzip");
  }
  if (start.starts_with("\x1f\x8b")) {
    if (!gzip_stream::available()) {
      fail(path_, 1, "gzip data", "plain text: this library was built without zlib, which would inflate them");
    }
    // Not gzread(): that takes whatever follows a member for padding, and so loses all that comes
    // after a damaged header.
    gzip_.emplace();
    in_member_ = true;
  }
}

std::size_t text_source::raw(char* to, std::size_t room) {
  ssize_t n = 0;
  do {
    n = ::read(file_.fd, to, room);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    error::facts known;
    known.native = errno;
    throw error(error_number(1006),
                shown(path_) + ": cannot read on after byte " + std::to_string(done_) + ": " +
                    std::system_category().message(errno),
                known);
  }
  done_ += static_cast<std::uint64_t>(n);
  return static_cast<std::size_t>(n);
}

std::size_t text_source::text(char* to, std::size_t room, std::uint64_t line) {
  if (gzip_) return inflated(to, room, line);
  if (input_begin_ == input_end_) return raw(to, room);
  const std::size_t n = std::min(room, input_end_ - input_begin_);
  std::memcpy(to, input_.get() + input_begin_, n);
  input_begin_ += n;
  return n;
}

std::size_t text_source::inflated(char* to, std::size_t room, std::uint64_t line) {
  for (bool ended = false;;) {
    if (!fault_.empty()) {
      fail(path_, line, "corrupt gzip data (" + fault_ + ") before byte " + std::to_string(done_), "an undamaged file");
    }
    if (input_begin_ == input_end_) {
      input_begin_ = 0;
      input_end_ = raw(input_.get(), input_bytes);
      if (input_end_ == 0) {
        if (!in_member_) return 0;
        ended = true;  // but zlib may hold text back that had no room: X2
      }
    }
    if (!in_member_) {
      while (input_begin_ != input_end_ && input_[input_begin_] == '\0') {
        padded_ = true;
        ++input_begin_;
      }
      if (input_begin_ == input_end_) continue;
      if (padded_ || input_[input_begin_] != '\x1f') {
        fault_ = "bytes that are not gzip after the end of a member";
        continue;
      }
      gzip_->begin_member();
      in_member_ = true;
    }
    const auto done = gzip_->inflate(input_.get() + input_begin_, input_end_ - input_begin_, to, room);
    input_begin_ += done.read;
    if (done.is == gzip_stream::outcome::end_of_member) in_member_ = false;
    if (done.is == gzip_stream::outcome::fault) fault_ = gzip_->fault();
    if (done.written != 0) return done.written;
    if (ended && in_member_ && fault_.empty()) {
      fail(path_, line, "the end of the gzip data within a member, after " + std::to_string(done_) + " bytes",
           "the rest of the file (it was cut off)");
    }
  }
}

std::string_view text_source::block(std::uint64_t line) {
  char* const base = buffer_.get();
  const std::size_t kept = end_ - tail_;
  std::memmove(base, base + tail_, kept);
  tail_ = 0;
  end_ = kept;
  for (;;) {
    if (end_ == block_bytes_) {
      fail(path_, line,
           "a line of more than " + std::to_string(block_bytes_) + " bytes that starts with " + quoted({base, end_}),
           "lines of text");
    }
    const std::size_t n = text(base + end_, block_bytes_ - end_, line);
    if (n == 0) {
      // Lines that ended with '\n' have been returned: what is left, if anything, lacks one.
      if (end_ != 0) base[end_++] = '\n';
      tail_ = end_;
      return {base, end_};
    }
    const std::string_view fresh(base + end_, n);
    const std::size_t last = fresh.rfind('\n');
    if (last != std::string_view::npos) {
      tail_ = end_ + last + 1;
      end_ += n;
      return {base, tail_};
    }
    end_ += n;
  }
}

}  // namespace detail
}  // namespace graph
}  // namespace v1
}  // namespace shunt
