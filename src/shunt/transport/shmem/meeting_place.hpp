/// Where all ranks meet, and tell each other texts: one-sided puts and tests in place of OpenSHMEM's collective calls,
/// which would keep the gate until all ranks have come.
///
/// A meeting of n ranks takes ceil(log2 n) steps (dissemination barrier):
///
///   step k    rank r puts the round into rank r + 2^k,
///             and goes on once rank r - 2^k has put it (or a later one: that rank may be a round ahead) into r
///
/// Source: Hensgen, Finkel, Manber, Int. J. Parallel Program. 17 (1988), doi:10.1007/BF01379320.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <shunt/transport/network/backoff.hpp>
#include <shunt/transport/network/gate.hpp>
#include <shunt/transport/shmem/board.hpp>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

/// One rank's part in the meetings. For a thread that does not hold the gate, one at a time.
class meeting_place {
 public:
  /// \param calls  outlives this object
  explicit meeting_place(network::gate& calls) noexcept : gate_(calls) {}

  /// Once.
  /// \param at  in symmetric memory, zero on every rank
  void open(board& at, int rank, int ranks) noexcept;

  /// Collective: returns once all ranks have called it as often for this meeting.
  /// \param meanwhile  bool(): called between two tests, without the gate. \return whether to go on waiting
  /// \return false: `meanwhile` did not want to wait any longer. Then this rank must not come to this meeting again.
  template <class Meanwhile>
  [[nodiscard]] bool meet(meeting where, Meanwhile meanwhile) {
    ++rounds_[static_cast<std::size_t>(where)];
    int distance = 1;
    for (std::size_t step = 0; distance < ranks_; ++step, distance *= 2) {
      come(where, step, (rank_ + distance) % ranks_);
      for (network::backoff pause; !is_here(where, step); pause()) {
        if (!meanwhile()) return false;
      }
    }
    return true;
  }

  /// Collective: every rank's text, in rank order. Cost: two meetings and a get a rank, for each piece_bytes of the
  /// longest text.
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& mine);

 private:
  void come(meeting where, std::size_t step, int to);
  [[nodiscard]] bool is_here(meeting where, std::size_t step);

  network::gate& gate_;
  board* board_ = nullptr;
  int rank_ = 0;
  int ranks_ = 1;
  std::array<word, 2> rounds_{};  // by meeting: to which this rank has come
};

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
