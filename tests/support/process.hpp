/// What tests of a whole process share: the time it used, a way to end it, and test programs within the test program.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shunt::testing {

/// Processor time of all threads of this process so far, in the kernel too.
inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Runs off the end of a stack of less than 2 MB. A frame is half a page, and no compiler may fold
/// several into one: none leaps over the guard.
[[gnu::noinline]] inline int dig(int depth = 1000) {
  char half_a_page[2048];
  asm volatile("" : : "r"(&half_a_page[0]) : "memory");  // the frame must exist, and be written
  half_a_page[0] = static_cast<char>(depth);
  const int deeper = depth == 0 ? 0 : dig(depth - 1);
  asm volatile("" : : "r"(&half_a_page[0]) : "memory");
  return deeper + half_a_page[0];
}

/// What a child process has written to stdout and stderr, and how it ended, as waitpid() says it.
struct child_end {
  std::string said;
  int status = -1;
  [[nodiscard]] bool ended_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  [[nodiscard]] bool says(const std::string& part) const { return said.find(part) != std::string::npos; }
};

/// This test program once more, to run that hidden test case (its tag: "[.child]") and nothing else; so whatever it does
/// at its start it does here. \param enough  once the child has said that it is killed; empty: it is to end by itself
inline child_end this_program_runs(const std::string& hidden_test, const std::string& enough = {}) {
  child_end all;
  int ends[2];
  if (pipe(ends) != 0) return all;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/proc/self/exe", "test", hidden_test.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  char some[512];
  for (ssize_t n = 0; child > 0 && (n = read(ends[0], some, sizeof some)) > 0;) {
    all.said.append(some, static_cast<std::size_t>(n));
    if (!enough.empty() && all.says(enough)) kill(child, SIGKILL);
  }
  close(ends[0]);
  if (child > 0) waitpid(child, &all.status, 0);
  return all;
}

/// A hidden test case, first of all: the test framework catches these, as no program does that hangs.
inline void forget_the_frameworks_signals() {
  for (const int each : {SIGINT, SIGILL, SIGFPE, SIGSEGV, SIGTERM, SIGABRT}) std::signal(each, SIG_DFL);
}

}  // namespace shunt::testing
