#include <shunt/stm/detail/engine/attempt.hpp>
#include <shunt/stm/detail/engine/commit.hpp>
#include <shunt/stm/detail/engine/participant.hpp>
#include <shunt/stm/detail/engine/waiters.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// No edge is needed but those of readers that take single values from outside, and of the next mode. A value of
/// several words gets a new version, and is locked meanwhile, for such readers.
void store_exclusively(entry* first, const entry* end) noexcept {
  word version = 0;  // of the values of several words
  for (entry* e = first; e != end; ++e) {
    const auto now = e->target->lock.load(std::memory_order_relaxed);  // relaxed: no other thread stores it
    auto unlocked = now & ~waiters_bit;
    if (e->how->words > 1) {
      if (version == 0) {
        version = the_clock.now.load(std::memory_order_relaxed) + one_step;  // relaxed: no other thread stores it
        the_clock.now.store(version, std::memory_order_release);             // edge `time`
      }
      unlocked = version;
      // relaxed: the values' release stores carry it, edge `data`
      e->target->lock.store(locked_bit, std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < e->how->words; ++i)
      e->data[i].store(e->value[i], std::memory_order_release);  // edge `data`
    e->target->lock.store(unlocked, std::memory_order_release);  // edge `word`
    if ((now & waiters_bit) != 0) wake_retrying(e->target);
  }
}

namespace {
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

/// All memory is found before anything happens.
void committer::prepare() {
  only_commuting_ = writes_.size();
  for (const commuting_change& c : commuting_) {
    if (writes_.find(c.target) == nullptr) writes_.add(c.target, c.data, c.how).value = {};
  }
  memory_.reserve(owned_.destroyed.size() + writes_.size());
}

void committer::exclusively() {
  if (!commuting_.empty()) apply_commuting();
  for (const entry& e : writes_) retire(e);
  store_exclusively(writes_.begin(), writes_.end());
  retire_destroyed();
}

/// In the order of the log; where a lock is not free for some time all locks are given back. \return whether all are
/// held.
bool committer::lock_all(conflict_site& lost) noexcept {
  constexpr int rounds = 200;  // two transactions may wait for each other's locks: one gives up first
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    entry& e = writes_[i];
    const word locked = locked_bit | static_cast<word>(reinterpret_cast<std::uintptr_t>(&e));
    e.before = e.target->lock.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (int k = 0;; ++k) {
      test_point();
      // acquire: edge `word`, the values of the last commit
      if (!is_locked(e.before) &&
          e.target->lock.compare_exchange_weak(e.before, locked, std::memory_order_acquire, std::memory_order_relaxed))
        break;
      if (k == rounds) {
        lost = {e.target, cause::locked};
        unlock(i);
        return false;
      }
      if (is_locked(e.before)) {
        pause(k);
        e.before = e.target->lock.load(std::memory_order_relaxed);  // relaxed: the exchange decides
      }
    }
  }
  return true;
}

/// The first `count` entries' variables get the words back that they had.
void committer::unlock(std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    writes_[i].target->lock.store(writes_[i].before, std::memory_order_release);  // edge `word`
}

/// All written variables are locked, so no other transaction changes them. \throws what the functions throw
void committer::apply_commuting() {
  for (auto i = only_commuting_; i < writes_.size(); ++i) {
    entry& e = writes_[i];
    // relaxed: edge `word`, by the lock
    for (std::size_t k = 0; e.how->drop == nullptr && k < e.how->words; ++k)
      e.value[k] = e.data[k].load(std::memory_order_relaxed);
  }
  for (const commuting_change& c : commuting_) {
    entry& e = *writes_.find(c.target);
    const word old = e.value[0];
    const bool fresh_box = c.how->drop != nullptr && old == 0;
    // relaxed: edge `word`, by the lock
    words value = fresh_box ? words{c.data[0].load(std::memory_order_relaxed)} : e.value;
    if (c.how->drop != nullptr && !fresh_box) owned_.displaced.reserve(owned_.displaced.size() + 1);
    c.apply(value);
    e.value = value;
    if (c.how->drop != nullptr && !fresh_box) owned_.displaced.push_back({old, c.how->drop});
  }
}

/// All values before the first unlock, all unlocks before the first wake.
void committer::store_and_unlock(word version) noexcept {
  for (entry& e : writes_) {
    retire(e);
    // release: edge `word`, but before the values: a flaw, which the history checker has to find
    if (has(flaw::early_unlock)) e.target->lock.store(version, std::memory_order_release);
    for (std::size_t i = 0; i < e.how->words; ++i) {
      test_point();
      e.data[i].store(e.value[i], std::memory_order_release);  // edge `data`
    }
  }
  for (entry& e : writes_) {
    test_point();
    e.target->lock.store(version, std::memory_order_release);  // edge `word`
  }
  for (entry& e : writes_) {
    if ((e.before & waiters_bit) != 0) wake_retrying(e.target);
  }
}

/// Locks, then the version, then the look at what was read: of two transactions whose reads and writes cross, the later
/// one in the clock's order sees the other's locks.
bool committer::shared(conflict_site& lost) {
  if (writes_.empty()) {
    retire_destroyed();
    return true;
  }
  // acq_rel: edge `time`, as below, but before the locks: a flaw, which the history checker has to find
  word early = has(flaw::early_clock) ? the_clock.now.fetch_add(one_step, std::memory_order_acq_rel) + one_step : 0;
  if (!lock_all(lost)) return false;
  // acq_rel: edge `time`, and the order of commits.
  const word version =
      has(flaw::early_clock) ? early : the_clock.now.fetch_add(one_step, std::memory_order_acq_rel) + one_step;
  // If the version is the limit's successor no transaction has committed since the snapshot: nothing can have changed.
  if (version != (reads_.limit() & ~waiters_bit) + one_step) {
    if (const variable* const changed = reads_.validate(writes_)) {
      lost = {changed, cause::validation};
      unlock(writes_.size());
      return false;
    }
  }
  try {
    if (!commuting_.empty()) apply_commuting();
  } catch (...) {
    unlock(writes_.size());
    throw;
  }
  store_and_unlock(version);
  retire_destroyed();
  return true;
}
}  // namespace

/// The cheapest of three: values alone in exclusive mode; the same with extras; or a shared commit.
outcome attempt::commit_fully() {
  if (state_.is_doomed()) return outcome::conflict;
  const bool extras = state_.has_extras();
  if (!extras && exclusive()) {
    store_exclusively(writes_.begin(), writes_.end());
    return outcome::committed;
  }
  committer commit(reads_, writes_, commuting_, owned_, memory);
  if (extras) commit.prepare();
  if (exclusive()) {
    commit.exclusively();
  } else if (!commit.shared(lost_)) {
    return outcome::conflict;
  }
  return extras ? outcome::committed_with_extras : outcome::committed;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
