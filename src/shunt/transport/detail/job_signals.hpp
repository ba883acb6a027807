/// What a launcher may pass on to a process of its job.
#pragma once

#include <sys/types.h>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// In a signal handler, too. Whether that process catches the signal now: SIGUSR1 and SIGUSR2 ask a question, and would
/// end a process that does not catch them, or not yet. The kernel's text is read with system calls alone.
[[nodiscard]] bool catches(pid_t process, int number) noexcept;

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
