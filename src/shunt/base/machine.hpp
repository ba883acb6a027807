/// Which machine a process runs on: what two processes must have in common before a number that one of them tells (of a
/// CPU, of a process) means the same to the other.
#pragma once

#include <string>

namespace shunt {
inline namespace v1 {

/// Any thread. The kernel that runs this process: the boot's own number, or the host's name where /proc has none.
/// Processes with the same text share CPUs, and a CPU's number means the same to both, whatever namespaces they are in.
/// \param root  the folder that has /proc; tests pass a fake tree.
[[nodiscard]] std::string kernel_identity(const std::string& root = "/");

/// Any thread. The machine as processes see it: kernel_identity(), and the namespaces that separate containers.
///
///   net   other addresses, other loopback: one cannot be reached as the other is
///   pid   a process number of one means nothing, or another process, to the other
///   ipc   one cannot map the other's shared memory by name
///
/// Left out: `mnt`, which services and launch agents change for every process they start (a private /tmp); `uts`, a
/// name that may differ for no reason; `user`, rights only; `cgroup`, how paths of groups are shown; `time`.
[[nodiscard]] std::string machine_identity(const std::string& root = "/");

}  // namespace v1
}  // namespace shunt
