/// When memory that a commit has unlinked can be freed: objects, and boxes that it has replaced.
///
/// Participants that were outside at a heavy fence after the unlinking never see the memory again. So retired memory
/// waits for the participants whose numbers were odd at such a fence; once each of these numbers has changed it is free
/// (participant.hpp). One batch waits at a time; what is retired meanwhile forms the next batch.
///
/// Owned by one thread; only that thread calls, outside of transactions unless a function says otherwise.
#pragma once

#include <cstdint>
#include <shunt/stm/detail/engine/objects.hpp>
#include <shunt/stm/detail/engine/participant.hpp>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class reclaimer {
 public:
  /// Inside, before a commit: room for so many retire() calls. \throws std::bad_alloc
  void reserve(std::size_t more) {
    const auto needed = retired_.size() + more;
    if (needed > retired_.capacity()) retired_.reserve(2 * needed);
  }
  /// Inside, during a commit, after reserve().
  void retire(const owned& what) noexcept { retired_.push_back(what); }

  [[nodiscard]] bool empty() const noexcept { return retired_.empty() && waiting_.empty(); }
  /// After a commit. \param exclusive  no other participant was inside: everything is free at once.
  void after_commit(const participant& self, bool exclusive) noexcept {
    if (exclusive) {
      drop_all(waiting_);
      drop_all(retired_);
    } else if (retired_.size() >= batch && retired_.size() % batch == 0) {
      free_unseen(self);
    }
  }
  /// Deletes what no thread can see any more. Does not wait.
  void free_unseen(const participant& self) noexcept { step(self, batch); }
  /// Deletes everything; waits until the bodies have ended that could still see it. Where there is no memory it stops.
  void free_all(const participant& self) noexcept;

 private:
  static constexpr std::size_t batch = 128;  // so many retired objects are worth a heavy fence
  /// \return false: there was no memory to go on.
  bool step(const participant& self, std::size_t enough) noexcept;

  std::vector<owned> retired_;                                             // since the last batch
  std::vector<owned> waiting_;                                             // the batch
  std::vector<std::pair<const participant*, std::uint64_t>> seen_inside_;  // at the batch's fence, with their numbers
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
