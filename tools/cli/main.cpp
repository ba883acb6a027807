/// The command's program: one executable for every application, so that there is one to build,
/// install and start on every node.
///
/// Exit status: 0 done and right; 1 something failed; 2 bad usage, one line on stderr; 85 a signal has ended the job
/// after a checkpoint.
#include <fmt/core.h>

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <report.hpp>
#include <shunt/base/error.hpp>
#include <shunt/pgas/checkpoint.hpp>
#include <shunt/pgas/launch.hpp>

#include "cli.hpp"

namespace {

using shunt::error_number;
using shunt::usage_error;

// The script `shunt` prints the same files: it answers before anything is built.
constexpr std::string_view commands =
#include "commands.help"
    ;
constexpr std::string_view run_help =
#include "run.help"
    ;
constexpr std::string_view start_help =
#include "start.help"
    ;
constexpr std::string_view apps_help =
#include "apps.help"
    ;
constexpr std::string_view simulate_help =
#include "simulate.help"
    ;
constexpr std::string_view calibrate_help =
#include "calibrate.help"
    ;
constexpr std::string_view doctor_help =
#include "doctor.help"
    ;

int list_apps() {
  std::size_t widest = 0;
  for (const auto& app : shunt::apps::all()) widest = std::max(widest, app.name.size());
  for (const auto& app : shunt::apps::all()) fmt::print("{:{}}  {}\n", app.name, widest, app.summary);
  return 0;
}

void no_more(const std::vector<std::string>& words, std::size_t from) {
  if (from < words.size()) throw usage_error(error_number(1108), words[0] + ": unexpected `" + words[from] + "`");
}

/// A command that `shunt help` lists.
struct command {
  std::string_view name;
  std::string_view help;
  std::string_view missing;  ///< what is asked if nothing follows its name; empty: nothing has to
  int (*run)(const std::vector<std::string>& words);
};

/// What follows a command's name.
std::vector<std::string> rest(const std::vector<std::string>& words) { return {words.begin() + 1, words.end()}; }

constexpr command known_commands[] = {
    {"run", run_help, "which application? `shunt apps` lists them",
     [](const std::vector<std::string>& words) { return shunt::cli::run(rest(words)); }},
    {"start", start_help, "which program?",
     [](const std::vector<std::string>& words) { return shunt::cli::start(rest(words)); }},
    {"apps", apps_help, "",
     [](const std::vector<std::string>& words) {
       no_more(words, 1);
       return list_apps();
     }},
    {"simulate", simulate_help, "which application? `shunt apps` lists them",
     [](const std::vector<std::string>& words) { return shunt::cli::simulate(rest(words)); }},
    {"calibrate", calibrate_help, "",
     [](const std::vector<std::string>& words) { return shunt::cli::calibrate(rest(words)); }},
    {"doctor", doctor_help, "",
     [](const std::vector<std::string>& words) {
       const bool as_json = words.size() > 1 && words[1] == "--json";
       no_more(words, as_json ? 2 : 1);
       return shunt::cli::doctor(as_json);
     }},
};

int answer(const std::vector<std::string>& words) {
  const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
  std::vector<std::string_view> names;
  std::string listed;
  for (const auto& c : known_commands) {
    names.push_back(c.name);
    listed += std::string(c.name) + ", ";
  }
  names.push_back("help");
  if (words.empty()) throw usage_error(error_number(1108), "which command? " + listed + "help");
  const std::string& name = words[0];
  if (name == "help" || is_help(name)) {
    fmt::print("usage: shunt COMMAND [OPTION]...\n\n{}  help, --help, --version\n", commands);
    return 0;
  }
  if (name == "--version") {
    fmt::print("shunt {}\n", SHUNT_VERSION);
    return 0;
  }
  for (const auto& c : known_commands) {
    if (name != c.name) continue;
    if (words.size() > 1 && is_help(words[1])) {
      fmt::print("{}", c.help);
      return 0;
    }
    if (words.size() < 2 && !c.missing.empty()) {
      throw usage_error(error_number(1108), fmt::format("{}: {}", name, c.missing));
    }
    return c.run(words);
  }
  throw usage_error(error_number(1108), "unknown command `" + name + "`; " + shunt::cli::near(name, names));
}

// One line, however many the report has, and whatever characters a name in it has. In a job of several ranks it comes
// once, if all have found the same.
int fail(const std::string& speaker, std::string what, int status, int argc, char** argv) noexcept {
  while (!what.empty() && what.back() == '\n') what.pop_back();
  std::replace(what.begin(), what.end(), '\n', ' ');
  if (what.starts_with(speaker + ": ")) what.erase(0, speaker.size() + 2);  // a job names itself
  std::fflush(stdout);
  // The status is returned even where the line cannot be written: to a full disk, a closed descriptor, a pipe that is
  // not read.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return shunt::pgas::report_failure(speaker + ": ", shunt::apps::one_line(what), status, argc, argv);
  } catch (const std::exception&) {
    return status;
  }
}

/// Makes sure that descriptors 0 to 2 exist. Where the caller closed one, the next file or socket that is opened would
/// take its place, and get what is printed. Reading and writing fail as before.
void hold_standard_descriptors() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    [[maybe_unused]] const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_descriptors();
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::string speaker = "shunt";
  for (const auto& app : shunt::apps::all()) {
    if (words.size() > 1 && words[0] == "run" && words[1] == app.name) speaker += " run " + words[1];
  }
  try {
    const int status = answer(words);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return fail("shunt", fmt::format("cannot write to standard output: {}", std::strerror(errno)), 1, argc, argv);
    }
    return status;
  } catch (const shunt::pgas::checkpoint_stop& stop) {
    return stop.told ? shunt::pgas::status_of_stop
                     : fail(speaker, stop.what(), shunt::pgas::status_of_stop, argc, argv);
  } catch (const usage_error& bad) {
    return fail(speaker, bad.what(), 2, argc, argv);
  } catch (const std::bad_alloc&) {
    return fail(speaker, "out of memory", 1, argc, argv);
  } catch (const std::exception& failed) {
    return fail(speaker, failed.what(), 1, argc, argv);
  }
}
