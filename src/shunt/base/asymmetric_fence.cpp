#include <shunt/base/asymmetric_fence.hpp>

#include <shunt/base/error.hpp>
#include <shunt/base/sanitizers.hpp>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace shunt {
inline namespace v1 {

#if defined(__linux__) && !defined(SHUNT_TSAN)

bool asymmetric_fence::usable() noexcept {
  static const bool registered = [] {
    const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  }();
  return registered;
}

void asymmetric_fence::heavy() noexcept {
  // It fails only in a process that is not registered, and usable() has registered this one.
  [[maybe_unused]] const long failed = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  SHUNT_ASSERT(failed == 0);
}

#else

bool asymmetric_fence::usable() noexcept { return false; }
void asymmetric_fence::heavy() noexcept {}

#endif

}  // namespace v1
}  // namespace shunt
