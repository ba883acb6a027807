#include "daq/generator.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <shunt/sched.hpp>
#include <shunt/task.hpp>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "daq/start_line.hpp"

namespace shunt::daq {
namespace {

using clock = std::chrono::steady_clock;

[[noreturn]] void system_failed(const char* call) { throw io::io_error(call, {errno, std::system_category()}); }

/// A number of the system's, closed unless it was given away.
class owned {
 public:
  explicit owned(int fd = -1) noexcept : fd_(fd) {}
  owned(owned&& other) noexcept : fd_(other.release()) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~owned() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct both_ends {
  owned read;
  owned write;
};

/// Makes channels.
class maker {
 public:
  explicit maker(link over) : over_(over) {
    if (over == link::tcp) listen_anywhere();
  }

  both_ends make() {
    int ends[2];
    switch (over_) {
      case link::unix_socket:
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
          system_failed("socketpair");
        }
        break;
      case link::pipe:
        if (::pipe2(ends, O_CLOEXEC) != 0) system_failed("pipe2");
        break;
      case link::tcp: return connect();
    }
    return {owned(ends[0]), owned(ends[1])};
  }

 private:
  void listen_anywhere() {
    door_ = owned(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (door_.get() < 0) system_failed("socket");
    where_.sin_family = AF_INET;
    where_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const at = reinterpret_cast<sockaddr*>(&where_);
    socklen_t length = sizeof where_;
    if (::bind(door_.get(), at, length) != 0 || ::listen(door_.get(), 1) != 0 ||
        ::getsockname(door_.get(), at, &length) != 0) {
      system_failed("listen at 127.0.0.1");
    }
  }
  both_ends connect() {
    owned write(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;  // frames leave at once
    if (write.get() < 0 || ::setsockopt(write.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        ::connect(write.get(), reinterpret_cast<const sockaddr*>(&where_), sizeof where_) != 0) {
      system_failed("connect to 127.0.0.1");
    }
    owned read(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (read.get() < 0) system_failed("accept at 127.0.0.1");
    return {std::move(read), std::move(write)};
  }

  const link over_;
  owned door_;
  sockaddr_in where_{};
};

// --- descriptors and bytes over the control socket; both sides block ---

/// One byte and a descriptor with it: SCM_RIGHTS of unix(7).
struct parcel {
  parcel() noexcept {
    about.msg_iov = &bytes;
    about.msg_iovlen = 1;
    about.msg_control = room.data();
    about.msg_controllen = room.size();
  }
  parcel(const parcel&) = delete;
  parcel& operator=(const parcel&) = delete;

  char byte = 'c';
  iovec bytes{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr about{};
};

bool pass(int control, int fd) noexcept {
  parcel out;
  cmsghdr* const with = CMSG_FIRSTHDR(&out.about);
  with->cmsg_level = SOL_SOCKET;
  with->cmsg_type = SCM_RIGHTS;
  with->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(with), &fd, sizeof fd);
  return ::sendmsg(control, &out.about, MSG_NOSIGNAL) == 1;
}

/// -1: the other side is gone, or sent something else.
int receive(int control) noexcept {
  parcel in;
  if (::recvmsg(control, &in.about, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* const with = CMSG_FIRSTHDR(&in.about);
  int fd = -1;
  if (with != nullptr && with->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
  }
  return fd;
}

bool send_all(int control, const void* from, std::size_t bytes) noexcept {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const auto gone = ::send(control, at, bytes, MSG_NOSIGNAL);
    if (gone < 0 && errno == EINTR) continue;
    if (gone <= 0) return false;
    at += gone;
    bytes -= static_cast<std::size_t>(gone);
  }
  return true;
}

bool receive_all(int control, void* into, std::size_t bytes) noexcept {
  auto* at = static_cast<char*>(into);
  while (bytes > 0) {
    const auto come = ::recv(control, at, bytes, 0);
    if (come < 0 && errno == EINTR) continue;
    if (come <= 0) return false;
    at += come;
    bytes -= static_cast<std::size_t>(come);
  }
  return true;
}

static_assert(std::is_trivially_copyable_v<sent> && std::is_trivially_copyable_v<share>);
// What the generator says: a tag, and what belongs to it.
constexpr char written_tag = 'w';
constexpr char report_tag = 'r';  // `sent`, one a channel
constexpr char failed_tag = 'f';  // text, up to the end

// --- the process ---

/// Spoils frame `sequence` of `channel`, in one of five ways that take turns from channel to
/// channel.
/// \return its bytes.
std::size_t garble(std::span<std::byte, most_frame_bytes> frame, std::size_t bytes, std::uint32_t channel) noexcept {
  auto h = read_head(frame.first<head_bytes>());
  const auto samples = frame.subspan(head_bytes, bytes - head_bytes);
  switch (channel % 5) {
    case 0: h.magic ^= 0x20; break;
    case 1: ++h.channel; break;
    case 2: ++h.sequence; break;
    case 3: h.bytes = most_frame_bytes; break;
    default: samples[samples.size() / 2] ^= std::byte{0x10}; break;
  }
  if (channel % 5 == 1 || channel % 5 == 2) h.checksum = checksum_of(h, samples);
  write_head(frame.first<head_bytes>(), h);
  return bytes;
}

/// The fibers of the process, all on one worker.
class senders {
 public:
  senders(const settings& s, const share& mine, int control)
      : s_(s), mine_(mine), control_(control), report_(mine.of(s.channels)) {}

  void run(std::vector<int> channels) {
    sched::options one;
    one.workers = 1;
    one.pin = false;  // beside the acquisition, which may have as many workers as there are CPUs
    one.stack_bytes = 64 * 1024;
    sched::runtime worker(one);
    const io::reactor waits(worker);
    unwritten_ = static_cast<std::uint32_t>(channels.size());
    worker.run([&] {
      finish([&] {
        try {
          for (std::uint32_t i = 0; i < channels.size(); ++i) {
            async([this, i, fd = channels[i], me = line_.enter()]() mutable {
              me.wait();
              send(mine_.channel(i), fd, report_[i]);
            });
          }
          line_.start([this] { start_ = clock::now(); });
        } catch (...) {
          line_.give_up(std::current_exception());
          throw;
        }
      });
    });
  }
  [[nodiscard]] const std::vector<sent>& report() const noexcept { return report_; }

 private:
  void send(std::uint32_t c, int fd, sent& mine) {
    io::sink to(fd);
    const auto fails = plan_of(s_, c);
    mine.what = fails.what;
    std::array<std::byte, most_frame_bytes> frame;
    for (std::uint64_t n = 0; goes_on(c, n, fails); ++n) {
      if (s_.rate > 0) io::sleep_until(due(c, n));
      reading said;
      auto bytes = make_frame(c, n, frame, said);
      ++mine.frames;
      const bool now = fails.what != fault::none && n == fails.at;
      if (now && fails.what == fault::garbled) bytes = garble(frame, bytes, c);
      if (now && fails.what != fault::garbled) bytes /= 2;
      if (fails.what == fault::none || n < fails.at) mine.good.add(said);
      std::error_code bad;
      to.write({frame.data(), bytes}, bad);
      if (bad) break;  // it was closed there: rightly, if the fault was made
      if (now && fails.what == fault::hung_up) break;
      if (now && fails.what == fault::stalled) {
        wrote_all();
        to.base().readable(bad);  // until it is closed there
        return;
      }
      sched::this_fiber::yield();  // channels come forward together
    }
    to.close();  // the end is a part of what comes
    wrote_all();
  }

  [[nodiscard]] bool goes_on(std::uint32_t c, std::uint64_t n, const plan& fails) const {
    if (s_.frames != 0) return n < s_.frames;
    if (fails.what != fault::none && n <= fails.at) return true;  // what was asked for happens
    if (s_.rate > 0) return due(c, n) - start_ < s_.duration;
    return n == 0 ||
           clock::now() - start_ < s_.duration;  // one at least, should the time be over before all have begun
  }
  /// Channels begin one after the other, not all in the same moment.
  [[nodiscard]] clock::time_point due(std::uint32_t c, std::uint64_t n) const {
    const double phase = static_cast<double>(c) / s_.channels;
    const std::chrono::duration<double> after{(static_cast<double>(n) + phase) / s_.rate};
    return start_ + std::chrono::duration_cast<clock::duration>(after);
  }
  std::size_t make_frame(std::uint32_t c, std::uint64_t n, std::span<std::byte, most_frame_bytes> into,
                         reading& said) const {
    std::array<sample, most_samples> room;
    return write_frame(into, c, n, make_samples(s_, c, n, room), said);
  }
  void wrote_all() {
    if (--unwritten_ == 0) send_all(control_, &written_tag, 1);
  }

  const settings& s_;
  const share mine_;
  const int control_;
  start_line line_;
  clock::time_point start_;
  std::uint32_t unwritten_ = 0;
  std::vector<sent> report_;
};

/// All that the process does. \return its exit status.
int generate(const settings& s, int control) noexcept {
  try {
    share mine;
    if (!receive_all(control, &mine, sizeof mine)) return 1;  // the acquisition gave up
    std::vector<int> channels;
    while (channels.size() < mine.of(s.channels)) {
      channels.push_back(receive(control));
      if (channels.back() < 0) return 1;  // the acquisition gave up
    }
    char go = 0;
    if (!receive_all(control, &go, 1)) return 1;
    senders all(s, mine, control);
    all.run(std::move(channels));
    const bool told =
        send_all(control, &report_tag, 1) && send_all(control, all.report().data(), all.report().size() * sizeof(sent));
    return told ? 0 : 1;
  } catch (const std::exception& bad) {
    static_cast<void>(send_all(control, &failed_tag, 1) && send_all(control, bad.what(), std::strlen(bad.what())));
    return 1;
  }
}

}  // namespace

generator::generator(const settings& s) : generator(s, unopened()) { open({}); }

generator::generator(const settings& s, unopened) : channels_(s.channels), over_(s.over) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) system_failed("socketpair");
  process_.control = ends[0];
  const owned there(ends[1]);
  const pid_t parent = ::getpid();
  process_.id = ::fork();
  if (process_.id < 0) system_failed("fork");
  if (process_.id == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it ended before that call
    ::close(process_.control);
    ::_exit(generate(s, there.get()));
  }
}

void generator::open(const share& mine) {
  if (!send_all(process_.control, &mine, sizeof mine)) fail();
  maker make(over_);
  count_ = mine.of(channels_);
  ends_.reserve(count_);
  for (std::uint32_t i = 0; i < count_; ++i) {
    auto fresh = make.make();
    if (!pass(process_.control, fresh.write.get())) system_failed("pass a channel to the generator");
    if (over_ == link::pipe) {
      ends_.emplace_back(std::in_place_type<io::source>, fresh.read.release(), "a channel");
    } else {
      ends_.emplace_back(std::in_place_type<io::stream>, fresh.read.release());
    }
  }
}

generator::process::~process() {
  if (control >= 0) ::close(control);
  if (id > 0) {
    ::kill(id, SIGKILL);
    ::waitpid(id, nullptr, 0);
  }
}

int generator::process::wait() {
  int status = 0;
  if (::waitpid(std::exchange(id, -1), &status, 0) < 0) system_failed("waitpid");
  return status;
}

void generator::go() {
  const char byte = 'g';
  if (!send_all(process_.control, &byte, 1)) fail();
}

void generator::wait_until_written() { read_to(written_tag); }

std::vector<sent> generator::finish() {
  read_to(report_tag);
  std::vector<sent> all(count_);
  read(all.data(), all.size() * sizeof(sent));
  process_.wait();
  return all;
}

void generator::read_to(char tag) {
  for (char said = 0; said != tag;) {
    read(&said, 1);
    if (said == failed_tag) {
      std::string text;
      for (char c = 0; receive_all(process_.control, &c, 1);) text += c;
      throw error(error_number(1107), "the generator failed: " + text);
    }
  }
}

void generator::read(void* into, std::size_t bytes) {
  if (!receive_all(process_.control, into, bytes)) fail();
}

void generator::fail() {
  const int status = process_.wait();
  throw error(error_number(1107), "the generator ended too early, " +
                                      (WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                                           : "with status " + std::to_string(WEXITSTATUS(status))));
}

}  // namespace shunt::daq
