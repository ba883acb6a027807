#include <shunt/base/topology.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace {

#if defined(__linux__)
constexpr int bits_a_word = static_cast<int>(8 * sizeof(unsigned long));
constexpr std::size_t mask_words_at_most = (1U << 20) / 64;  // a million CPUs

/// The kernel refuses masks shorter than its own: double until it is content.
std::vector<unsigned long> affinity_mask() {
  for (std::size_t words = 16; words <= mask_words_at_most; words *= 2) {
    std::vector<unsigned long> mask(words, 0);
    if (sched_getaffinity(0, words * sizeof(unsigned long),
                          reinterpret_cast<cpu_set_t*>(mask.data())) == 0) {
      return mask;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

bool set_affinity(const std::vector<unsigned long>& mask) noexcept {
  return sched_setaffinity(0, mask.size() * sizeof(unsigned long),
                           reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
}
#endif

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](std::size_t k) { return text[k] >= '0' && text[k] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                        (text[i + 3] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

struct hierarchy {
  bool version2 = false;
  std::string group_at_mount;  // which group the mount point shows
  std::string mount_point;
};

std::vector<hierarchy> cpu_hierarchies(const std::string& root) {
  std::vector<hierarchy> found;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // id parent major:minor group_at_mount mount_point options [optional...] - type source super
    std::istringstream fields(line);
    std::string skipped, group, point, type, super;
    fields >> skipped >> skipped >> skipped >> group >> point;
    while (fields >> skipped && skipped != "-") {
    }
    if (!(fields >> type >> skipped >> super)) continue;
    const bool version2 = type == "cgroup2";
    if (version2 || (type == "cgroup" && has_word(super, "cpu"))) {
      found.push_back({version2, unescaped(group), unescaped(point)});
    }
  }
  return found;
}

/// This process's group in one hierarchy, as /proc/self/cgroup names it: "id:controllers:path".
std::string group_of_self(const std::string& root, bool version2) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    if (version2 ? controllers.empty() && line.starts_with("0:") : has_word(controllers, "cpu")) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

/// The group's path below the mount point; "" where the mount does not show the group.
std::string below_mount(const hierarchy& h, std::string group) {
  if (group.find("..") != std::string::npos) return "";  // outside of the namespace's root
  if (h.group_at_mount != "/") {
    if (!group.starts_with(h.group_at_mount)) return "";
    group.erase(0, h.group_at_mount.size());
    if (!group.empty() && group.front() != '/') return "";
  }
  while (!group.empty() && group.back() == '/') group.pop_back();
  return group;
}

std::optional<double> quota_at(const std::string& directory, bool version2) {
  double quota = 0;
  double period = 0;
  if (version2) {
    std::ifstream file(directory + "/cpu.max");  // "50000 100000" or "max 100000"
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream quota_file(directory + "/cpu.cfs_quota_us");  // -1: none
    std::ifstream period_file(directory + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

int workers_for(std::size_t cpus, std::optional<double> quota) {
  auto workers = static_cast<long>(cpus);
  if (quota) workers = std::min(workers, std::lround(*quota));
  return static_cast<int>(std::max(1L, workers));
}

}  // namespace

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
#if defined(__linux__)
  const auto mask = affinity_mask();
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (int bit = 0; bit < bits_a_word; ++bit) {
      if ((mask[word] >> bit) & 1UL) cpus.push_back(static_cast<int>(word) * bits_a_word + bit);
    }
  }
#endif
  if (cpus.empty()) {
    const int count = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for (const auto& h : cpu_hierarchies(root)) {
    auto below = below_mount(h, group_of_self(root, h.version2));
    for (;;) {
      const auto quota = quota_at(root + h.mount_point + below, h.version2);
      if (quota && (!least || *quota < *least)) least = quota;
      const auto slash = below.rfind('/');
      if (slash == std::string::npos) break;
      below.erase(slash);
    }
  }
  return least;
}

int default_workers() { return workers_for(usable_cpus().size(), cpu_quota()); }

machine describe_machine() {
  machine m;
  m.configured_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  m.usable = usable_cpus();
  m.quota = cpu_quota();
  m.workers = workers_for(m.usable.size(), m.quota);
  return m;
}

bool pin_this_thread([[maybe_unused]] int cpu) noexcept {
#if defined(__linux__)
  try {
    std::vector<unsigned long> mask(static_cast<std::size_t>(cpu / bits_a_word) + 1, 0);
    mask.back() = 1UL << (cpu % bits_a_word);
    return set_affinity(mask);
  } catch (...) {
    return false;  // placement is a wish; without memory for the mask it stays one
  }
#else
  return false;
#endif
}

affinity_keeper::affinity_keeper() {
#if defined(__linux__)
  mask_ = affinity_mask();
#endif
}

affinity_keeper::~affinity_keeper() {
#if defined(__linux__)
  if (!mask_.empty()) set_affinity(mask_);
#endif
}

}  // namespace v1
}  // namespace shunt
