#include <shunt/transport/mpi/check.hpp>

#include <string>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

void throw_failure(int code, const char* call, int peer) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::string message = std::string(call) + (peer < 0 ? "" : " with rank " + std::to_string(peer)) +
                        " failed: " + std::string(text, static_cast<std::size_t>(length)) + " (code " +
                        std::to_string(code) + ")";
  throw error(error_number(805), message, {.rank = peer, .native = code});
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
