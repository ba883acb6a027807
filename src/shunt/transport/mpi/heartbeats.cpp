#include <shunt/transport/mpi/heartbeats.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

#include <shunt/transport/mpi/check.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace mpi {
namespace {

/// Jobs of at most this many ranks send heartbeats all to all, larger ones in a ring.
constexpr int most_ranks_all_to_all = 8;

std::vector<int> peers_of(int rank, int ranks) {
  if (ranks > most_ranks_all_to_all) return {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  std::vector<int> others;
  for (int r = 0; r < ranks; ++r) {
    if (r != rank) others.push_back(r);
  }
  return others;
}

}  // namespace

void heartbeats::open(const gate::pass&, MPI_Comm among, int rank, int ranks) {
  const auto others = peers_of(rank, ranks);
  peers_.assign(others.size(), {});
  requests_.assign(2 * others.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < others.size(); ++i) {
    auto& p = peers_[i];
    p.rank = others[i];
    // Synchronous, so that at most one word is under way to a rank that does not listen.
    check(MPI_Recv_init(&p.received, 1, MPI_CHAR, p.rank, 0, among, &requests_[2 * i]), "MPI_Recv_init", p.rank);
    check(MPI_Ssend_init(&p.sent, 1, MPI_CHAR, p.rank, 0, among, &requests_[2 * i + 1]), "MPI_Ssend_init", p.rank);
    check(MPI_Start(&requests_[2 * i]), "MPI_Start", p.rank);
  }
}

void heartbeats::receive(const gate::pass&) {
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
      if (index % 2 == 1) {
        p.sending = false;
        continue;
      }
      p.silent = std::chrono::nanoseconds(0);
      p.goodbye_received = p.received == goodbye;
      if (!p.goodbye_received) check(MPI_Start(&requests_[index]), "MPI_Start", p.rank);
    }
  }
}

void heartbeats::send(const gate::pass&, char word) {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    auto& p = peers_[i];
    if (p.sending || p.goodbye_sent) continue;
    p.sent = word;
    p.goodbye_sent = word == goodbye;
    p.sending = true;
    check(MPI_Start(&requests_[2 * i + 1]), "MPI_Start", p.rank);
  }
}

bool heartbeats::say_goodbye(const gate::pass& pass) {
  receive(pass);
  send(pass, goodbye);
  return std::all_of(peers_.begin(), peers_.end(),
                     [](const peer& p) { return p.goodbye_sent && !p.sending && p.goodbye_received; });
}

void heartbeats::close(const gate::pass&) {
  for (auto& request : requests_) check(MPI_Request_free(&request), "MPI_Request_free");
}

}  // namespace mpi
}  // namespace transport
}  // namespace v1
}  // namespace shunt
