#include <shunt/pgas/detail/checkpoint_file.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shunt/base/crc32c.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/owned_descriptor.hpp>
#include <shunt/wire/batch.hpp>

namespace shunt {
inline namespace v1 {
namespace pgas {
namespace detail {
namespace {

constexpr std::uint64_t checkpoint_magic = 0x3150'4b43'544e'4853;  // "SHNTCKP1", from the lowest byte
constexpr std::uint32_t checkpoint_format = 1;

struct fixed_head {
  std::uint64_t magic;
  std::uint32_t format;
  std::uint32_t check;
  std::uint64_t head_bytes;
  std::uint64_t file_bytes;
};
static_assert(sizeof(fixed_head) == 32);

std::uint32_t check_of_head(const fixed_head& fixed, std::span<const std::byte> head) noexcept {
  crc32c all;
  all.add(std::as_bytes(std::span(&fixed.format, 1)));
  all.add(std::as_bytes(std::span(&fixed.head_bytes, 2)));
  all.add(head);
  return all.value();
}

/// What failed just now, by errno.
std::string failed_call(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

/// A file that is being written; the first call that fails is remembered, and those after it do nothing.
class growing_file {
 public:
  explicit growing_file(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) failure_ = failed_call("open");
  }
  ~growing_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  growing_file(const growing_file&) = delete;
  growing_file& operator=(const growing_file&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (failure_.empty() && !bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(n));
      } else if (errno != EINTR) {
        failure_ = failed_call("write");
      }
    }
  }
  /// Returns when all is on the disk. Where the disk is full, some file systems say so only here.
  void finish() {
    if (failure_.empty() && ::fsync(fd_) != 0) failure_ = failed_call("fsync");
    if (fd_ >= 0 && ::close(fd_) != 0 && failure_.empty()) failure_ = failed_call("close");
    fd_ = -1;
  }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  int fd_;
  std::string failure_;
};

}  // namespace

// --- what a checkpoint is of ---

std::string checkpoint_identity::difference(const checkpoint_identity& here) const {
  const auto quoted = [](const std::string& text) { return "`" + text + "`"; };
  if (program != here.program) return "it is of program " + quoted(program) + ", and this is " + quoted(here.program);
  if (name != here.name) return "it is of checkpoint " + quoted(name) + ", and this is " + quoted(here.name);
  if (pes != here.pes) {
    return "it is of a job of " + std::to_string(pes) + " PEs, and this one has " + std::to_string(here.pes) +
           "; start it with --pes " + std::to_string(pes);
  }
  if (layout.size() != here.layout.size()) {
    return "it has " + std::to_string(layout.size()) + " parts, and the program's has " +
           std::to_string(here.layout.size());
  }
  for (std::size_t i = 0; i != layout.size(); ++i) {
    if (layout[i] == here.layout[i]) continue;
    return "its part " + std::to_string(i + 1) + " is " + quoted(layout[i]) + ", and the program's is " +
           quoted(here.layout[i]);
  }
  return {};
}

void checkpoint_identity::save(checkpoint_writer& to) const {
  to.put(program);
  to.put(name);
  to.put(pes);
  to.put(layout);
}
void checkpoint_identity::load(checkpoint_reader& from) {
  from.get(program);
  from.get(name);
  from.get(pes);
  from.get(layout);
}

bool checkpoint_head::is_sound() const noexcept {
  return of.pes >= 1 && of.pes <= wire::most_pes && first_pe >= 0 && pes_here >= 1 && pes_here <= of.pes - first_pe &&
         table.size() == static_cast<std::size_t>(pes_here) * of.layout.size();
}

void checkpoint_head::save(checkpoint_writer& to) const {
  to.put(of);
  to.put(build);
  to.put(generation);
  to.put(stamp);
  to.put(first_pe);
  to.put(pes_here);
  to.put(std::uint64_t{table.size()});
  for (const entry& each : table) {
    to.put(each.bytes);
    to.put(each.check);
  }
}
void checkpoint_head::load(checkpoint_reader& from) {
  from.get(of);
  from.get(build);
  from.get(generation);
  from.get(stamp);
  from.get(first_pe);
  from.get(pes_here);
  const auto entries = from.get<std::uint64_t>();
  for (std::uint64_t i = 0; i != entries; ++i) {
    entry& one = table.emplace_back();
    from.get(one.bytes);
    from.get(one.check);
  }
}

// --- writing ---

std::string sync_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const owned_descriptor fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return failed_call("open of its folder");
  // EINVAL: a file system whose folders cannot be synchronised.
  return ::fsync(fd.get()) != 0 && errno != EINVAL ? failed_call("fsync of its folder") : "";
}

std::string checkpoint_file_name(int first_pe, int pes_here) {
  return "pes-" + std::to_string(first_pe) + "-" + std::to_string(first_pe + pes_here - 1);
}

std::string write_checkpoint_file(const std::string& path, checkpoint_head head, std::span<const saved_parts> parts) {
  std::uint64_t data_bytes = 0;
  for (const saved_parts& of_pe : parts) {
    for (const checkpoint_writer& part : of_pe) {
      crc32c check;
      part.each_piece([&check](std::span<const std::byte> piece) { check.add(piece); });
      head.table.push_back({part.size(), check.value()});
      data_bytes += part.size();
    }
  }
  const auto head_bytes = saved_bytes(head);
  fixed_head fixed{checkpoint_magic, checkpoint_format, 0, head_bytes.size(), 0};
  fixed.file_bytes = sizeof fixed + head_bytes.size() + data_bytes;
  fixed.check = check_of_head(fixed, head_bytes);

  const std::string unfinished = path + ".unfinished";
  growing_file file(unfinished);
  file.write(std::as_bytes(std::span(&fixed, 1)));
  file.write(head_bytes);
  for (const saved_parts& of_pe : parts) {
    for (const checkpoint_writer& part : of_pe) {
      part.each_piece([&file](std::span<const std::byte> piece) { file.write(piece); });
    }
  }
  file.finish();
  std::string failure = file.failure();
  if (failure.empty() && ::rename(unfinished.c_str(), path.c_str()) != 0) failure = failed_call("rename");
  if (failure.empty()) failure = sync_folder_of(path);
  if (failure.empty()) failure = sync_folder_of(path.substr(0, path.rfind('/')));
  if (failure.empty()) return {};
  ::unlink(unfinished.c_str());
  ::unlink(path.c_str());
  return path + ": " + failure;
}

// --- reading ---

checkpoint_file::checkpoint_file(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) throw error(error_number(961), path_ + ": " + failed_call("open"), {.native = errno});
  try {
    read_head();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}
checkpoint_file::~checkpoint_file() { ::close(fd_); }

void checkpoint_file::read_head() {
  struct stat about{};
  if (::fstat(fd_, &about) != 0) throw error(error_number(961), path_ + ": " + failed_call("fstat"), {.native = errno});
  const auto bytes = static_cast<std::uint64_t>(about.st_size);
  fixed_head fixed{};
  if (bytes < sizeof fixed) refuse("has " + std::to_string(bytes) + " bytes, which is less than its head takes");
  read(std::as_writable_bytes(std::span(&fixed, 1)), 0);
  if (fixed.magic != checkpoint_magic) refuse("does not begin as a checkpoint does");
  if (fixed.head_bytes > bytes - sizeof fixed) refuse("ends amid its head, or the head's length is damaged");
  std::vector<std::byte> head(static_cast<std::size_t>(fixed.head_bytes));
  read(head, sizeof fixed);
  if (check_of_head(fixed, head) != fixed.check) refuse("has a damaged head: its checksum is another one");
  if (fixed.format != checkpoint_format) {
    throw error(error_number(967), path_ + ": has format " + std::to_string(fixed.format) +
                                       ", and this program reads and writes format " +
                                       std::to_string(checkpoint_format) +
                                       ": go on with a program that is built with the version of Shunt that wrote it");
  }
  if (fixed.file_bytes != bytes) {
    refuse("has " + std::to_string(bytes) + " bytes, and should have " + std::to_string(fixed.file_bytes));
  }
  checkpoint_reader from(head, path_);
  from.get(head_);
  if (from.left() != 0 || !head_.is_sound()) refuse("has a head that contradicts itself");
  data_ = sizeof fixed + fixed.head_bytes;
  std::uint64_t data = 0;
  for (const auto& each : head_.table) data += each.bytes;
  if (data != bytes - data_) refuse("has a table of " + std::to_string(data) + " bytes, which are not there");
}

std::string checkpoint_file::name_of(int pe, std::size_t part) const {
  return path_ + ": PE " + std::to_string(pe) + ", part " + std::to_string(part + 1) + " (" + head_.of.layout[part] +
         ")";
}

std::vector<std::byte> checkpoint_file::part(int pe, std::size_t part) const {
  const auto& wanted = head_.of_part(pe, part);
  std::uint64_t at = data_;
  for (const auto* each = head_.table.data(); each != &wanted; ++each) at += each->bytes;
  std::vector<std::byte> bytes(static_cast<std::size_t>(wanted.bytes));
  read(bytes, at);
  if (crc32c::of(bytes) != wanted.check) {
    throw error(error_number(958),
                name_of(pe, part) +
                    " is damaged: its checksum is another one. Remove the folder of this generation, "
                    "and the one before it is used",
                {.pe = pe});
  }
  return bytes;
}

void checkpoint_file::read(std::span<std::byte> into, std::uint64_t at) const {
  while (!into.empty()) {
    const ssize_t n = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw error(error_number(961), path_ + ": " + failed_call("read"), {.native = errno});
    if (n == 0) refuse("has become shorter while it was read");
    into = into.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
}

void checkpoint_file::refuse(const std::string& why) const {
  throw error(error_number(958),
              path_ + ": " + why + ". Remove the folder of this generation, and the one before it is used");
}

}  // namespace detail
}  // namespace pgas
}  // namespace v1
}  // namespace shunt
