/// What tests of a whole process share: a way to end it, and test programs within the test program.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shunt::testing {

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

/// The command that runs this program where the machine itself cannot (cmake/tests.cmake sets the variable); else
/// empty. An emulator translates system calls, but what the kernel tells of itself, in /proc for example, is the other
/// machine's.
inline std::vector<std::string> emulator() {
  std::vector<std::string> words;
  const char* const text = std::getenv("TESTS_EMULATOR");
  std::istringstream all(text == nullptr ? "" : text);
  for (std::string word; all >> word;) words.push_back(word);
  return words;
}

/// Limits the address space of this process to what it has and `more` bytes, for good.
/// \return whether the system keeps to it: an emulator accepts the limit and forgets it.
inline bool limit_address_space(std::size_t more) {
  std::size_t pages = 0;
  if (FILE* const f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  const auto limit = static_cast<rlim_t>(pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more);
  const rlimit space{limit, limit};
  if (pages == 0 || setrlimit(RLIMIT_AS, &space) != 0) return false;
  void* const beyond = mmap(nullptr, 2 * more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (beyond == MAP_FAILED) return true;
  munmap(beyond, 2 * more);
  return false;
}

/// This test program once more, to run that hidden test case (its tag: "[.child]") and nothing else; so whatever it
/// does
/// at its start it does here. \param enough  once the child has said that it is killed; empty: it is to end by itself
inline child_end this_program_runs(const std::string& hidden_test, const std::string& enough = {}) {
  child_end all;
  int ends[2];
  if (pipe(ends) != 0) return all;
  std::fflush(stdout);
  // All that allocates stands before fork(): another thread may hold the allocator's lock then.
  auto words = emulator();
  char self[4096];
  const auto length = readlink("/proc/self/exe", self, sizeof self);
  if (length < 0) return all;
  words.emplace_back(self, static_cast<std::size_t>(length));
  words.push_back(hidden_test);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  // A child that says nothing for so long hangs: the test says what it had said, instead of hanging as well.
  constexpr int silence_ms = 120'000;
  const auto speaks = [&] {
    pollfd from{ends[0], POLLIN, 0};
    if (poll(&from, 1, silence_ms) == 0) kill(child, SIGKILL);
    return true;
  };
  char some[512];
  for (ssize_t n = 0; child > 0 && speaks() && (n = read(ends[0], some, sizeof some)) > 0;) {
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
