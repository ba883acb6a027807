/// `shunt run`: an application in this process, or in the processes of a job; and `shunt start`, any program so.
///
///   shunt run triangle --transport mpi --ranks 4 --pes 8
///     -> mpirun … -n 4 shunt run triangle --transport mpi --pes 8    this process waits for it
///          -> four times: triangle_main(…)                           a launcher's variables are there
#include <spawn.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <report.hpp>
#include <shunt/base.hpp>
#include <shunt/base/environment.hpp>
#include <shunt/pgas/launch.hpp>
#include <shunt/transport.hpp>
#include <shunt/transport/processes.hpp>

#include "cli.hpp"

namespace shunt::cli {
namespace {

enum class mpi { open_mpi, mpich, unknown };

struct starter {
  std::vector<std::string> words;  ///< program first
  mpi kind = mpi::unknown;
};

bool in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const auto end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    if (::access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

// What `mpirun` is, is the system's choice (Debian's alternatives); it says so itself.
mpi ask_version(const std::string& program) {
  const std::string command = program + " --version 2>/dev/null </dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return mpi::unknown;
  std::string text;
  std::array<char, 512> part{};
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  if (text.find("Open MPI") != std::string::npos || text.find("OpenRTE") != std::string::npos) return mpi::open_mpi;
  if (text.find("HYDRA") != std::string::npos) return mpi::mpich;
  return mpi::unknown;
}

bool is_there(std::string_view transport) {
  const auto there = transport::available(environment::read("SHUNT_PLUGINS").value_or(""));
  return std::find(there.begin(), there.end(), transport) != there.end();
}

/// Of OpenSHMEM: Open MPI's.
starter find_shmem_starter() {
  if (!is_there("shmem (Open MPI)")) {
    throw usage_error(error_number(1107),
                      "the transport `shmem` was not built; install openmpi-bin and libopenmpi-dev, then build again");
  }
  for (const char* const own : {"oshrun", "mpirun.openmpi"}) {
    if (in_path(own)) return {{own}, mpi::open_mpi};
  }
  throw usage_error(error_number(1107),
                    "no launcher of OpenSHMEM (oshrun) is installed; install openmpi-bin, or name one with --launcher");
}

starter find_starter() {
  bool any = false;
  for (const auto& [kind, transport, own] : {std::tuple{mpi::open_mpi, "mpi (Open MPI)", "mpirun.openmpi"},
                                             std::tuple{mpi::mpich, "mpi (MPICH)", "mpiexec.mpich"}}) {
    if (!is_there(transport)) continue;
    any = true;
    if (in_path(own)) return {{own}, kind};
    for (const char* const common : {"mpirun", "mpiexec"}) {
      if (in_path(common) && ask_version(common) == kind) return {{common}, kind};
    }
  }
  throw usage_error(error_number(1107), any ? "no MPI launcher (mpirun) is installed; install openmpi-bin, or name one "
                                              "with --launcher"
                                            : "the transport `mpi` was not built; install openmpi-bin and "
                                              "libopenmpi-dev, then build again");
}

// May processes read each other's memory? Containers' default filters forbid it, and Open MPI then reports every try.
bool may_read_processes() noexcept {
  char from = 1;
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1;
}

/// The command that starts the processes, up to their own program's name.
/// \param over  the transport: mpi, shmem
/// \param told  the user has said how many.
std::vector<std::string> start_words(std::string_view over, const std::optional<std::string>& launcher, int ranks,
                                     bool told) {
  if (launcher) {
    starter own;
    std::string word;
    for (const char c : *launcher + " ") {
      if (c != ' ' && c != '\t') {
        word += c;
      } else if (!word.empty()) {
        own.words.push_back(std::exchange(word, {}));
      }
    }
    if (own.words.empty()) throw usage_error(error_number(1101), "--launcher: expected a command, such as 'srun -n 4'");
    if (told) own.words.insert(own.words.end(), {"-n", std::to_string(ranks)});
    return own.words;
  }

  auto [words, kind] = over == "shmem" ? find_shmem_starter() : find_starter();
  words.insert(words.end(), {"-n", std::to_string(ranks)});
  if (kind == mpi::open_mpi) {
    // Not bound: a rank has several workers, and the library divides the machine's CPUs between its ranks.
    words.insert(words.end(), {"--oversubscribe", "--bind-to", "none", "--mca", "orte_execute_quiet", "1"});
    if (ranks > default_workers()) {
      // Without it a rank that waits burns the core that the others need: 8 ms instead of 25 us a message.
      words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "1"});
    }
    if (!may_read_processes()) words.insert(words.end(), {"--mca", "btl_vader_single_copy_mechanism", "none"});
  }
  return words;
}

/// How much symmetric memory each rank of OpenSHMEM has, which is fixed when it begins.
void set_symmetric_size(std::size_t train_bytes, std::vector<std::string>& words) {
  constexpr std::size_t usual = std::size_t{256} << 20;  // Open MPI's own; pages are given as they are touched
  constexpr std::size_t arrivals = transport::channels * pgas::most_receive_trains;
  constexpr std::size_t trains = 64;  // room for heads, for the transport's own words and for what OpenSHMEM rounds up
  static_assert(trains >= arrivals + arrivals / 4);
  ::setenv("SHMEM_SYMMETRIC_SIZE", std::to_string(std::max(usual, trains * train_bytes)).c_str(), 0);
  words.insert(words.end(), {"-x", "SHMEM_SYMMETRIC_SIZE"});  // to ranks of other machines
}

/// A file that the job's first process on this machine removes: it tells whether a launcher has started any.
class start_mark {
 public:
  static constexpr std::string_view prefix = "shunt-start-";
  static constexpr const char* option = "--start-mark";

  start_mark() {
    std::error_code none;
    std::string name = (std::filesystem::temp_directory_path(none) / (std::string(prefix) + "XXXXXX")).string();
    const int file = none ? -1 : ::mkstemp(name.data());
    if (file < 0) return;  // not a reason to refuse the job
    ::close(file);
    path_ = name;
  }
  start_mark(const start_mark&) = delete;
  start_mark& operator=(const start_mark&) = delete;
  ~start_mark() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// Empty: there is none.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool untouched() const noexcept { return !path_.empty() && ::access(path_.c_str(), F_OK) == 0; }

  /// By a process of the job. On another machine the file is not there.
  static void remove(const std::string& path) {
    if (std::filesystem::path(path).filename().string().starts_with(prefix)) ::unlink(path.c_str());
  }

 private:
  std::string path_;
};

pid_t job = 0;  // the launcher; set before the handlers that read it

/// SIGUSR1 and SIGUSR2 ask a question, and must end nothing: a launcher that does not catch them, or not yet, would.
void say_refused() noexcept {
  constexpr std::string_view line =
      "shunt: got a signal that the launcher does not take now; the job has not seen it\n";
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

/// While it lives, a signal that ends this process waits: until it can be passed on.
class ends_held {
 public:
  ends_held() {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&ends, number);
    ::pthread_sigmask(SIG_BLOCK, &ends, &before_);
    ::posix_spawnattr_init(&of_started_);
    ::posix_spawnattr_setsigmask(&of_started_, &before_);
    ::posix_spawnattr_setflags(&of_started_, POSIX_SPAWN_SETSIGMASK);
  }
  ends_held(const ends_held&) = delete;
  ends_held& operator=(const ends_held&) = delete;
  ~ends_held() {
    ::posix_spawnattr_destroy(&of_started_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  /// Of a process that is started meanwhile: no signal waits there.
  [[nodiscard]] const posix_spawnattr_t* of_started() const { return &of_started_; }

 private:
  sigset_t before_;
  posix_spawnattr_t of_started_;
};

/// Runs the launcher and waits for it. It is told to keep quiet (its report on an exit status that is not 0 is longer
/// than ours, and says less), so what only it knows, a process ended by a signal, is said here; and that it has started
/// nothing.
int start(std::vector<std::string> words, const start_mark& mark) {
  std::fflush(stdout);
  {
    const ends_held none_lost;  // else one that comes now would end this process, and leave the launcher
    const int code =
        ::posix_spawnp(&job, words[0].c_str(), nullptr, none_lost.of_started(), pointers(words).data(), environ);
    if (code != 0) throw usage_error(error_number(1107), "cannot start `" + words[0] + "`: " + std::strerror(code));
    transport::pass_signals_on({&job, 1}, say_refused);
  }
  int status = 0;
  while (::waitpid(job, &status, 0) < 0) {
    if (errno != EINTR) throw error(error_number(1107), std::string("waitpid: ") + std::strerror(errno));
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : std::max(0, WEXITSTATUS(status) - 128);
  if (mark.untouched() && signal != SIGINT && signal != SIGTERM) {
    // Not an error where the launcher succeeds: the whole job may have run on other machines.
    const std::string how = WIFSIGNALED(status) ? "was ended by signal " + std::to_string(signal)
                                                : "ended with status " + std::to_string(WEXITSTATUS(status));
    std::fprintf(stderr, "shunt: the launcher `%s` %s, and started no process of the job on this machine\n",
                 apps::one_line(words[0]).c_str(), how.c_str());
    return WIFSIGNALED(status) ? 128 + signal : WEXITSTATUS(status);
  }
  if (signal == 0) return WEXITSTATUS(status);
  if (signal != SIGINT && signal != SIGTERM) {
    std::fprintf(stderr, "shunt: a process of the job was ended by signal %d (%s)\n", signal, strsignal(signal));
  }
  return 128 + signal;
}

/// Finds mistakes in the application's arguments before anything is started.
void rehearse(const apps::app& app, std::vector<std::string> arguments) {
  apps::rehearse(app, static_cast<int>(arguments.size()), pointers(arguments).data());
}

/// What each process of the job runs.
std::vector<std::string> command_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), "run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

std::optional<std::string> take(std::vector<std::string>& arguments, const std::string& name) {
  std::optional<std::string> value;
  for (auto at = arguments.begin(); at != arguments.end();) {
    const bool hit = *at == name || at->starts_with(name + "=");
    if (hit && value) throw usage_error(error_number(1101), name + ": given twice");
    if (at->starts_with(name + "=")) {
      value = at->substr(name.size() + 1);
      at = arguments.erase(at);
    } else if (*at == name) {
      if (at + 1 == arguments.end()) throw usage_error(error_number(1101), name + " needs a value");
      value = *(at + 1);
      at = arguments.erase(at, at + 2);
    } else {
      ++at;
    }
  }
  return value;
}

bool take_flag(std::vector<std::string>& words, const std::string& name) {
  const auto last = std::remove(words.begin(), words.end(), name);
  const bool any = last != words.end();
  words.erase(last, words.end());
  return any;
}

std::string choice(std::vector<std::string>& words, const std::string& name, const std::string& usual,
                   const std::string& other) {
  const auto told = take(words, name).value_or(usual);
  if (told != usual && told != other)
    throw usage_error(error_number(1102), name + " " + told + ": must be " + usual + " or " + other);
  return told;
}

int rank_by_launcher() noexcept {
  const char* const rank = transport::rank_by_launcher();
  return rank == nullptr ? 0 : std::atoi(rank);
}

int start(std::vector<std::string> arguments) {
  // Options end where the program begins: the rest is its own.
  std::vector<std::string> own;
  while (!arguments.empty() && arguments[0].starts_with("--")) {
    const bool with_value = arguments[0] == "--ranks" && arguments.size() > 1;
    const auto last = arguments.begin() + (with_value ? 2 : 1);
    const bool ends = arguments[0] == "--";
    if (!ends) own.insert(own.end(), arguments.begin(), last);
    arguments.erase(arguments.begin(), last);
    if (ends) break;
  }
  const auto ranks = take(own, "--ranks");
  if (!own.empty()) throw usage_error(error_number(1101), "start: unknown option `" + own[0] + "`; known: --ranks");
  if (arguments.empty()) throw usage_error(error_number(1108), "start: which program?");
  if (pgas::under_launcher())
    throw usage_error(error_number(1103), "start: a launcher has already started this process");
  const auto count = parse_count("--ranks", ranks.value_or("2"), 1, transport::most_processes);
  return transport::run_processes(static_cast<int>(count), arguments);
}

int run(std::vector<std::string> arguments) {
  const apps::app& app = find_app(arguments[0]);
  const auto ranks = take(arguments, "--ranks");
  const auto launcher = take(arguments, "--launcher");
  if (const auto mark = take(arguments, start_mark::option)) start_mark::remove(*mark);
  const auto count = static_cast<int>(parse_count("--ranks", ranks.value_or("2"), 1, 65'536));

  const bool asks_help = std::any_of(arguments.begin(), arguments.end(),
                                     [](const auto& word) { return word == "--help" || word == "-h"; });
  if (!asks_help) {
    // Read here too: what is wrong with them is said once, not once a rank.
    auto copies = arguments;
    int argc = static_cast<int>(copies.size());
    const auto wanted = pgas::options_from(argc, pointers(copies).data());

    const bool processes = wanted.transport == "processes";
    const bool network = wanted.transport == "mpi" || wanted.transport == "shmem";
    if (launcher && !network) throw usage_error(error_number(1103), "--launcher needs --transport mpi or shmem");
    if (ranks && !network && !processes)
      throw usage_error(error_number(1103), "--ranks needs --transport mpi, shmem or processes");
    if (pgas::under_launcher()) {
      if (ranks || launcher) {
        throw usage_error(error_number(1103), std::string(ranks ? "--ranks" : "--launcher") +
                                                  ": a launcher has already started this process; leave it out");
      }
    } else if (processes) {
      static_cast<void>(parse_count("--ranks", ranks.value_or("2"), 1, transport::most_processes));
      rehearse(app, arguments);
      return transport::run_processes(count, command_of(arguments));
    } else if (network) {
      rehearse(app, arguments);
      auto words = start_words(wanted.transport, launcher, count, ranks.has_value());
      if (wanted.transport == "shmem" && !launcher) set_symmetric_size(wanted.train_bytes, words);
      for (auto& word : command_of(arguments)) words.push_back(std::move(word));
      const start_mark mark;
      if (!mark.path().empty()) words.insert(words.end(), {start_mark::option, mark.path()});
      if (::geteuid() == 0) {  // Open MPI refuses root unless told twice; others ignore it
        ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
      }
      return start(std::move(words), mark);
    }
  }

  return app.main(static_cast<int>(arguments.size()), pointers(arguments).data());
}

}  // namespace shunt::cli
