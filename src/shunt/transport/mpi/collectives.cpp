#include <shunt/transport/mpi/collectives.hpp>

#include <climits>
#include <cstddef>

#include <shunt/base/error.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

/// First the lengths, then the texts: a receiver must know where each text begins.
std::vector<std::string> all_gather(network::gate& calls, MPI_Comm among, int rank, int ranks,
                                    const std::string& mine) {
  const auto wait = [] { return true; };
  const auto count = static_cast<std::size_t>(ranks);
  if (mine.size() > INT_MAX) {
    throw error(error_number(806),
                "exchange of " + std::to_string(mine.size()) + " bytes: at most " + std::to_string(INT_MAX) + " in all",
                {.rank = rank});
  }
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(count);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const auto pass = calls.enter();
    check(MPI_Iallgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, among, &request), "MPI_Iallgather");
  }
  static_cast<void>(complete(calls, request, "MPI_Iallgather", wait));

  std::vector<int> starts(count);
  std::size_t all = 0;
  for (std::size_t r = 0; r < count; ++r) {
    starts[r] = static_cast<int>(all);
    all += static_cast<std::size_t>(lengths[r]);
    if (all > INT_MAX) {  // every rank sees this alike
      throw error(error_number(807), "exchange of more than " + std::to_string(INT_MAX) + " bytes in all",
                  {.rank = static_cast<int>(r)});
    }
  }
  std::string texts(all, '\0');
  {
    const auto pass = calls.enter();
    check(MPI_Iallgatherv(mine.data(), length, MPI_CHAR, texts.data(), lengths.data(), starts.data(), MPI_CHAR, among,
                          &request),
          "MPI_Iallgatherv");
  }
  static_cast<void>(complete(calls, request, "MPI_Iallgatherv", wait));
  std::vector<std::string> result(count);
  for (std::size_t r = 0; r < count; ++r) {
    result[r] = texts.substr(static_cast<std::size_t>(starts[r]), static_cast<std::size_t>(lengths[r]));
  }
  return result;
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
