/// How the values of a write log become those of the variables.
///
///   shared      lock all written variables; take a version from the clock; validate what was read; apply commuting
///               changes; store the values; unlock with the version; wake transactions that retry
///   exclusive   apply commuting changes; store the values: no other participant is inside
///
/// Source: Dice, Shalev, Shavit: Transactional Locking II, DISC 2006, doi:10.1007/11864219_14. See DESIGN.md.
#pragma once

#include <cstddef>
#include <shunt/stm/detail/engine/commute_log.hpp>
#include <shunt/stm/detail/engine/objects.hpp>
#include <shunt/stm/detail/engine/outcome.hpp>
#include <shunt/stm/detail/engine/read_log.hpp>
#include <shunt/stm/detail/engine/reclaimer.hpp>
#include <shunt/stm/detail/engine/write_log.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// Inside, in exclusive mode: stores the values of the entries [first, end), and wakes transactions that retry.
[[gnu::noinline]] void store_exclusively(entry* first, const entry* end) noexcept;

/// One commit, with everything that it may need. First prepare(), if the attempt has extras (boxes, objects, commuting
/// changes); then exclusively() or shared(), once.
class committer {
 public:
  committer(read_log& reads, write_log& writes, commute_log& commuting, objects& owned, reclaimer& memory) noexcept
      : reads_(reads), writes_(writes), commuting_(commuting), owned_(owned), memory_(memory) {}

  /// Entries for commuting changes, and room for what will be retired. \throws std::bad_alloc
  void prepare();
  /// No other participant is inside. \throws what commuting functions throw
  void exclusively();
  /// \return false: the attempt is lost, and no variable has changed; `lost` says where. \throws what commuting
  /// functions throw; then no variable has changed.
  [[nodiscard]] bool shared(conflict_site& lost);

 private:
  void apply_commuting();
  [[nodiscard]] bool lock_all(conflict_site& lost) noexcept;
  void unlock(std::size_t count) noexcept;
  void store_and_unlock(word version) noexcept;
  void retire(const entry& e) noexcept {
    if (e.how->drop != nullptr)
      memory_.retire({e.data[0].load(std::memory_order_relaxed), e.how->drop});  // relaxed: edge `word`, by the lock
  }
  void retire_destroyed() noexcept {
    for (const owned& o : owned_.destroyed) memory_.retire(o);
  }

  read_log& reads_;
  write_log& writes_;
  commute_log& commuting_;
  objects& owned_;
  reclaimer& memory_;
  std::size_t only_commuting_ = 0;  // entries from here on were made by prepare()
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
