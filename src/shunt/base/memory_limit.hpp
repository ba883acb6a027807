/// Which of the system's limits refuses memory: for error messages.
#pragma once

#include <cstddef>
#include <string>

namespace shunt {
inline namespace v1 {

/// Any thread. After a call failed with ENOMEM that asked for `bytes` of address space, or for a mapping: names the
/// limit that stands at its bound, its value, and what raises it: RLIMIT_AS, RLIMIT_DATA, the commit limit of
/// vm.overcommit_memory=2, vm.max_map_count. Where it cannot tell, it names the candidates.
/// Cost: some system calls; mappings are counted at most once a second. \throws std::bad_alloc
[[nodiscard]] std::string memory_limit_in_force(std::size_t bytes);

/// Any thread. After the system refused a thread (EAGAIN): the same, with RLIMIT_NPROC and the system's own limits on
/// threads among the candidates.
/// \throws std::bad_alloc
[[nodiscard]] std::string thread_limit_in_force();

}  // namespace v1
}  // namespace shunt
