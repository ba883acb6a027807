#include <shunt/base/topology.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

namespace shunt {
inline namespace v1 {
namespace {

#if defined(__linux__)
constexpr int bits_a_word = static_cast<int>(8 * sizeof(unsigned long));
constexpr std::size_t mask_words_at_most = (1U << 20) / 64;  // a million CPUs

/// The kernel refuses a mask shorter than its own: doubles the length until the kernel accepts it.
std::vector<unsigned long> affinity_mask() {
  for (std::size_t words = 16; words <= mask_words_at_most; words *= 2) {
    std::vector<unsigned long> mask(words, 0);
    if (sched_getaffinity(0, words * sizeof(unsigned long), reinterpret_cast<cpu_set_t*>(mask.data())) == 0) {
      return mask;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

bool set_affinity(const std::vector<unsigned long>& mask) noexcept {
  return sched_setaffinity(0, mask.size() * sizeof(unsigned long), reinterpret_cast<const cpu_set_t*>(mask.data())) ==
         0;
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
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
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

/// A group's folder has the group's number as its inode's, in every mount and every namespace of a kernel; paths differ
/// there, and so does the device.
std::string group_number(const std::string& folder, bool version2) {
  struct stat about{};
  const std::string number = stat(folder.c_str(), &about) == 0 ? std::to_string(about.st_ino) : folder;
  return (version2 ? "2:" : "1:") + number;
}

/// Workers that a quota carries. One more than the quota would be throttled; half a CPU too few costs less than that.
int whole_cpus(double quota) { return static_cast<int>(std::max(1L, std::lround(quota))); }

int workers_for(std::size_t cpus, std::optional<double> quota) {
  auto workers = static_cast<int>(std::max<std::size_t>(1, cpus));
  if (quota) workers = std::min(workers, whole_cpus(*quota));
  return workers;
}

/// share_cpus() at work: which process has which CPU. The constructor divides, shares() reports.
class division {
 public:
  explicit division(std::span<const cpu_claim> claims)
      : claims_(claims), count_(claims.size(), 0), together_(claims.size()), alone_(claims.size(), true) {
    for (std::size_t p = 0; p < claims.size(); ++p) {
      together_[p] = p;
      for (const int cpu : claims[p].usable) {
        const auto index = static_cast<std::size_t>(cpu);
        if (index >= owner_.size()) {
          owner_.resize(index + 1, none);
          first_user_.resize(index + 1, none);
        }
        if (first_user_[index] == none) {
          first_user_[index] = p;
        } else {
          alone_[p] = alone_[first_user_[index]] = false;
          join(p, first_user_[index]);
        }
      }
      for (const auto& l : claims[p].limits) {
        auto& g = groups_[l.group];
        if (g.members++ == 0) {
          g.cpus = whole_cpus(l.cpus);
          g.first = p;
        }
        join(p, g.first);
      }
    }
    // In turn, each process gets one more: so those that have fewest come first. A process that cannot get one more now
    // never can.
    std::vector<std::size_t> asking(claims.size());
    for (std::size_t p = 0; p < claims.size(); ++p) asking[p] = p;
    while (!asking.empty()) std::erase_if(asking, [this](std::size_t p) { return !one_more(p); });
  }

  /// Processes that want their share, and are alike, get the least that one of them has. Where a process has fewer CPUs
  /// than workers, there is no room for all that compete with it.
  std::vector<cpu_share> shares() {
    std::vector<cpu_share> all(claims_.size());
    std::vector<bool> crowded(claims_.size(), false);
    std::map<std::pair<std::vector<int>, std::string>, int> least;  // of processes with the same mask and groups
    const auto kind = [this](std::size_t p) {
      std::pair<std::vector<int>, std::string> same{claims_[p].usable, {}};
      for (const auto& l : claims_[p].limits) same.second += l.group + ' ';
      return same;
    };
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (claims_[p].wanted != 0) continue;
      const auto known = least.try_emplace(kind(p), count_[p]).first;
      known->second = std::min(known->second, count_[p]);
    }
    for (std::size_t p = 0; p < all.size(); ++p) {
      const int wanted = claims_[p].wanted;
      all[p].workers = wanted != 0 ? wanted : std::max(1, least.at(kind(p)));
      all[p].alone = alone_[p];
      if (count_[p] < all[p].workers) crowded[top(p)] = true;
    }
    for (std::size_t p = 0; p < all.size(); ++p) all[p].room = !crowded[top(p)];
    return all;
  }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);
  struct group {
    int cpus = 0;
    int used = 0;
    int members = 0;
    std::size_t first = 0;
  };

  /// Processes that compete, directly or through others, have the same top (union-find).
  std::size_t top(std::size_t p) {
    while (together_[p] != p) p = together_[p] = together_[together_[p]];
    return p;
  }
  void join(std::size_t a, std::size_t b) { together_[top(a)] = top(b); }

  /// Gives `p` one CPU more, if its mask, its groups and the number that it wants allow.
  bool one_more(std::size_t p) {
    const auto& claim = claims_[p];
    if (claim.wanted != 0 && count_[p] >= claim.wanted) return false;
    for (const auto& l : claim.limits) {
      if (const auto& g = groups_[l.group]; g.used >= g.cpus) return false;
    }
    seen_.assign(owner_.size(), false);
    if (!take(p)) return false;
    ++count_[p];
    for (const auto& l : claim.limits) ++groups_[l.group].used;
    return true;
  }

  /// A CPU for `p`: a free one, or one whose owner finds another (an augmenting path, breadth first).
  bool take(std::size_t p) {
    std::vector<std::size_t> from(claims_.size(), none);  // the CPU that a process would give up to go on
    std::vector<std::size_t> giver(owner_.size(), none);  // the process that wants the CPU
    std::vector<std::size_t> queue{p};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const auto now = queue[at];
      for (const int cpu : claims_[now].usable) {
        const auto index = static_cast<std::size_t>(cpu);
        if (seen_[index]) continue;
        seen_[index] = true;
        giver[index] = now;
        const auto owner = owner_[index];
        if (owner != none) {
          if (owner == p || from[owner] != none) continue;
          from[owner] = index;
          queue.push_back(owner);
          continue;
        }
        for (auto free = index; free != none;) {  // back along the path: each process takes the CPU found for it
          const auto taker = giver[free];
          owner_[free] = taker;
          free = taker == p ? none : from[taker];
        }
        return true;
      }
    }
    return false;
  }

  std::span<const cpu_claim> claims_;
  std::vector<int> count_;
  std::vector<std::size_t> together_;
  std::vector<bool> alone_;
  std::vector<std::size_t> owner_;       // by CPU
  std::vector<std::size_t> first_user_;  // by CPU
  std::vector<bool> seen_;               // by CPU
  std::map<std::string, group> groups_;
};

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

std::vector<cpu_limit> cpu_limits(const std::string& root) {
  std::vector<cpu_limit> found;
  for (const auto& h : cpu_hierarchies(root)) {
    auto below = below_mount(h, group_of_self(root, h.version2));
    for (;;) {
      const auto folder = root + h.mount_point + below;
      if (const auto quota = quota_at(folder, h.version2)) {
        found.push_back({group_number(folder, h.version2), *quota});
      }
      const auto slash = below.rfind('/');
      if (slash == std::string::npos) break;
      below.erase(slash);
    }
  }
  return found;
}

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for (const auto& l : cpu_limits(root)) {
    if (!least || l.cpus < *least) least = l.cpus;
  }
  return least;
}

std::vector<cpu_share> share_cpus(std::span<const cpu_claim> claims) { return division(claims).shares(); }

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
