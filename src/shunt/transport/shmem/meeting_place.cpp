#include <shunt/transport/shmem/meeting_place.hpp>

#include <algorithm>
#include <cstring>

namespace shunt {
inline namespace v1 {
namespace transport {
namespace shmem {

void meeting_place::open(board& at, int rank, int ranks) noexcept {
  board_ = &at;
  rank_ = rank;
  ranks_ = ranks;
}

/// Tells `to` that this rank, and all that it has met in the steps before, have come.
void meeting_place::come(meeting where, std::size_t step, int to) {
  const auto pass = gate_.enter();
  const auto at = static_cast<std::size_t>(where);
  shmem_quiet();  // edge `come`: all that this rank has put is there before the word
  // `to` is another rank: meet() has distance < ranks_.
  shmem_ulong_p(&board_->met[at][step], rounds_[at], to);
}

bool meeting_place::is_here(meeting where, std::size_t step) {
  const auto pass = gate_.enter();
  const auto at = static_cast<std::size_t>(where);
  let_library_work(*board_, rank_);
  return look(board_->met[at][step]) >= rounds_[at];  // edge `come`: what the other rank did before it came
}

/// Piece by piece: each rank shows one, all meet, each fetches those of the others, and all meet again before the next
/// one takes its place.
std::vector<std::string> meeting_place::all_gather(const std::string& mine) {
  const auto wait = [] { return true; };
  std::vector<std::string> texts(static_cast<std::size_t>(ranks_));
  std::size_t longest = 0;
  for (std::size_t at = 0;; at += piece_bytes) {
    board_->said.bytes = mine.size();
    if (at < mine.size()) {
      std::memcpy(board_->said.text.data(), mine.data() + at, std::min(piece_bytes, mine.size() - at));
    }
    static_cast<void>(meet(meeting::talk, wait));
    for (int r = 0; r < ranks_; ++r) {
      board::speech heard = board_->said;
      if (r != rank_) {
        const auto pass = gate_.enter();
        shmem_getmem(&heard, &board_->said, sizeof heard, r);
      }
      longest = std::max<std::size_t>(longest, heard.bytes);
      if (at >= heard.bytes) continue;
      texts[static_cast<std::size_t>(r)].append(reinterpret_cast<const char*>(heard.text.data()),
                                                std::min<std::size_t>(piece_bytes, heard.bytes - at));
    }
    static_cast<void>(meet(meeting::talk, wait));
    if (at + piece_bytes >= longest) return texts;
  }
}

}  // namespace shmem
}  // namespace transport
}  // namespace v1
}  // namespace shunt
