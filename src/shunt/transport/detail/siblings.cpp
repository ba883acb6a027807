#include <shunt/transport/detail/siblings.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include <shunt/transport/processes.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {
namespace {

namespace fs = std::filesystem;

// The same variables are looked up in this process and in the others. A job of one machine's processes, of which the
// first one tells, asks no siblings.
constexpr auto network_rank_variables = std::span(rank_variables).subspan(1);
constexpr const char* count_variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
constexpr const char* here_variables[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};

std::optional<int> number(std::string_view text) {
  int n = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (bad != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// The number in the first of these variables that is set.
std::optional<int> first_number_of(std::span<const char* const> names) {
  for (const char* const name : names) {
    if (const char* const text = std::getenv(name)) return number(text);
  }
  return std::nullopt;
}

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A process: its parent, its state, and its rank if its environment has one.
struct process {
  int parent = 0;
  char state = '?';
  std::optional<int> rank;
};

/// Reads a process's folder in /proc. \return nothing: the process has ended meanwhile.
std::optional<process> read_process(const fs::path& folder) {
  const std::string about = content(folder / "stat");
  const auto name_ends = about.rfind(')');  // pid (name) state parent ...: proc(5); a name may hold brackets
  if (name_ends == std::string::npos || name_ends + 4 >= about.size()) return std::nullopt;
  process p;
  p.state = about[name_ends + 2];
  const std::string_view rest = std::string_view(about).substr(name_ends + 4);
  p.parent = number(rest.substr(0, rest.find(' '))).value_or(0);
  const std::string variables = content(folder / "environ");
  for (std::size_t at = 0; at < variables.size() && !p.rank;) {
    const std::string_view one = variables.c_str() + at;
    at += one.size() + 1;
    for (const char* const name : network_rank_variables) {
      const auto length = std::strlen(name);
      if (one.size() > length && one.starts_with(name) && one[length] == '=') p.rank = number(one.substr(length + 1));
    }
  }
  return p;
}

bool has_watchdog(const fs::path& folder) {
  std::error_code gone;  // the process may end while it is looked at
  for (fs::directory_iterator task(folder / "task", gone), end; !gone && task != end; task.increment(gone)) {
    if (content(task->path() / "comm") == std::string(watchdog_name) + "\n") return true;
  }
  return false;
}

/// The first process above `pid` without a rank: the launcher's own. 0: there is none.
int launcher_of(const std::map<int, process>& all, int pid) {
  auto at = all.find(pid);
  while (at != all.end() && at->second.rank) at = all.find(at->second.parent);
  return at == all.end() ? 0 : at->first;
}

}  // namespace

self self_by_launcher() {
  return {first_number_of(network_rank_variables).value_or(-1), first_number_of(count_variables).value_or(0),
          first_number_of(here_variables).value_or(0)};
}

/// Reads every process, finds the launcher above this one, and keeps one process a rank below that launcher.
std::vector<sibling> siblings(const std::string& proc, int pid) {
  std::map<int, process> all;
  std::error_code failed;  // no /proc: nothing is known
  for (fs::directory_iterator entry(proc, failed), end; !failed && entry != end; entry.increment(failed)) {
    const auto n = number(entry->path().filename().string());
    if (!n) continue;
    if (const auto p = read_process(entry->path())) all.emplace(*n, *p);
  }
  const int launcher = launcher_of(all, pid);
  const auto me = all.find(pid);
  if (launcher == 0 || me == all.end()) return {};
  std::map<int, sibling> by_rank;
  for (const auto& [n, p] : all) {
    if (!p.rank || p.rank == me->second.rank || launcher_of(all, n) != launcher) continue;
    // Of a shell and the rank beneath it the rank counts; of a rank and its children the one that has a watchdog.
    const sibling found{*p.rank, n, p.state, has_watchdog(fs::path(proc) / std::to_string(n))};
    const auto [known, is_new] = by_rank.try_emplace(*p.rank, found);
    if (is_new || known->second.watchdog) continue;
    if (found.watchdog || known->second.pid == p.parent) known->second = found;
  }
  std::vector<sibling> found;
  for (const auto& [rank, s] : by_rank) found.push_back(s);
  return found;
}

/// The likeliest cause first: a rank that is stopped, that has ended, that has not begun; else what is not known.
std::string explain(const self& me, const std::vector<sibling>& others, const char* missing_watchdog) {
  const auto named = [](const sibling& s) {
    return "rank " + std::to_string(s.rank) + " (process " + std::to_string(s.pid) + ")";
  };
  for (const auto& s : others) {
    if (s.state == 'T' || s.state == 't') return named(s) + " is stopped";
  }
  for (const auto& s : others) {
    if (s.state == 'Z' || s.state == 'X') return named(s) + " has ended";
  }
  // The launcher has started all ranks here, so one that is missing has ended.
  if (me.here > 1 && me.here == me.ranks) {
    for (int r = 0; r < me.ranks; ++r) {
      const bool there =
          r == me.rank || std::any_of(others.begin(), others.end(), [r](const sibling& s) { return s.rank == r; });
      if (!there) return "rank " + std::to_string(r) + " has ended";
    }
  }
  for (const auto& s : others) {
    if (!s.watchdog) return named(s) + " " + missing_watchdog;
  }
  if (me.here > 0 && me.here == me.ranks) return "every rank runs, and the network does not go on";
  return others.empty() ? "this machine shows no other rank: one elsewhere is stopped, unreachable or was never started"
                        : "the ranks of this machine run: one elsewhere is stopped, unreachable or was never started";
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
