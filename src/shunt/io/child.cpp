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

#include <shunt/base/error.hpp>
#include <shunt/io/detail/helpers.hpp>
#include <shunt/io/detail/loop.hpp>
#include <shunt/io/detail/watch.hpp>
#include <shunt/io/failure.hpp>
#include <shunt/io/signals.hpp>

namespace shunt {
inline namespace v1 {
namespace io {

struct child::life {
  descriptor process;  // a pidfd: it stays this process's, whatever becomes of the number
  pid_t number = -1;
  std::string name;
  std::optional<ended> end;
  std::unique_ptr<life> next;  // among those that are to be buried
};

namespace {

using use = child_options::use;

std::error_code system_error() noexcept { return {errno, std::system_category()}; }

/// An end of a pipe, until somebody takes it.
class owned {
 public:
  owned() noexcept = default;
  explicit owned(int fd) noexcept : fd_(fd) {}
  ~owned() {
    if (fd_ >= 0) ::close(fd_);
  }
  owned(owned&& other) noexcept : fd_(other.take()) {}
  owned& operator=(owned&& other) noexcept {
    owned(std::move(other)).swap(*this);
    return *this;
  }
  void swap(owned& other) noexcept { std::swap(fd_, other.fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int take() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// One of a child's first three descriptors, as asked for.
struct line {
  use how;
  int number;  // 0, 1, 2
  owned theirs;
  owned ours;
};

std::error_code open_pipe(line& one) noexcept {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error();
  owned out(ends[0]), in(ends[1]);
  const bool reads = one.number == STDIN_FILENO;
  one.ours = std::move(reads ? in : out);
  one.theirs = std::move(reads ? out : in);
  if (one.theirs.get() > STDERR_FILENO) return {};
  // It would be in the way when the child's are put into their places.
  const int above = fcntl(one.theirs.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (above < 0) return system_error();
  one.theirs = owned(above);
  return {};
}

/// What posix_spawn is told, freed at the end. Its functions fail for want of memory only.
class orders {
 public:
  orders() {
    must(posix_spawn_file_actions_init(&actions_));
    if (const int code = posix_spawnattr_init(&attributes_)) {
      posix_spawn_file_actions_destroy(&actions_);
      must(code);
    }
  }
  ~orders() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  orders(const orders&) = delete;
  orders& operator=(const orders&) = delete;

  void connect(const line& one) {
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
  void free_signals() {
    sigset_t none, pipe;
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    must(posix_spawnattr_setsigmask(&attributes_, &none));
    must(posix_spawnattr_setsigdefault(&attributes_, &pipe));
    must(posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  /// \return 0, or errno.
  int start(pid_t& made, const char* program, char* const* arguments, char* const* environment) const noexcept {
    return posix_spawnp(&made, program, &actions_, &attributes_, arguments, environment);
  }

 private:
  static void must(int code) {
    if (code != 0) throw std::bad_alloc();
  }
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// As exec wants them: pointers, and a null behind. They point into `texts`.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// \return 0: it lives; 1: it has ended, and `end` says how; -1 and errno.
int look(int pidfd, ended& end) noexcept {
  siginfo_t is{};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd), &is, WEXITED | WNOHANG) != 0) return -1;
  if (is.si_pid == 0) return 0;
  end = is.si_code == CLD_EXITED ? ended{is.si_status, 0} : ended{-1, is.si_status};
  return 1;
}

bool signal_to(int pidfd, int signal) noexcept {
  return syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0U) == 0;
}

/// A child that cannot be kept: a thread waits, for as long as it takes to die.
void end_now(pid_t number) noexcept {
  ::kill(number, SIGKILL);
  while (waitpid(number, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void check(const std::string& program, const child_options& how) {
  if (program.empty()) throw usage_error("spawn: the program has no name");
  if (how.in == use::as_out || how.out == use::as_out) {
    throw usage_error("spawn " + program + ": only `err` can go where `out` goes");
  }
}

}  // namespace

std::string ended::text() const { return signal != 0 ? signal_name(signal) : "status " + std::to_string(status); }

child::child() noexcept = default;
child::child(child&& other) noexcept = default;

child& child::operator=(child&& other) noexcept {
  if (this == &other) return *this;
  bury(std::exchange(life_, std::move(other.life_)));
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  return *this;
}

child::~child() { bury(std::move(life_)); }

/// Takes every killed child that is dead from the system, and `one`, which is killed first, if it is.
void child::bury(std::unique_ptr<life> one) noexcept {
  struct yard {
    std::mutex lock;
    std::unique_ptr<life> first;
  };
  static yard& all = *new yard;  // never destroyed: children may be, after main()
  const auto gone = [](const life& of) {
    ended end;
    return of.end || look(of.process.native(), end) != 0;  // ECHILD: somebody else's work
  };
  if (one != nullptr && !one->end) signal_to(one->process.native(), SIGKILL);
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

pid_t child::id() const noexcept { return life_ == nullptr ? -1 : life_->number; }

child spawn(const std::string& program, const std::vector<std::string>& arguments, const child_options& how,
            const limit& how_long) {
  check(program, how);
  sched::this_fiber::require_wait("spawn");
  auto& helpers = detail::loop::current().pool();
  child::bury(nullptr);
  const auto need = [&](std::error_code bad) {
    if (bad) throw failure("spawn " + program, bad);
  };

  std::array<line, 3> lines{line{how.in, STDIN_FILENO, {}, {}}, line{how.out, STDOUT_FILENO, {}, {}},
                            line{how.err, STDERR_FILENO, {}, {}}};
  orders told;
  told.free_signals();
  told.begin_in(how.folder);
  for (auto& one : lines) {
    if (one.how == use::pipe) need(open_pipe(one));
    told.connect(one);
  }
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto with = pointers(words);
  auto variables = how.environment.value_or(std::vector<std::string>{});
  const auto own = pointers(variables);

  auto life = std::make_unique<child::life>();
  int pidfd = -1;
  int code = 0;
  need(helpers.perform(
      [&]() noexcept {
        code = told.start(life->number, program.c_str(), with.data(), how.environment ? own.data() : environ);
        if (code != 0) return;
        pidfd = static_cast<int>(syscall(SYS_pidfd_open, life->number, 0U));
        if (pidfd >= 0) return;
        code = errno;
        end_now(life->number);
      },
      how_long));
  need({code, std::system_category()});
  try {
    life->process = descriptor(detail::watch::take(pidfd));
  } catch (...) {
    end_now(life->number);
    throw;
  }
  child made;
  made.life_ = std::move(life);  // from here on it is killed if anything fails
  auto& name = made.life_->name;
  name = program + " (process " + std::to_string(made.id()) + ")";
  if (how.in == use::pipe) made.in_ = sink(lines[0].ours.take(), "the input of " + name);
  if (how.out == use::pipe) made.out_ = source(lines[1].ours.take(), "the output of " + name);
  if (how.err == use::pipe) made.err_ = source(lines[2].ours.take(), "the errors of " + name);
  return made;
}

child spawn(const std::string& program, const std::vector<std::string>& arguments, const child_options& how,
            std::error_code& bad, const limit& how_long) {
  try {
    bad.clear();
    return spawn(program, arguments, how, how_long);
  } catch (const failure& why) {
    bad = why.code();
    return {};
  }
}

ended child::wait(std::error_code& bad, const limit& how_long) {
  bad.clear();
  if (life_ == nullptr) {
    bad = errc::closed;
    return {};
  }
  if (life_->end) return *life_->end;
  ended end;
  bad = detail::perform("wait", life_->process.state(), detail::side::in, how_long, [&](int fd) {
          const int found = look(fd, end);
          if (found == 0) errno = EAGAIN;
          return found > 0 ? 0 : -1;
        }).bad;
  if (!bad) life_->end = end;
  return end;
}

ended child::wait(const limit& how_long) {
  std::error_code bad;
  const auto end = wait(bad, how_long);
  if (bad) throw failure("wait for " + (life_ == nullptr ? std::string("no child") : life_->name), bad);
  return end;
}

bool child::kill(int signal) {
  if (life_ == nullptr) return false;
  if (signal_to(life_->process.native(), signal)) return true;
  if (errno == ESRCH) return false;
  const auto bad = system_error();
  throw failure("kill of " + life_->name, bad);
}

}  // namespace io
}  // namespace v1
}  // namespace shunt
