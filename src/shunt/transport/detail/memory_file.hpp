/// Files in memory, without a name: what processes of a machine share, and what is gone with the last of them.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include <shunt/base/owned_descriptor.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace detail {

/// An empty one; errno where the system gives none. \param shown_as  in /proc
[[nodiscard]] inline owned_descriptor memory_file(const char* shown_as) noexcept {
  return owned_descriptor(::memfd_create(shown_as, MFD_CLOEXEC));
}

/// Which file a descriptor is of; {}: of none.
using file_identity = std::pair<dev_t, ino_t>;
[[nodiscard]] inline file_identity identity_of(int descriptor) noexcept {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 ? file_identity(about.st_dev, about.st_ino) : file_identity();
}

}  // namespace detail
}  // namespace transport
}  // namespace v1
}  // namespace shunt
