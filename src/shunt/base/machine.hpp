/// Which machine a process runs on: what two processes must have in common before one of them believes a number
/// (of a CPU, of a process) that the other has told it.
#pragma once

#include <string>

namespace shunt {
inline namespace v1 {

/// The kernel that runs this process: the boot's own number, or the host's name where /proc has none. Processes with
/// the same text share CPUs, and a CPU's number means the same to both, whatever namespaces they are in.
/// \param root  where /proc hangs; tests pass a fake tree.
[[nodiscard]] std::string kernel_identity(const std::string& root = "/");

/// The machine as processes see it: kernel_identity() and the namespaces that part one container from another.
///
///   net   other addresses, other loopback: the one cannot be reached as the other is
///   pid   a process number of the one means nothing, or another process, to the other
///   ipc   the one cannot map the other's shared memory by name
///
/// Left out: `mnt`, which services and launch agents change for every process they start (a private /tmp); `uts`, a
/// name that may differ for no reason; `user`, rights only; `cgroup`, how paths of groups are shown; `time`.
[[nodiscard]] std::string machine_identity(const std::string& root = "/");

}  // namespace v1
}  // namespace shunt
