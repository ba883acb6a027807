#include <shunt/base/environment.hpp>

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

#include <shunt/base/error.hpp>
#include <shunt/base/spelling.hpp>

namespace shunt {
inline namespace v1 {
namespace environment {
namespace {

constexpr std::string_view prefix = "SHUNT_";

constexpr variable table[] = {
    {"SHUNT_PES", "processing elements in this process", "one a worker"},
    {"SHUNT_TRANSPORT", "what carries trains between processes", "threads, or the launcher's"},
    {"SHUNT_WORKERS", "threads that run fibers", "usable CPUs, or the CPU quota if less"},
    {"SHUNT_BUDGET", "bytes of trains a PE may own; suffixes k, M, G", "16M"},
    {"SHUNT_TRAIN", "bytes that a train carries; suffixes k, M, G", "from the budget"},
    {"SHUNT_HOPS", "1: trains go straight, 2: over an intermediate worker", "0: as needed"},
    {"SHUNT_DEADLINE", "seconds of silence after which a peer is lost", "5"},
    {"SHUNT_START_DEADLINE", "seconds in which all ranks must have started, and parted at the end", "six deadlines"},
    {"SHUNT_SHARED_MEMORY", "0: ranks of one machine send their trains over MPI, as far ones do", "1"},
    {"SHUNT_SPIN", "microseconds that a worker spins before it sleeps", "50"},
    {"SHUNT_PIN", "0: leave the placement of workers to the kernel", "1"},
    {"SHUNT_CHECKPOINT", "directory in which checkpoints are written", "none are"},
    {"SHUNT_EVERY", "how long after one has begun the next checkpoint is due: 10min", "at a signal only"},
    {"SHUNT_CHECKPOINT_SIGNAL", "signal that asks for a checkpoint and the end: TERM, INT, HUP, USR1, USR2, XCPU",
     "TERM"},
    {"SHUNT_RESTART", "directory from which the last checkpoint is taken up; auto: that of SHUNT_CHECKPOINT", "none"},
    {"SHUNT_CHECK", "1: look for addresses in messages, and for collectives amid messages", "0; debug builds 1"},
    {"SHUNT_END_IF_STUCK", "0: a program whose fibers can never run again waits, and does not end with status 70", "1"},
    {"SHUNT_SCHEDULE", "the one schedule by which explored programs run: as a failed run printed it", "none"},
    {"SHUNT_RANK", "set by `shunt start`: this process's number in its job", "none"},
    {"SHUNT_JOB", "set by `shunt start`: the job's processes, and the descriptors of their memory", "none"},
    {"SHUNT_PLUGINS", "absolute directories with transports, separated by colons", "beside the library", true},
};

constexpr bool all_prefixed() {
  return std::all_of(std::begin(table), std::end(table), [](const variable& v) { return v.name.starts_with(prefix); });
}
static_assert(all_prefixed());

bool registered(std::string_view name) noexcept {
  return std::any_of(std::begin(table), std::end(table), [name](const variable& v) { return v.name == name; });
}

}  // namespace

std::span<const variable> known() noexcept { return table; }

std::optional<std::string> read(std::string_view name) {
  SHUNT_ASSERT(registered(name));
  const auto* const entry =
      std::find_if(std::begin(table), std::end(table), [name](const variable& v) { return v.name == name; });
  const auto text = std::string(name);
  // If a program runs with more rights than its caller (set-user-ID, file capabilities), the caller must not choose its
  // code.
#if defined(__GLIBC__)
  const char* const value = entry->names_code ? secure_getenv(text.c_str()) : std::getenv(text.c_str());
#else
  const char* const value =
      entry->names_code && (getuid() != geteuid() || getgid() != getegid()) ? nullptr : std::getenv(text.c_str());
#endif
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

/// For the first unknown name: the near names if there are any, else all.
void check() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    const auto name = pair.substr(0, pair.find('='));
    if (!name.starts_with(prefix) || registered(name)) continue;

    constexpr std::size_t near = 3;  // a transposition and one slip more
    std::string candidates;
    for (const bool only_near : {true, false}) {
      for (const auto& v : table) {
        if (only_near && edit_distance(name, v.name) > near) continue;
        if (!candidates.empty()) candidates.append(", ");
        candidates.append(v.name);
      }
      if (!candidates.empty()) {
        throw usage_error(error_number(1),
                          std::string(name) + ": no such variable; " +
                              (only_near ? "did you mean " + candidates + "?" : "known are " + candidates));
      }
    }
  }
}

}  // namespace environment
}  // namespace v1
}  // namespace shunt
