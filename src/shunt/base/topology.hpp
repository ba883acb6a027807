/// How many CPUs this process may really use: its affinity mask, and its control groups' quota.
///
/// `std::thread::hardware_concurrency()` knows no quota: in a container that is limited to 2 of 64 CPUs it says 64, and
/// the kernel throttles a runtime that believes it for most of every period.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {

/// Any thread. The CPUs of the calling thread's affinity mask, ascending; never empty. Any number of CPUs.
[[nodiscard]] std::vector<int> usable_cpus();

/// What one control group grants all its processes together.
struct cpu_limit {
  std::string group;  ///< the kernel's number of it: the same text in every process of one kernel
  double cpus = 0;    ///< CPU time, in CPUs (0.5: half of one)
};

/// Any thread. The limits of this process's control group and of every ancestor that is visible, version 1 and version
/// 2 alike.
/// \param root  the folder that has /proc and /sys; tests pass a fake tree.
[[nodiscard]] std::vector<cpu_limit> cpu_limits(const std::string& root = "/");

/// Any thread. The CPU time that control groups grant, in CPUs (0.5: half of one): the least of this process's group
/// and of every ancestor that is visible, version 1 and version 2 alike.
/// \param root  the folder that has /proc and /sys; tests pass a fake tree.
/// \return nothing if there is no limit, or none can be read.
[[nodiscard]] std::optional<double> cpu_quota(const std::string& root = "/");

/// Any thread. max(1, min(usable CPUs, quota rounded to the nearest whole number)).
[[nodiscard]] int default_workers();

/// What one of several processes of a job may use on a kernel, and how much it wants.
struct cpu_claim {
  std::vector<int> usable;        ///< see usable_cpus()
  std::vector<cpu_limit> limits;  ///< see cpu_limits()
  int wanted = 0;                 ///< workers; 0: its share
};

/// What such a process gets.
struct cpu_share {
  int workers = 1;    ///< what it wanted, or its share: at least 1
  bool room = true;   ///< each of its workers, and of the processes that compete with it, can have a CPU of its own
  bool alone = true;  ///< no other of these processes may use its CPUs
  /// Equal in all three.
  friend bool operator==(const cpu_share&, const cpu_share&) = default;
};

/// Any thread. Divides the CPUs of one kernel between the processes of a job.
///
/// The rule: CPUs are given out one at a time, always to one of the processes that have fewest, as long as its mask,
/// its control groups and the number that it wants allow. A CPU that was given changes hands where that lets one more
/// process have one. So
///
///   masks of a launcher that bound its ranks (disjoint)   each process has its whole mask
///   the same mask everywhere (not bound)                  equal shares; what does not divide is left
///   masks that overlap in part                            the fairest of all divisions: the least share is as large
///                                                         as can be, then the second least, and so on
///   a quota of a group that holds several of them         once for all of them, rounded to whole CPUs, at least 1
///
/// Processes that have the same mask and groups, and want their share, get equally many. A process that gets none has
/// one worker all the same, and no room.
/// \return in the order of `claims`. Cost: some microseconds a CPU. \throws std::bad_alloc
[[nodiscard]] std::vector<cpu_share> share_cpus(std::span<const cpu_claim> claims);

/// What the functions above find, for a `doctor` command.
struct machine {
  int configured_cpus = 0;      ///< in the machine, online or not
  std::vector<int> usable;      ///< see usable_cpus()
  std::optional<double> quota;  ///< see cpu_quota()
  int workers = 1;              ///< see default_workers()
};
/// Any thread.
[[nodiscard]] machine describe_machine();

/// Any thread. Binds the calling thread to one CPU. \return false if the system refused; nothing changed then.
bool pin_this_thread(int cpu) noexcept;

/// Remembers the calling thread's affinity mask and puts it back. Destroy it on the same thread.
class affinity_keeper {
 public:
  affinity_keeper();
  ~affinity_keeper();
  affinity_keeper(const affinity_keeper&) = delete;
  affinity_keeper& operator=(const affinity_keeper&) = delete;

 private:
  std::vector<unsigned long> mask_;  // empty: unknown, nothing is put back
};

}  // namespace v1
}  // namespace shunt
