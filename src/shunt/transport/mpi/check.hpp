/// What a call of MPI returned, as an exception.
#pragma once

#include <mpi.h>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// \throws shunt::error  naming the call, the rank it concerned, MPI's own text and its code.
[[noreturn]] void throw_failure(int code, const char* call, int peer);

/// Any thread. Does nothing if `code` is MPI_SUCCESS.
/// \param call  the function as its manual names it, with the purpose where one function has several
/// \param peer  the rank that the call concerned; -1: none
/// \throws shunt::error  for every other code
inline void check(int code, const char* call, int peer = -1) {
  if (code != MPI_SUCCESS) throw_failure(code, call, peer);
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
