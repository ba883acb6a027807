#include <shunt/transport/mpi/heartbeats.hpp>

#include <chrono>
#include <cstddef>

#include <shunt/transport/detail/watching.hpp>
#include <shunt/transport/mpi/check.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {

void heartbeats::open(const network::gate::pass&, MPI_Comm among, int rank, int ranks) {
  const auto others = detail::peers_of(rank, ranks);
  peers_.assign(others.size(), {});
  words_.assign(others.size(), {});
  requests_.assign(2 * others.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < others.size(); ++i) {
    auto& p = peers_[i];
    auto& with = words_[i];
    p.rank = others[i];
    // Synchronous, so that at most one word is under way to a rank that does not listen.
    check(MPI_Recv_init(&with.received, 1, MPI_CHAR, p.rank, 0, among, &requests_[2 * i]), "MPI_Recv_init", p.rank);
    check(MPI_Ssend_init(&with.sent, 1, MPI_CHAR, p.rank, 0, among, &requests_[2 * i + 1]), "MPI_Ssend_init", p.rank);
    check(MPI_Start(&requests_[2 * i]), "MPI_Start", p.rank);
  }
}

void heartbeats::receive(const network::gate::pass&) {
  std::vector<int> indices(requests_.size());
  // Twice: a rank that woke from a long sleep may have to look twice to find what has long been there.
  for (int attempt = 0; attempt < 2; ++attempt) {
    int done = 0;
    check(
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, indices.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome of the heartbeats");
    if (done == MPI_UNDEFINED) return;
    for (int i = 0; i < done; ++i) {
      const auto index = static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]);
      auto& p = peers_[index / 2];
      auto& with = words_[index / 2];
      if (index % 2 == 1) {
        with.sending = false;
        continue;
      }
      p.silent = std::chrono::nanoseconds(0);
      p.goodbye_received = with.received == goodbye;
      if (!p.goodbye_received) check(MPI_Start(&requests_[index]), "MPI_Start", p.rank);
    }
  }
}

void heartbeats::send(const network::gate::pass&, char word) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    auto& to = words_[i];
    if (to.sending || to.goodbye_sent) continue;
    to.sent = word;
    to.goodbye_sent = word == goodbye;
    to.sending = true;
    check(MPI_Start(&requests_[2 * i + 1]), "MPI_Start", peers_[i].rank);
  }
}

bool heartbeats::say_goodbye(const network::gate::pass& pass) {
  receive(pass);
  send(pass, goodbye);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!words_[i].goodbye_sent || words_[i].sending || !peers_[i].goodbye_received) return false;
  }
  return true;
}

bool heartbeats::is_over(const network::gate::pass&) const noexcept {
  int over = 0;
  return MPI_Finalized(&over) != MPI_SUCCESS || over != 0;
}

void heartbeats::close(const network::gate::pass&) {
  for (auto& request : requests_) check(MPI_Request_free(&request), "MPI_Request_free");
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
