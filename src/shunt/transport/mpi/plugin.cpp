/// What the plugin exports: its version, the MPI that it was made with, and how the transport is opened.
#include <mpi.h>

#include <shunt/transport/detail/plugin.hpp>
#include <shunt/transport/mpi/carrier.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {
namespace {

/// "Open MPI 4.1.4"
const char* library_name() noexcept {
#if defined(OPEN_MPI)
#define SHUNT_TEXT_(x) #x
#define SHUNT_TEXT(x) SHUNT_TEXT_(x)
  return "Open MPI " SHUNT_TEXT(OMPI_MAJOR_VERSION) "." SHUNT_TEXT(OMPI_MINOR_VERSION) "." SHUNT_TEXT(
      OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  return "MPICH " MPICH_VERSION;
#else
  return "an MPI";
#endif
}

carrier* open_mpi(const limits& time_limits) { return new mpi_carrier(time_limits); }

}  // namespace
}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt

extern "C" __attribute__((visibility("default"))) const shunt::transport::detail::plugin*
shunt_transport_plugin() noexcept {
  using namespace shunt::transport;
  return detail::offered(mpi::library_name(), mpi::open_mpi);
}
