#include <shunt/io/child.hpp>

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/io/detail/descriptor_state.hpp>
#include <shunt/io/detail/helper_pool.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/detail/system_call.hpp>
#include <shunt/io/io_error.hpp>
#include <shunt/io/signals.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

struct child::process {
  descriptor pidfd;  // names this process for ever, unlike its number
  pid_t number = -1;
  std::string name;
  std::optional<ended> end;
  std::unique_ptr<process> next;  // in reap()'s list
};

namespace {

using detail::system_error;
using use = child_options::use;

/// Closes its descriptor at the end, unless take() gave it away.
class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  ~unique_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  unique_fd(unique_fd&& other) noexcept : fd_(other.take()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    unique_fd(std::move(other)).swap(*this);
    return *this;
  }
  void swap(unique_fd& other) noexcept { std::swap(fd_, other.fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int take() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// One of the child's first three descriptors.
struct standard_stream {
  use how;
  int number;  // 0, 1, 2
  unique_fd theirs;
  unique_fd ours;
};

std::error_code open_pipe(standard_stream& one) noexcept {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error();
  unique_fd out(ends[0]), in(ends[1]);
  const bool reads = one.number == STDIN_FILENO;
  one.ours = std::move(reads ? in : out);
  one.theirs = std::move(reads ? out : in);
  if (one.theirs.get() > STDERR_FILENO) return {};
  // A number of 0..2 would be overwritten when the child's descriptors are moved to their places.
  const int above = fcntl(one.theirs.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (above < 0) return system_error();
  one.theirs = unique_fd(above);
  return {};
}

/// The actions and attributes of posix_spawn, destroyed at the end. Their functions fail only for want of memory.
class spawn_settings {
 public:
  spawn_settings() {
    must(posix_spawn_file_actions_init(&actions_));
    if (const int code = posix_spawnattr_init(&attributes_)) {
      posix_spawn_file_actions_destroy(&actions_);
      must(code);
    }
  }
  ~spawn_settings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  spawn_settings(const spawn_settings&) = delete;
  spawn_settings& operator=(const spawn_settings&) = delete;

  void connect(const standard_stream& one) {
    switch (one.how) {
      case use::ours: return;
      case use::nothing: return must(posix_spawn_file_actions_addopen(&actions_, one.number, "/dev/null", O_RDWR, 0));
      case use::pipe: return must(posix_spawn_file_actions_adddup2(&actions_, one.theirs.get(), one.number));
      case use::as_out: return must(posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, one.number));
    }
  }
  void begin_in(const std::string& folder) {
    if (!folder.empty()) must(posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()));
  }
  void unblock_signals() {
    sigset_t none, pipe;
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    must(posix_spawnattr_setsigmask(&attributes_, &none));
    must(posix_spawnattr_setsigdefault(&attributes_, &pipe));
    must(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  /// \return 0, or errno.
  int spawn(pid_t& made, const char* program, char* const* arguments, char* const* environment) const noexcept {
    return posix_spawnp(&made, program, &actions_, &attributes_, arguments, environment);
  }

 private:
  static void must(int code) {
    if (code != 0) throw std::bad_alloc();
  }
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// The form that exec takes: pointers into `texts`, and a null behind.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Asks for the end of a process, and reaps it. \return 0: it lives; 1: it has ended, and `end` says how; -1 and errno.
int try_wait(int pidfd, ended& end) noexcept {
  siginfo_t is{};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd), &is, WEXITED | WNOHANG) != 0) return -1;
  if (is.si_pid == 0) return 0;
  end = is.si_code == CLD_EXITED ? ended{is.si_status, 0} : ended{-1, is.si_status};
  return 1;
}

bool signal_to(int pidfd, int signal) noexcept {
  return syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0U) == 0;
}

/// For a child without a `process`: kills it, and blocks the thread until it is dead.
void kill_and_wait(pid_t number) noexcept {
  ::kill(number, SIGKILL);
  while (waitpid(number, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void check(const std::string& program, const child_options& how, call_site call) {
  if (program.empty()) {
    throw usage_error(error_number(315), "spawn: the program has no name" + call.place(), call.where());
  }
  if (how.in == use::as_out || how.out == use::as_out) {
    throw usage_error(error_number(316), "spawn " + program + ": only `err` can go where `out` goes" + call.place(),
                      call.where());
  }
}

struct spawned {
  pid_t number = -1;
  int pidfd = -1;
  int code = 0;  // errno; then there is no process
};

/// A helper, as posix_spawn blocks its thread until the child has called exec. Opens the pidfd before any other code
/// can reap the child.
spawned spawn_process(const spawn_settings& settings, const std::string& program, char* const* arguments,
                      char* const* environment) noexcept {
  spawned made;
  made.code = settings.spawn(made.number, program.c_str(), arguments, environment);
  if (made.code != 0) return made;
  made.pidfd = static_cast<int>(syscall(SYS_pidfd_open, made.number, 0U));
  if (made.pidfd >= 0) return made;
  made.code = errno;
  kill_and_wait(made.number);
  return made;
}

}  // namespace

std::string ended::text() const { return signal != 0 ? signal_name(signal) : "status " + std::to_string(status); }

child::child() noexcept = default;
child::child(child&& other) noexcept = default;

child& child::operator=(child&& other) noexcept {
  if (this == &other) return *this;
  reap(std::exchange(process_, std::move(other.process_)));
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  return *this;
}

child::~child() { reap(std::move(process_)); }

/// Kills `one` if it has not ended, then reaps it and every child killed before, as far as they are dead. Keeps the
/// others in a list, since a destructor must not wait for them.
void child::reap(std::unique_ptr<process> one) noexcept {
  struct zombies {
    std::mutex lock;
    std::unique_ptr<process> first;
  };
  static zombies& all = *new zombies;  // never destroyed: the program may destroy children after main()
  const auto gone = [](const process& of) {
    ended end;
    return of.end || try_wait(of.pidfd.native(), end) != 0;  // ECHILD: other code has reaped it
  };
  if (one != nullptr && !one->end) signal_to(one->pidfd.native(), SIGKILL);
  const std::scoped_lock held(all.lock);
  for (auto* at = &all.first; *at != nullptr;) {
    if (gone(**at)) {
      *at = std::move((*at)->next);
    } else {
      at = &(*at)->next;
    }
  }
  if (one == nullptr || gone(*one)) return;
  one->next = std::move(all.first);
  all.first = std::move(one);
}

pid_t child::id() const noexcept { return process_ == nullptr ? -1 : process_->number; }

/// Prepares pipes, settings, arguments and the object first, so that as little as possible can fail once the process
/// lives.
child spawn(const std::string& program, const std::vector<std::string>& arguments, const child_options& how,
            const deadline& until) {
  check(program, how, until.call("spawn"));
  sched::this_fiber::require_wait(until.call("spawn"));
  auto& helpers = detail::loop::current().helpers();
  child::reap(nullptr);
  const auto need = [&](std::error_code ec) {
    if (ec) throw io_error("spawn " + program, ec, 0, until.where());
  };

  std::array<standard_stream, 3> streams{standard_stream{how.in, STDIN_FILENO, {}, {}},
                                         standard_stream{how.out, STDOUT_FILENO, {}, {}},
                                         standard_stream{how.err, STDERR_FILENO, {}, {}}};
  spawn_settings settings;
  settings.unblock_signals();
  settings.begin_in(how.folder);
  for (auto& one : streams) {
    if (one.how == use::pipe) need(open_pipe(one));
    settings.connect(one);
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto argv = pointers(words);
  auto variables = how.environment.value_or(std::vector<std::string>{});
  const auto own_environment = pointers(variables);
  auto* const* const environment = how.environment ? own_environment.data() : environ;
  auto process = std::make_unique<child::process>();

  spawned started;
  need(
      helpers.perform([&]() noexcept { started = spawn_process(settings, program, argv.data(), environment); }, until));
  need({started.code, std::system_category()});
  try {
    process->pidfd = descriptor(detail::descriptor_state::acquire(started.pidfd));
  } catch (...) {
    kill_and_wait(started.number);
    throw;
  }
  process->number = started.number;

  child made;
  made.process_ = std::move(process);  // from here on its destructor kills the process if anything fails
  auto& name = made.process_->name;
  name = program + " (process " + std::to_string(made.id()) + ")";
  if (how.in == use::pipe) made.in_ = sink(streams[0].ours.take(), "the input of " + name);
  if (how.out == use::pipe) made.out_ = source(streams[1].ours.take(), "the output of " + name);
  if (how.err == use::pipe) made.err_ = source(streams[2].ours.take(), "the errors of " + name);
  return made;
}

child spawn(const std::string& program, const std::vector<std::string>& arguments, const child_options& how,
            std::error_code& ec, const deadline& until) {
  try {
    ec.clear();
    return spawn(program, arguments, how, until);
  } catch (const io_error& failed) {
    ec = failed.code();
    return {};
  }
}

ended child::wait(std::error_code& ec, const deadline& until) {
  ec.clear();
  if (process_ == nullptr) {
    ec = errc::closed;
    return {};
  }
  if (process_->end) return *process_->end;
  ended end;
  const auto attempt = [&](int fd) {
    const int found = try_wait(fd, end);
    if (found == 0) errno = EAGAIN;
    return found > 0 ? 0 : -1;
  };
  ec = detail::perform("wait", process_->pidfd.state(), detail::side::in, until, attempt).ec;
  if (!ec) process_->end = end;
  return end;
}

ended child::wait(const deadline& until) {
  std::error_code ec;
  const auto end = wait(ec, until);
  if (ec)
    throw io_error("wait for " + (process_ == nullptr ? std::string("no child") : process_->name), ec, 0,
                   until.where());
  return end;
}

bool child::kill(int signal, std::source_location where) {
  if (process_ == nullptr) return false;
  if (signal_to(process_->pidfd.native(), signal)) return true;
  if (errno == ESRCH) return false;
  const auto ec = system_error();
  throw io_error("kill of " + process_->name, ec, 0, where);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
