/// `shunt doctor`: what this machine offers a concurrent program, and what limits it, for people
/// and as JSON.
///
/// Everything is read or tried now; what cannot be found out is left out (JSON: null).
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <report.hpp>
#include <set>
#include <shunt/base.hpp>
#include <shunt/base/environment.hpp>
#include <shunt/base/sanitizers.hpp>
#include <shunt/base/topology.hpp>
#include <shunt/io.hpp>
#include <shunt/pgas/launch.hpp>
#include <shunt/pgas/network_speed.hpp>
#include <shunt/pgas/placement.hpp>
#include <shunt/sched.hpp>
#include <shunt/transport.hpp>
#include <sstream>
#include <thread>

#include "cli.hpp"

namespace shunt::cli {
namespace {

using nlohmann::ordered_json;

std::optional<std::string> line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number_of(const std::string& path) {
  const auto line = line_of(path);
  if (!line || line->empty() || line->find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto [rest, problem] = std::from_chars(line->data(), line->data() + line->size(), number);
  if (problem != std::errc()) return std::nullopt;  // of more than 64 bits
  return number;
}

/// Bytes from /proc/meminfo's "Name:   123 kB"; a bare count for the lines without a unit.
std::optional<std::uint64_t> memory_line(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::string unit;
    std::uint64_t value = 0;
    if (words >> key >> value && key == name + ":") return words >> unit ? value * 1024 : value;
  }
  return std::nullopt;
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 && unit > 0 ? 1 : 0, units[unit]);
}

std::string list_text(const std::vector<int>& cpus) {  // "0-3 6"
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : " ", cpus[i]);
    if (end > i) text += fmt::format("-{}", cpus[end]);
    i = end + 1;
  }
  return text;
}

/// Nanoseconds for a cache line to travel from one CPU to the other and back: the price of one
/// answer. The least of several rounds: everything else that happens can only add.
std::optional<double> round_trip(int here, int there) {
  constexpr int rounds = 7;
  constexpr int trips = 5'000;
  struct alignas(quiet_distance) ball {
    std::atomic<int> at{0};
  } table;
  std::atomic<int> pinned{0};  // 1: yes, -1: refused
  double best = 0;
  const affinity_keeper keeper;
  if (!pin_this_thread(here)) return std::nullopt;
  std::thread partner([&] {
    const bool done = pin_this_thread(there);
    pinned.store(done ? 1 : -1, std::memory_order_release);  // edge: the loop below
    if (!done) return;
    for (int i = 0; i < rounds * trips; ++i) {
      // acquire/release: the ball carries no other data, but a trip should cost what a hand-over
      // costs.
      while (table.at.load(std::memory_order_acquire) != 2 * i + 1) relax();
      table.at.store(2 * i + 2, std::memory_order_release);
    }
  });
  while (pinned.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  if (pinned.load(std::memory_order_acquire) == 1) {
    for (int round = 0; round < rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = round * trips; i < (round + 1) * trips; ++i) {
        table.at.store(2 * i + 1, std::memory_order_release);
        while (table.at.load(std::memory_order_acquire) != 2 * i + 2) relax();
      }
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      const double each = took.count() / trips;
      if (round == 0 || each < best) best = each;
    }
  }
  partner.join();
  if (pinned.load(std::memory_order_acquire) != 1) return std::nullopt;
  return best;
}

/// Guard pages without a mapping each; Linux 6.13 or later.
bool guards_without_mappings() {
  constexpr int madv_guard_install = 102;  // not in Debian 12's headers
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const bool works = ::madvise(memory, page, madv_guard_install) == 0;
  ::munmap(memory, page);
  return works;
}

std::optional<std::uint64_t> limit(__rlimit_resource which) {  // nothing: unlimited
  rlimit found{};
  if (::getrlimit(which, &found) != 0 || found.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return found.rlim_cur;
}

/// The least `file` (memory.max, pids.max) of this process's control group and its ancestors;
/// version 2.
std::optional<std::uint64_t> group_limit(const std::string& file) {
  std::ifstream groups("/proc/self/cgroup");
  std::optional<std::uint64_t> least;
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3);;) {
      const auto here = number_of("/sys/fs/cgroup" + (path == "/" ? "" : path) + "/" + file);
      if (here && (!least || *here < *least)) least = here;
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/'));
    }
  }
  return least;
}

ordered_json caches(int cpu) {
  ordered_json found = ordered_json::array();
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
    const auto level = number_of(folder + "level");
    if (!level) break;
    found.push_back({{"level", *level},
                     {"type", line_of(folder + "type").value_or("")},
                     {"size", line_of(folder + "size").value_or("")},
                     {"line", or_null(number_of(folder + "coherency_line_size"))},
                     {"shared_by", line_of(folder + "shared_cpu_list").value_or("")}});
  }
  return found;
}

int numa_nodes() {
  int nodes = 0;
  std::error_code none;  // a kernel without NUMA has no such folder
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos) ++nodes;
  }
  return std::max(1, nodes);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

std::string sanitizers() {
#if defined(SHUNT_ASAN)
  return "address";
#elif defined(SHUNT_TSAN)
  return "thread";
#else
  return {};
#endif
}

/// How the ranks of the job that this process belongs to divide the CPUs; what a launcher has bound shows here.
ordered_json job_report(const std::vector<pgas::rank_cpus>& ranks, std::vector<std::string>& limits) {
  auto found = ordered_json::array();
  int crowded = 0;
  int bound = 0;
  const auto online = static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto& [kernel, claim, share] = ranks[r];
    found.push_back({{"rank", r},
                     {"kernel", kernel},
                     {"usable", claim.usable},
                     {"workers", share.workers},
                     {"own_cpus", share.alone},
                     {"room", share.room}});
    if (!share.room) ++crowded;
    if (share.alone && claim.usable.size() == 1 && online > ranks.size()) ++bound;
  }
  if (crowded > 0) {
    limits.push_back(
        fmt::format("{} of {} ranks share CPUs that are too few for one worker each: their workers sleep "
                    "instead of spinning. Start fewer ranks, or bind them to more CPUs.",
                    crowded, ranks.size()));
  }
  if (bound > 0) {
    limits.push_back(
        fmt::format("The launcher has bound {} of {} ranks to one CPU each, of {} online: one worker a rank. "
                    "`--bind-to none` lets the library divide all of them.",
                    bound, ranks.size(), online));
  }
  return found;
}

/// \param job  the ranks of this process's job; empty: it is alone
ordered_json examine(const std::vector<pgas::rank_cpus>& job) {
  ordered_json report;
  std::vector<std::string> limits;

  // --- processors ---
  const machine processors = describe_machine();
  const auto online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  std::set<std::string> sockets;
  std::set<std::string> cores;
  for (const int cpu : processors.usable) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    const auto socket = line_of(folder + "physical_package_id");
    const auto core = line_of(folder + "core_id");
    if (socket) sockets.insert(*socket);
    if (socket && core) cores.insert(*socket + "/" + *core);
  }
  std::string model;
  {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; model.empty() && std::getline(file, line);) {
      if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
        model = line.substr(line.find(": ") + 2);
      }
    }
  }
  std::optional<double> trip;
  if (processors.usable.size() >= 2) trip = round_trip(processors.usable[0], processors.usable[1]);
  report["cpu"] = {{"model", model.empty() ? ordered_json(nullptr) : ordered_json(model)},
                   {"online", online},
                   {"usable", processors.usable},
                   {"quota", or_null(processors.quota)},
                   {"workers", processors.workers},
                   {"sockets", sockets.size()},
                   {"cores", cores.size()},
                   {"numa_nodes", numa_nodes()},
                   {"caches", caches(processors.usable.front())},
                   {"round_trip_ns", trip ? ordered_json(std::round(*trip * 10) / 10) : ordered_json(nullptr)}};
  if (const auto usable = static_cast<int>(processors.usable.size()); usable < online) {
    limits.push_back(fmt::format("The affinity mask allows {} of {} CPUs.", usable, online));
  }
  if (processors.quota && *processors.quota < static_cast<double>(processors.usable.size())) {
    limits.push_back(
        fmt::format("A control group grants the time of {:.3g} CPUs: {} worker{} used, more would be "
                    "throttled.",
                    *processors.quota, processors.workers, processors.workers == 1 ? " is" : "s are"));
  }
  if (processors.workers == 1)
    limits.push_back("One worker: PEs take turns, and nothing runs faster by being divided.");
  if (!cores.empty() && cores.size() < processors.usable.size()) {
    limits.push_back(fmt::format("{} CPUs are hardware threads of {} cores: two that compute on one core share it.",
                                 processors.usable.size(), cores.size()));
  }
  if (trip && *trip > 400) {
    limits.push_back(
        fmt::format("The first two CPUs are {:.0f} ns apart (a cache line's way there and back): "
                    "they lie on different sockets, or the machine is shared. Large trains matter here.",
                    *trip));
  }

  // --- memory and limits ---
  const auto total = memory_line("MemTotal");
  const auto available = memory_line("MemAvailable");
  const auto group_memory = group_limit("memory.max");
  const auto maps = number_of("/proc/sys/vm/max_map_count");
  const auto overcommit = number_of("/proc/sys/vm/overcommit_memory");
  const bool guards = guards_without_mappings();
  const auto threads = limit(RLIMIT_NPROC);
  const auto group_tasks = group_limit("pids.max");
  const auto address_space = limit(RLIMIT_AS);
  auto huge = line_of("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  if (const auto open = huge.find('['); open != std::string::npos)
    huge = huge.substr(open + 1, huge.find(']') - open - 1);
  report["memory"] = {{"total", or_null(total)},
                      {"available", or_null(available)},
                      {"group_limit", or_null(group_memory)},
                      {"page", ::sysconf(_SC_PAGESIZE)},
                      {"huge_pages", or_null(memory_line("HugePages_Total"))},
                      {"transparent_huge_pages", huge.empty() ? ordered_json(nullptr) : ordered_json(huge)},
                      {"overcommit", or_null(overcommit)}};
  report["limits"] = {{"processes", or_null(threads)},
                      {"group_tasks", or_null(group_tasks)},
                      {"open_files", or_null(limit(RLIMIT_NOFILE))},
                      {"address_space", or_null(address_space)},
                      {"locked_memory", or_null(limit(RLIMIT_MEMLOCK))},
                      {"max_map_count", or_null(maps)},
                      {"guard_install", guards}};
  if (!guards && maps) {
    limits.push_back(
        fmt::format("The kernel has no MADV_GUARD_INSTALL (6.13): a guarded stack takes two "
                    "mappings, so about {} "
                    "fibers; `sysctl vm.max_map_count=1000000` allows more.",
                    *maps / 2));
  }
  if (overcommit && *overcommit == 2) {
    limits.push_back("vm.overcommit_memory is 2: every fiber's whole stack counts, used or not.");
  }
  if (group_memory && (!total || *group_memory < *total)) {
    limits.push_back(
        fmt::format("A control group limits memory to {}.", bytes_text(static_cast<double>(*group_memory))));
  }
  if (address_space) {
    limits.push_back(
        fmt::format("ulimit -v limits the address space to {}.", bytes_text(static_cast<double>(*address_space))));
  }
  for (const auto& [what, count] : {std::pair{"ulimit -u", threads}, std::pair{"A control group", group_tasks}}) {
    if (count && *count < 256) limits.push_back(fmt::format("{} allows {} processes and threads.", what, *count));
  }

  // --- software ---
  utsname kernel{};
  ::uname(&kernel);
  report["kernel"] = fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine);
#if defined(NDEBUG)
  const bool contracts = false;
#else
  const bool contracts = true;
#endif
  const std::string sanitized = sanitizers();
  report["library"] = {{"version", SHUNT_VERSION},
                       {"compiler", compiler()},
                       {"contracts_checked", contracts},
                       {"sanitizer", sanitized.empty() ? ordered_json(nullptr) : ordered_json(sanitized)}};
  if (contracts || !sanitized.empty()) limits.push_back("This is a debug or sanitizer build: its times mean nothing.");

  {
    sched::runtime one({.workers = 1});
    const io::reactor probed(one);
    report["io"] = probed.backend();
    if (probed.backend().find("helpers") != std::string::npos) {
      limits.push_back(fmt::format("No io_uring for files: {}.", probed.backend()));
    }
  }

  std::vector<transport::offer> transports{{"threads", ""}};
  try {
    transports = transport::offers(environment::read("SHUNT_PLUGINS").value_or(""));
  } catch (const usage_error& bad) {
    limits.push_back(fmt::format("Programs will find no MPI transport: {}", bad.what()));
  }
  report["transports"] = ordered_json::array();
  report["transport_files"] = ordered_json::object();
  for (const auto& t : transports) {
    report["transports"].push_back(t.name);
    if (!t.file.empty()) report["transport_files"][t.name] = t.file;
  }
  if (!job.empty()) report["job"] = job_report(job, limits);
  if (transports.size() == 1) {
    limits.push_back(
        "No MPI transport was built: jobs stay in one process. Install openmpi-bin and "
        "libopenmpi-dev, and build again.");
  }

  auto variables = ordered_json::object();
  for (const auto& known : environment::known()) {
    if (const auto value = environment::read(known.name)) variables[std::string(known.name)] = *value;
  }
  report["environment"] = variables;
  try {
    static_cast<void>(pgas::options_from_environment());  // names and values
  } catch (const usage_error& bad) {
    limits.push_back(fmt::format("Programs will not start: {}", bad.what()));
  }

  report["limited_by"] = limits;
  return report;
}

void print(const ordered_json& report) {
  const auto row = [](std::string_view name, const std::string& value) {
    fmt::print("{:<13}{}\n", name, apps::one_line(value));
  };
  const auto size_or = [](const ordered_json& value, const char* otherwise) {
    return value.is_null() ? std::string(otherwise) : bytes_text(value.get<double>());
  };
  const auto count_or = [](const ordered_json& value, const char* otherwise) {
    return value.is_null() ? std::string(otherwise) : std::to_string(value.get<std::uint64_t>());
  };

  const auto& cpu = report["cpu"];
  if (!cpu["model"].is_null()) row("processor", cpu["model"].get<std::string>());
  const auto usable = cpu["usable"].get<std::vector<int>>();
  row("CPUs",
      fmt::format("{} online, {} usable ({}), quota {}", cpu["online"].get<int>(), usable.size(), list_text(usable),
                  cpu["quota"].is_null() ? "none" : fmt::format("{:.3g}", cpu["quota"].get<double>())));
  row("workers", fmt::format("{}", cpu["workers"].get<int>()));
  row("topology", fmt::format("sockets {}, cores {}, NUMA nodes {}", cpu["sockets"].get<int>(), cpu["cores"].get<int>(),
                              cpu["numa_nodes"].get<int>()));
  std::string caches;
  for (const auto& cache : cpu["caches"]) {
    if (cache["type"] == "Instruction") continue;
    caches += fmt::format("{}L{} {} (CPUs {})", caches.empty() ? "" : ", ", cache["level"].get<int>(),
                          cache["size"].get<std::string>(), cache["shared_by"].get<std::string>());
  }
  if (!caches.empty()) row("caches", caches);
  if (!cpu["round_trip_ns"].is_null()) {
    row("distance", fmt::format("{:.0f} ns for a cache line from CPU {} to CPU {} and back",
                                cpu["round_trip_ns"].get<double>(), usable[0], usable[1]));
  }
  const auto& memory = report["memory"];
  row("memory", fmt::format("{} of {} available, group limit {}", size_or(memory["available"], "?"),
                            size_or(memory["total"], "?"), size_or(memory["group_limit"], "none")));
  row("pages",
      fmt::format(
          "{}, transparent huge pages {}, overcommit {}", bytes_text(memory["page"].get<double>()),
          memory["transparent_huge_pages"].is_null() ? "unknown" : memory["transparent_huge_pages"].get<std::string>(),
          count_or(memory["overcommit"], "?")));
  const auto& limits = report["limits"];
  row("limits",
      fmt::format("processes {}, open files {}, max_map_count {}, guard pages {}", count_or(limits["processes"], "any"),
                  count_or(limits["open_files"], "any"), count_or(limits["max_map_count"], "?"),
                  limits["guard_install"].get<bool>() ? "free of mappings" : "two mappings a stack"));
  row("kernel", report["kernel"].get<std::string>());
  const auto& library = report["library"];
  row("library",
      fmt::format("shunt {}, {}{}{}", library["version"].get<std::string>(), library["compiler"].get<std::string>(),
                  library["contracts_checked"].get<bool>() ? ", contracts checked" : "",
                  library["sanitizer"].is_null() ? "" : ", sanitizer " + library["sanitizer"].get<std::string>()));
  std::string transports;
  for (const auto& name : report["transports"])
    transports += (transports.empty() ? "" : ", ") + name.get<std::string>();
  row("transports", transports);
  for (const auto& [name, file] : report["transport_files"].items())
    row("plugin", name + ": " + file.get<std::string>());
  if (report.contains("job")) {
    for (const auto& rank : report["job"]) {
      row(fmt::format("rank {}", rank["rank"].get<int>()),
          fmt::format("CPUs {}{}, {} worker{}{}", list_text(rank["usable"].get<std::vector<int>>()),
                      rank["own_cpus"].get<bool>() ? " of its own" : " shared with other ranks",
                      rank["workers"].get<int>(), rank["workers"].get<int>() == 1 ? "" : "s",
                      rank["room"].get<bool>() ? "" : ", more than there are CPUs for"));
    }
  }
  if (report.contains("between_ranks")) row("trains", report["between_ranks"].get<std::string>());
  if (report.contains("between_hosts")) row("network", report["between_hosts"].get<std::string>());
  row("input/output", report["io"].get<std::string>());
  for (const auto& [name, value] : report["environment"].items())
    row("environment", name + "=" + value.get<std::string>());

  const auto& limited = report["limited_by"];
  fmt::print("\n{}\n", limited.empty() ? "Nothing here limits Shunt in an unusual way." : "What limits this machine:");
  for (const auto& line : limited) fmt::print("  - {}\n", apps::one_line(line.get<std::string>()));
}

/// How trains go between ranks of one machine; collective, like the service that it tries.
std::string way_between_ranks(transport::carrier& carrier, bool shared_memory) {
  const std::string network = "ranks send each other trains over " + std::string(carrier.name());
  if (!shared_memory) return network + " (SHUNT_SHARED_MEMORY=0)";
  constexpr std::size_t trains = 2, capacity = 4096;
  transport::service wanted{.capacity = capacity, .yard = rail::train_pool::bytes_for(trains, capacity)};
  for (int r = 0; r < carrier.ranks(); ++r) wanted.rank_of.push_back(r);
  carrier.start(wanted);
  const bool shared = carrier.place_of(carrier.rank()).inbox != nullptr;
  const auto why = carrier.why_not_shared();
  const bool far = carrier.has_network();
  carrier.stop();
  if (!shared) return network + (why.empty() ? "" : ", and share no memory: " + why);
  return std::string("ranks of one machine share the memory of their trains") +
         (far ? "; others send theirs over " + std::string(carrier.name()) : "");
}

}  // namespace

int doctor(bool as_json) {
  // Under a launcher all processes tell each other what they may use, and the first one reports.
  std::vector<pgas::rank_cpus> job;
  std::string way, network;
  if (pgas::under_launcher()) {
    // First, as what is wrong with them is told over a transport, and MPI begins once.
    const auto wanted = pgas::options_from_environment();
    const auto carrier = transport::open("auto", environment::read("SHUNT_PLUGINS").value_or(""), {.name = "doctor"});
    if (carrier->ranks() > 1) {
      job = pgas::placement(*carrier, wanted.workers);
      way = way_between_ranks(*carrier, wanted.shared_memory);
      if (const auto speed = pgas::measure_network(*carrier, wanted.deadline, "doctor")) network = speed->text();
    }
    if (carrier->rank() > 0) return 0;
  }
  auto report = examine(job);
  if (!way.empty()) report["between_ranks"] = way;
  if (!network.empty()) report["between_hosts"] = network;
  if (as_json) {
    fmt::print("{}\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    print(report);
  }
  return 0;
}

}  // namespace shunt::cli
