/// How many CPUs this process may really use: its affinity mask, and its control groups' quota.
///
/// `std::thread::hardware_concurrency()` knows no quota: in a container limited to 2 of 64 CPUs
/// it says 64, and a runtime that believes it is throttled for most of every period.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {

/// The CPUs of the calling thread's affinity mask, ascending; never empty. Any number of CPUs.
[[nodiscard]] std::vector<int> usable_cpus();

/// The CPU time that control groups grant, in CPUs (0.5: half of one); the least of this process's
/// group and of every ancestor that is visible, version 1 and version 2 alike.
/// \param root  where /proc and /sys hang; tests pass a fake tree.
/// \return nothing if there is no limit, or none can be read.
[[nodiscard]] std::optional<double> cpu_quota(const std::string& root = "/");

/// max(1, min(usable CPUs, quota rounded to the nearest whole number)).
[[nodiscard]] int default_workers();

/// What the above found, for a `doctor` command.
struct machine {
  int configured_cpus = 0;       ///< in the machine, online or not
  std::vector<int> usable;       ///< see usable_cpus()
  std::optional<double> quota;   ///< see cpu_quota()
  int workers = 1;               ///< see default_workers()
};
[[nodiscard]] machine describe_machine();

/// Binds the calling thread to one CPU. \return false if the system refused; nothing changed then.
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
