/// What the plugin exports: its version, the OpenSHMEM that it was made with, and how the transport is opened.
#include <shmem.h>

#include <shunt/transport/detail/plugin.hpp>
#include <shunt/transport/shmem/carrier.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {
namespace {

/// "Open MPI 4.1.4"
const char* library_name() noexcept {
#define SHUNT_TEXT_(x) #x
#define SHUNT_TEXT(x) SHUNT_TEXT_(x)
  return "Open MPI " SHUNT_TEXT(OSHMEM_MAJOR_VERSION) "." SHUNT_TEXT(OSHMEM_MINOR_VERSION) "." SHUNT_TEXT(
      OSHMEM_RELEASE_VERSION);
}

carrier* open_shmem(const limits& time_limits) { return new shmem_carrier(time_limits); }

}  // namespace
}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt

extern "C" __attribute__((visibility("default"))) const shunt::transport::detail::plugin*
shunt_transport_plugin() noexcept {
  using namespace shunt::transport;
  return detail::offered(shmem::library_name(), shmem::open_shmem);
}
