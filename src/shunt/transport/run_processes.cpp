#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <shunt/base/error.hpp>
#include <shunt/transport/detail/job_memory.hpp>
#include <shunt/transport/detail/processes.hpp>
#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

/// How long the others have to name a process that a signal has ended; they look for it every 200 ms, and give each
/// other time to say so.
constexpr std::chrono::milliseconds time_to_name{4'000};
/// The same where one has ended with a status, and has said why: so that those that end likewise may do so in order.
constexpr std::chrono::milliseconds time_to_follow{250};
constexpr std::chrono::milliseconds look_interval{20};
constexpr int exec_failed = 127;
/// Programs and scripts take the lowest descriptors for their own files.
constexpr int first_descriptor = 200;

/// Statuses of Shunt's programs, which have said why: an error, a wrong option, a stop after a checkpoint.
constexpr bool tells_why(int status) { return status == 1 || status == 2 || status == 85; }

/// The same file, with a number that other programs do not use; else the number that it has.
owned_descriptor high(owned_descriptor file) {
  owned_descriptor copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, first_descriptor));
  return copy.get() < 0 ? std::move(file) : std::move(copy);
}

// By rank, 0: ended. pass_signals_on() reads them in a signal handler.
std::array<pid_t, most_processes> started{};
int started_count = 0;

/// In the process that becomes a rank. Only calls that may follow fork().
[[noreturn]] void become(pid_t launcher, char* const* words, char* const* variables, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == launcher) {  // else it has ended before the line above
    environ = const_cast<char**>(variables);
    ::execvp(words[0], words);
  }
  const int code = errno;
  [[maybe_unused]] const auto written = ::write(report, &code, sizeof code);
  ::_exit(exec_failed);
}

/// Variables of this process, and those that tell a rank which it is.
std::vector<std::string> variables_for(int rank, int ranks, int meeting, int trains) {
  std::vector<std::string> all;
  const std::string names[] = {std::string(rank_variable) + "=", std::string(job_variable) + "="};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    if (!pair.starts_with(names[0]) && !pair.starts_with(names[1])) all.emplace_back(pair);
  }
  all.push_back(names[0] + std::to_string(rank));
  all.push_back(names[1] + std::to_string(ranks) + "," + std::to_string(meeting) + "," + std::to_string(trains));
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const auto& w : words) all.push_back(const_cast<char*>(w.c_str()));
  all.push_back(nullptr);
  return all;
}

class job_processes {
 public:
  ~job_processes() { end_all(); }

  /// \throws usage_error if the program cannot be started, shunt::error if the system has no process left
  void start(int ranks, const std::vector<std::string>& words) {
    const auto trains = high(memory_file("shunt trains"));
    if (trains.get() < 0) refuse("no memory for the trains of a job (memfd)", errno);
    const auto meeting = high(job_memory::make(ranks, trains.get()));
    memory_.emplace(meeting.get(), job_memory::launcher, ranks);
    int report[2];
    if (::pipe2(report, O_CLOEXEC) != 0) refuse("no descriptor left for a job", errno);
    const owned_descriptor reads(report[0]);
    owned_descriptor writes(report[1]);
    // Inherited by what is started from here on.
    for (const int fd : {meeting.get(), trains.get()}) ::fcntl(fd, F_SETFD, 0);
    const pid_t launcher = ::getpid();
    for (int r = 0; r < ranks; ++r) {
      const auto texts = variables_for(r, ranks, meeting.get(), trains.get());
      const auto variables = pointers(texts);
      const auto argv = pointers(words);
      const pid_t child = ::fork();
      if (child < 0)
        refuse("process " + std::to_string(r) + " of " + std::to_string(ranks) + " cannot be started", errno);
      if (child == 0) become(launcher, argv.data(), variables.data(), writes.get());
      started[static_cast<std::size_t>(started_count++)] = child;
      memory_->note_start(r, child);
    }
    for (const int fd : {meeting.get(), trains.get()}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    writes = owned_descriptor();
    int code = 0;
    if (::read(reads.get(), &code, sizeof code) == sizeof code) {  // 0 bytes: every process runs its program
      throw usage_error(error_number(836), "cannot start `" + words[0] + "`: " + std::generic_category().message(code));
    }
  }

  /// \return the job's status
  int wait() {
    int job_status = 0;
    auto end_by = std::chrono::steady_clock::time_point::max();
    for (int left = started_count; left > 0;) {
      const auto ended = wait_for_ends(job_status == 0);
      left -= static_cast<int>(ended.size());
      if (job_status == 0 && !ended.empty()) {
        job_status = first_failure(*std::ranges::min_element(ended, {}, &end_of_rank::place), end_by);
      }
      for (const end_of_rank& each : ended) {
        if (WIFEXITED(each.status) && WEXITSTATUS(each.status) != 0) {
          end_by = std::min(end_by, std::chrono::steady_clock::now() + time_to_follow);
        }
      }
      if (ended.empty()) std::this_thread::sleep_for(look_interval);
      if (job_status != 0 && std::chrono::steady_clock::now() > end_by) end_all();
    }
    return job_status;
  }

 private:
  [[noreturn]] static void refuse(const std::string& what, int code) {
    throw error(error_number(837), what + ": " + std::generic_category().message(code), error::facts{-1, -1, code});
  }

  struct end_of_rank {
    int rank;
    pid_t process;
    int status;

    /// Among ends that are seen at once, the lowest is the cause: a rank that is lost, or ends without a word, makes
    /// others end with a status and a reason, and the system tells ends in the order of the ranks.
    [[nodiscard]] int place() const noexcept {
      if (WIFSIGNALED(status)) return 0;
      if (WEXITSTATUS(status) == 0) return 3;
      return tells_why(WEXITSTATUS(status)) ? 2 : 1;
    }
  };

  /// \param sleep  until one has ended. \return those that have ended since the last call
  std::vector<end_of_rank> wait_for_ends(bool sleep) {
    std::vector<end_of_rank> all;
    for (;;) {
      int status = 0;
      const pid_t ended = ::waitpid(-1, &status, sleep && all.empty() ? 0 : WNOHANG);
      if (ended < 0 && errno == EINTR) continue;
      if (ended < 0 && all.empty()) refuse("waitpid", errno);
      if (ended <= 0) return all;
      const auto rank = std::find(started.begin(), started.begin() + started_count, ended) - started.begin();
      if (rank == started_count) continue;  // a child of an earlier program of this process
      started[static_cast<std::size_t>(rank)] = 0;
      memory_->note_end(static_cast<int>(rank));
      all.push_back({static_cast<int>(rank), ended, status});
    }
  }

  /// \return 0: it has not failed
  static int first_failure(const end_of_rank& first, std::chrono::steady_clock::time_point& end_by) {
    const auto [rank, process, status] = first;
    const std::string name = "shunt: rank " + std::to_string(rank) + " (process " + std::to_string(process) + ") ";
    if (WIFEXITED(status)) {
      const int code = WEXITSTATUS(status);
      if (code != 0 && !tells_why(code)) std::fprintf(stderr, "%sended with status %d\n", name.c_str(), code);
      return code;
    }
    const int number = WTERMSIG(status);
    if (number != SIGINT && number != SIGTERM) {
      std::fprintf(stderr, "%swas ended by signal %d (%s)\n", name.c_str(), number, strsignal(number));
    }
    end_by = std::chrono::steady_clock::now() + time_to_name;
    return 128 + number;
  }

  void end_all() noexcept {
    if (memory_) memory_->note_over();
    for (int r = 0; r < started_count; ++r) {
      if (started[static_cast<std::size_t>(r)] > 0) ::kill(started[static_cast<std::size_t>(r)], SIGKILL);
    }
  }

  std::optional<job_memory> memory_;
};

}  // namespace
}  // namespace detail

int run_processes(int ranks, const std::vector<std::string>& words) {
  SHUNT_ASSERT(!words.empty());
  if (ranks < 1 || ranks > most_processes) {
    throw usage_error(error_number(838),
                      std::to_string(ranks) + " processes: a job has 1.." + std::to_string(most_processes));
  }
  ::signal(SIGCHLD, SIG_DFL);  // if it is ignored, the system tells no status
  std::fflush(nullptr);        // what stands in a buffer would be written by each process
  detail::started_count = 0;
  detail::job_processes job;
  job.start(ranks, words);
  pass_signals_on({detail::started.data(), static_cast<std::size_t>(detail::started_count)});
  return job.wait();
}

}  // namespace transport
}  // namespace v1
}  // namespace shunt
