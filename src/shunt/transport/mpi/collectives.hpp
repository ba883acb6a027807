/// Collective calls that do not block: MPI tests them, with pauses between, so a job may have more ranks than cores,
/// and other threads get the gate meanwhile.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include <shunt/transport/mpi/check.hpp>
#include <shunt/transport/network/backoff.hpp>
#include <shunt/transport/network/gate.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// A thread that does not hold the gate: waits until `request` is complete. Takes the gate for each test.
/// \param call       what the request was made by
/// \param meanwhile  bool(): called between two tests, without the gate. \return whether to go on waiting
/// \return false: `meanwhile` did not want to wait any longer. Then MPI keeps the request.
template <class Meanwhile>
[[nodiscard]] bool complete(network::gate& calls, MPI_Request& request, const char* call, Meanwhile meanwhile) {
  for (network::backoff pause;; pause()) {
    {
      const auto pass = calls.enter();
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
      if (done != 0) return true;
    }
    if (!meanwhile()) return false;
  }
}

/// Collective: returns once all ranks of `among` have called it. Parameters and result as above.
template <class Meanwhile>
[[nodiscard]] bool barrier(network::gate& calls, MPI_Comm among, const char* call, Meanwhile meanwhile) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const auto pass = calls.enter();
    check(MPI_Ibarrier(among, &request), call);
  }
  return complete(calls, request, call, meanwhile);
}

/// Collective: every rank's text, in rank order.
/// \throws shunt::error if MPI fails, or if the texts have more than INT_MAX bytes in all
[[nodiscard]] std::vector<std::string> all_gather(network::gate& calls, MPI_Comm among, int rank, int ranks,
                                                  const std::string& mine);

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
