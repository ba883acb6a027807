#include <shunt/sched/explore/explore.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <shunt/base/call_site.hpp>
#include <shunt/base/environment.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/owned_descriptor.hpp>
#include <shunt/sched/detail/write_all.hpp>
#include <shunt/sched/explore/detail/schedule.hpp>
#include <shunt/sched/runtime.hpp>

namespace shunt {
inline namespace v1 {
namespace test {
namespace {

using detail::follower;
using detail::fork_in_path;
using detail::schedule;

constexpr std::size_t most_output = 8 * 1024;  // the last of what a run wrote, in a report

[[noreturn]] void system_failed(const char* call) {
  const int code = errno;
  throw error(error_number(109), std::string("explore: ") + call + ": " + std::strerror(code),
              error::facts{-1, -1, code});
}

// --- in the run's process ---

/// What a run's process says before it ends: this struct, the path, the failure's text.
struct verdict {
  bool failed;
  std::uint64_t steps;
  std::uint64_t forks;
};

/// Tells the result, and ends the process. \param failure  empty: none.
[[noreturn]] void end_run(const follower& order, const std::string& failure, int to) noexcept {
  const auto& path = order.taken();
  const verdict v{!failure.empty(), order.steps(), path.size()};
  const auto write = [to](const void* what, std::size_t bytes) {
    sched::detail::write_all(to, {static_cast<const char*>(what), bytes});
  };
  write(&v, sizeof v);
  write(path.data(), path.size() * sizeof(fork_in_path));
  write(failure.data(), failure.size());
  std::fflush(nullptr);
  _exit(0);
}

[[noreturn]] void be_the_run(const std::function<void()>& program, const schedule& s, const exploration& how, int to,
                             int output) noexcept {
  // What handles these signals in the explorer, a test framework say, knows nothing of runs.
  for (const int fatal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM, SIGINT}) signal(fatal, SIG_DFL);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::unique_ptr<follower> order;
  order = detail::make_follower(s, how.most_steps, [&](const std::string& why) { end_run(*order, why, to); });
  std::string failure;
  try {
    sched::runtime({.workers = 1, .stuck_after = {}, .stop_after = {}, .strategy = order.get()}).run(program);
  } catch (...) {
    failure = "an exception left the program: " + what_of(std::current_exception());
  }
  end_run(*order, failure, to);
}

// --- in the explorer's ---

struct seen {
  std::string failure;  // empty: none
  std::uint64_t steps = 0;
  std::vector<fork_in_path> path;
};

/// Reads until its other end is closed, but not for longer than that. \return whether it was closed.
bool read_all(int from, std::string& into, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left <= left.zero()) return false;
    pollfd one{from, POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<long long>(left.count(), 1'000'000)));
    if (ready < 0 && errno != EINTR) system_failed("poll");
    if (ready <= 0) continue;
    char part[4096];
    const auto count = ::read(from, part, sizeof part);
    if (count < 0 && errno != EINTR) system_failed("read");
    if (count == 0) return true;
    if (count > 0) into.append(part, static_cast<std::size_t>(count));
  }
}

std::string last_output(int file) {
  const auto size = lseek(file, 0, SEEK_END);
  if (size <= 0) return {};
  const auto bytes = std::min(static_cast<std::size_t>(size), most_output);
  std::string text(bytes, '\0');
  const auto count = pread(file, text.data(), bytes, size - static_cast<off_t>(bytes));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return (bytes < static_cast<std::size_t>(size) ? "\nThe last of what it wrote:\n" : "\nIt wrote:\n") + text;
}

std::string end_of(int status) {
  if (!WIFSIGNALED(status)) return "it ended its process, with status " + std::to_string(WEXITSTATUS(status));
  return "it was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ')';
}

/// Forks the run's process, reads its verdict until it closes its end of the pipe, and kills it if that takes too long.
seen run_apart(const std::function<void()>& program, const schedule& s, const exploration& how, int output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) system_failed("pipe2");
  owned_descriptor from(ends[0]);
  owned_descriptor to(ends[1]);
  if (ftruncate(output, 0) != 0) system_failed("ftruncate");
  std::fflush(nullptr);  // else the child would write buffered output once more
  const pid_t child = fork();
  if (child < 0) system_failed("fork");
  if (child == 0) be_the_run(program, s, how, to.get(), output);
  to.close();

  std::string said;
  const bool ended = read_all(from.get(), said, how.patience);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  seen result;
  verdict v{};
  if (said.size() >= sizeof v) std::memcpy(&v, said.data(), sizeof v);
  if (!ended) {
    result.failure = "it does not end: stopped after " + std::to_string(how.patience.count()) + " ms";
  } else if (said.size() < sizeof v) {
    result.failure = end_of(status);
  } else {
    result.steps = v.steps;
    result.path.resize(v.forks);
    if (v.forks != 0) std::memcpy(result.path.data(), said.data() + sizeof v, v.forks * sizeof(fork_in_path));
    if (v.failed) result.failure = said.substr(sizeof v + v.forks * sizeof(fork_in_path));
  }
  if (!result.failure.empty()) result.failure += last_output(output);
  return result;
}

schedule first_of(const exploration& how) {
  schedule s;
  s.how = how.how == policy::random ? schedule::kind::random
          : how.how == policy::pct  ? schedule::kind::pct
                                    : schedule::kind::path;
  s.seed = how.seed;
  s.depth = how.depth;
  return s;
}

}  // namespace

/// Derives each run's schedule from the one before it: the next seed, or the next path.
explored explore(const std::function<void()>& program, std::size_t runs, const exploration& how,
                 std::source_location where) {
  const call_site call("explore", where);
  if (sched::this_worker::index() >= 0) {
    throw usage_error(error_number(110), "explore: called on a worker of a runtime" + call.place(), call.where());
  }
  if (how.depth < 1) {
    throw usage_error(error_number(111),
                      "explore: a depth of " + std::to_string(how.depth) + "; it is at least 1" + call.place(),
                      call.where());
  }
  const auto wanted = environment::read("SHUNT_SCHEDULE").value_or(how.schedule);
  schedule s = wanted.empty() ? first_of(how) : schedule::parse(wanted);
  if (!wanted.empty()) runs = std::min<std::size_t>(runs, 1);
  const owned_descriptor output(memfd_create("explore", MFD_CLOEXEC));
  if (output.get() < 0) system_failed("memfd_create");

  explored all;
  while (all.runs < runs && !all.complete) {
    const auto run = run_apart(program, s, how, output.get());
    ++all.runs;
    if (!run.failure.empty()) {
      all.schedule = s.text();
      all.failure = run.failure;
      const auto told = "explore: run " + std::to_string(all.runs) + " of " + std::to_string(runs) +
                        " failed: " + all.failure + "\nThe same again: SHUNT_SCHEDULE=" + all.schedule + '\n';
      how.report ? how.report(told) : static_cast<void>(std::fwrite(told.data(), 1, told.size(), stderr));
      break;
    }
    ++s.seed;
    s.steps = std::max(s.steps, run.steps);
    if (s.how == schedule::kind::path) {
      const auto most = static_cast<std::uint64_t>(std::max(how.most_preemptions, 0));
      all.complete = !detail::next_path(run.path, most, s.path);
    }
  }
  return all;
}

}  // namespace test
}  // namespace v1
}  // namespace shunt
