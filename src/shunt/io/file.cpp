#include <shunt/io/file.hpp>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shunt/io/detail/descriptor_state.hpp>
#include <shunt/io/detail/helper_pool.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/detail/ring.hpp>
#include <shunt/io/detail/transfer.hpp>
#include <shunt/sched/observe/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace io {
namespace {

using detail::file_call;
using detail::outcome;

int flags(file::mode how) noexcept {
  switch (how) {
    case file::mode::read: return O_RDONLY;
    case file::mode::update: return O_RDWR;
    case file::mode::create: return O_RDWR | O_CREAT;
    case file::mode::replace: return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

/// The system call, once.
ssize_t make(const file_call& what) noexcept {
  const auto offset = static_cast<off_t>(what.offset);
  switch (what.what) {
    case file_call::kind::open:
      return ::open(reinterpret_cast<const char*>(what.at), what.flags, detail::new_file_mode);
    case file_call::kind::read: return ::pread(what.fd, what.at, what.size, offset);
    case file_call::kind::write: return ::pwrite(what.fd, what.at, what.size, offset);
    case file_call::kind::sync: return ::fsync(what.fd);
  }
  return -1;
}

/// A helper: the system call, again after each signal.
outcome make_on_helper(const file_call& what) noexcept {
  for (;;) {
    const auto result = make(what);
    if (result >= 0) return {static_cast<std::size_t>(result), {}};
    if (errno != EINTR) return {0, detail::error::of_errno()};
  }
}

/// Makes the call for the part that is left, until all has moved or a call moves nothing.
template <typename Call>
outcome repeat(const file_call& all, const Call& call) {
  outcome done;
  for (;;) {
    const outcome one = call(all.from(done.moved));
    done.moved += one.moved;
    done.ec = one.ec;
    if (one.ec || one.moved == 0 || done.moved >= all.size) return done;
  }
}

/// While one lives, reports name the file that this fiber waits for, behind what they said of the fiber before.
class noted_call final : sched::detail::work_note {
 public:
  explicit noted_call(const file_call& what) : what_(what), before_(sched::detail::work_of_this_fiber()) {
    work_note::write = note;
    sched::detail::set_work_of_this_fiber(this);
  }
  ~noted_call() { sched::detail::set_work_of_this_fiber(before_); }
  noted_call(const noted_call&) = delete;
  noted_call& operator=(const noted_call&) = delete;

 private:
  static void note(const work_note& self, std::uint32_t now_ms, sched::detail::note_text& to) noexcept {
    const auto& it = static_cast<const noted_call&>(self);
    if (it.before_ != nullptr) {
      it.before_->write(*it.before_, now_ms, to);
      to << ", ";
    }
    switch (it.what_.what) {
      case file_call::kind::open: to << "to open " << reinterpret_cast<const char*>(it.what_.at); return;
      case file_call::kind::read: to << "to read from"; break;
      case file_call::kind::write: to << "to write to"; break;
      case file_call::kind::sync: to << "to sync"; break;
    }
    to << " descriptor " << std::int64_t{it.what_.fd};
    char link[32] = "/proc/self/fd/";
    const auto digits = link + std::char_traits<char>::length(link);
    *std::to_chars(digits, link + sizeof link - 1, it.what_.fd).ptr = '\0';
    char path[160];
    const auto length = ::readlink(link, path, sizeof path);
    if (length > 0) to << ", " << std::string_view(path, static_cast<std::size_t>(length));
  }

  const file_call& what_;
  const work_note* const before_;
};

/// Lets the kernel or a helper make the call: this fiber waits, its worker does not.
outcome perform_off_worker(const file_call& all, const deadline& until) {
  const noted_call noted(all);
  auto& here = detail::loop::current();
  if (auto* const kernel = here.files()) {
    return repeat(all, [&](const file_call& left) { return kernel->perform(left, until); });
  }
  outcome done;
  const auto ec = here.helpers().perform([&]() noexcept { done = repeat(all, make_on_helper); }, until);
  if (ec) return {0, ec};
  return done;
}

outcome on_file(const char* name, detail::descriptor_state* on, file_call all, const deadline& until) {
  sched::this_fiber::require_wait(until.call(name));
  if (on == nullptr || on->closed()) return {0, errc::closed};
  const sched::this_fiber::stay here;  // the ring that makes the call is this worker's
  all.fd = on->number();
  auto done = perform_off_worker(all, until);
  if (done.ec == detail::error::of_system(EBADF)) done.ec = on->failed(EBADF);
  return done;
}

outcome read_file(detail::descriptor_state* on, std::uint64_t at, buffer into, const deadline& until) {
  return on_file("read_at", on, {file_call::kind::read, -1, into.data(), into.size(), at}, until);
}

outcome write_file(detail::descriptor_state* on, std::uint64_t at, const_buffer what, const deadline& until) {
  // const_cast: write(2) only reads the bytes.
  auto* const from = const_cast<std::byte*>(what.data());
  return on_file("write_at", on, {file_call::kind::write, -1, from, what.size(), at}, until);
}

}  // namespace

file::file(const std::string& path, mode how, const deadline& until) : path_(path) {
  sched::this_fiber::require_wait(until.call("open"));
  std::string name(path);
  file_call all{file_call::kind::open, -1, reinterpret_cast<std::byte*>(name.data())};
  all.flags = flags(how) | O_CLOEXEC;
  const auto done = perform_off_worker(all, until);
  if (done.ec) detail::raise("open " + path, done, until.where());
  base_ = descriptor(detail::descriptor_state::acquire(static_cast<int>(done.moved)));
}

std::size_t file::read_at(std::uint64_t at, buffer into, std::error_code& ec, const deadline& until) {
  const auto done = read_file(base_.state(), at, into, until);
  ec = done.ec;
  return done.moved;
}
std::size_t file::read_at(std::uint64_t at, buffer into, const deadline& until) {
  const auto done = read_file(base_.state(), at, into, until);
  if (done.ec) detail::raise("read_at from " + path_, done, until.where());
  return done.moved;
}

std::size_t file::write_at(std::uint64_t at, const_buffer what, std::error_code& ec, const deadline& until) {
  const auto done = write_file(base_.state(), at, what, until);
  ec = done.ec;
  return done.moved;
}
void file::write_at(std::uint64_t at, const_buffer what, const deadline& until) {
  const auto done = write_file(base_.state(), at, what, until);
  if (done.ec) detail::raise("write_at to " + path_, done, until.where());
}

std::uint64_t file::size() const {
  if (!base_.is_open()) throw io_error("size of " + path_, errc::closed);
  struct stat is{};
  if (fstat(base_.state()->number(), &is) != 0) throw io_error("size of " + path_, base_.state()->failed(errno));
  return static_cast<std::uint64_t>(is.st_size);
}

void file::sync(const deadline& until) {
  const auto done = on_file("sync", base_.state(), {file_call::kind::sync}, until);
  if (done.ec) detail::raise("sync of " + path_, done, until.where());
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
