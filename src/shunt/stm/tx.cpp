#include <algorithm>
#include <shunt/base/clock.hpp>
#include <shunt/stm/detail/registry.hpp>
#include <shunt/stm/detail/waiters.hpp>
#include <shunt/stm/quiesce.hpp>
#include <shunt/stm/tx.hpp>

namespace shunt {
inline namespace v1 {

using stm::detail::flaw;
using stm::detail::has;
using stm::detail::is_locked;
using stm::detail::locked_bit;
using stm::detail::the_clock;
using stm::detail::the_registry;
using stm::detail::waiters_bit;

namespace {
constexpr std::size_t worth_a_look = 128;  // so much retired memory
}

// --- whose it is ---

[[gnu::used]] constinit thread_local tx* tx::of_this_thread = nullptr;

tx* tx::here_by_call() noexcept { return of_this_thread; }

tx& tx::first_time_here() {
  struct until_thread_ends {
    ~until_thread_ends() {
      tx* const mine = std::exchange(of_this_thread, nullptr);
      if (mine == nullptr) return;
      mine->drop_class();
      mine->reclaim(true);
      the_registry().give_back(mine);
    }
  };
  static thread_local until_thread_ends keeper;
  static_cast<void>(&keeper);  // made at this thread's first call
  of_this_thread = the_registry().take_participant();
  return *of_this_thread;
}

tx::tx(std::uint32_t index) : participant(index) {}

stm::detail::counts& tx::first_counts_of(const stm::detail::class_record& c) {
  auto* const made = new stm::detail::counts[stm::detail::counts::chunk];
  counts_[c.chunk].store(made, std::memory_order_release);  // pairs with counts_seen()
  return made[c.place];
}

bool tx::adopt(const stm::detail::class_record& c, bool read_only) {
  drop_class();
  const auto* const on = c.on.load(std::memory_order_relaxed);  // relaxed: policy
  if (on != nullptr && !on->holds(bit())) return false;
  counted_ = &counts_of(c);
  counted_->run_with(own_number());
  read_only_ = read_only;
  // Who may have to wait for what it has read keeps a log of it. relaxed: only this thread stores it.
  read_unlogged(read_only || (without_others() && counted_->retries.load(std::memory_order_relaxed) == 0));
  class_ = key(&c, read_only);
  return true;
}

// --- reading ---

void tx::more_room_for_reads() {
  const auto count = static_cast<std::size_t>(reads_end_ - reads_.get());
  const auto room = std::max<std::size_t>(256, 2 * count);
  auto more = std::make_unique<const variable*[]>(room);
  std::copy(reads_.get(), reads_.get() + count, more.get());
  reads_ = std::move(more);
  reads_end_ = reads_.get() + count;
  reads_room_ = reads_.get() + room;
}

void tx::give_up(const variable* at, cause why) {
  unusual_ |= doomed;
  limit_ = 0;            // every further read comes to settle()
  writes_.stop_reads();  // also in solo mode
  lost_at_ = at;
  lost_by_ = why;
  throw stm::detail::conflict{};
}

void tx::settle(const variable& v) {
  constexpr int rounds = 1000;  // a commit takes less, if it has a CPU
  if ((unusual_ & doomed) != 0) throw stm::detail::conflict{};
  for (int i = 0; is_locked(v.lock.load(std::memory_order_relaxed)); ++i) {  // relaxed: a look
    if (i == rounds) give_up(&v, cause::locked);
    stm::detail::pause(i);
  }
  if (v.lock.load(std::memory_order_relaxed) <= limit_) return;  // relaxed: a look
  if (unlogged_ || !extend()) give_up(&v, cause::stale);
}

/// The snapshot is as of now, if nothing that was read has changed. relaxed: the clock's edge `time` brings the locks
/// of all commits up to `now`; of what came later nothing needs to be seen. See DESIGN.md, "Opaque".
bool tx::extend() noexcept {
  const auto now = the_clock.now.load(std::memory_order_acquire) | waiters_bit;  // edge `time`
  stm::detail::test_point();
  for (auto r = reads_.get(); r != reads_end_ && !has(flaw::extension); ++r) {
    if ((*r)->lock.load(std::memory_order_relaxed) > limit_) return false;  // locked, or newer
    stm::detail::test_point();
  }
  limit_ = now;
  return true;
}

const tx::entry* tx::own_entry(const variable* v) {
  if (!commuting_.empty()) [[unlikely]]
    settle_commuting(v);
  return writes_.find(v);
}

// --- writing ---

tx::entry* tx::entry_to_replace(const variable* v, const form* how, word first) {
  if (!commuting_.empty()) [[unlikely]] {
    try {
      settle_commuting(v);
    } catch (...) {
      if (how->drop != nullptr) how->drop(first);
      throw;
    }
  }
  return own_to_replace(v, how, first);
}

tx::entry* tx::own_to_replace(const variable* v, const form* how, word first) {
  entry* const own = writes_.find(v);
  if (own == nullptr) return nullptr;
  try {
    const auto position = static_cast<std::size_t>(own - writes_.begin());
    if (position < part_) {
      undos_.push_back({position, own->value});
      unusual_ |= extras;
    } else if (how->drop != nullptr) {
      displaced_.push_back({own->value[0], how->drop});
    }
    return own;
  } catch (...) {
    if (how->drop != nullptr) how->drop(first);
    throw;
  }
}

tx::entry& tx::add_boxed(const variable* v, std::atomic<word>* data, const form* how, word box) {
  try {
    unusual_ |= extras;
    return writes_.add(v, data, how);
  } catch (...) {
    how->drop(box);
    throw;
  }
}

/// What commutes at that variable does not any more; null: at all of them.
void tx::settle_commuting(const variable* v) {
  for (std::size_t i = 0; i < commuting_.size();) {
    if (v != nullptr && commuting_[i].who != v) {
      ++i;
      continue;
    }
    const commuting c = std::move(commuting_[i]);
    commuting_.erase(commuting_.begin() + static_cast<std::ptrdiff_t>(i));
    const entry* const own = writes_.find(c.who);
    words now{};
    if (own != nullptr) {
      now = own->value;
    } else {
      now = look_at_words(c);
      log_read(c.who);
    }
    c.apply(now);
    entry* to = own_to_replace(c.who, c.how, now[0]);  // what else commutes comes after this
    if (to == nullptr)
      to = c.how->drop != nullptr ? &add_boxed(c.who, c.data, c.how, now[0]) : &writes_.add(c.who, c.data, c.how);
    to->value = now;
  }
}

tx::words tx::look_at_words(const commuting& c) {
  words seen{};
  for (;;) {
    const auto before = c.who->lock.load(std::memory_order_acquire);  // edge `word`
    if (before > limit_) {
      settle(*c.who);
      continue;
    }
    for (std::size_t i = 0; i < c.how->words; ++i) seen[i] = c.data[i].load(std::memory_order_acquire);  // edge `data`
    if (c.who->lock.load(std::memory_order_relaxed) == before) return seen;  // relaxed: as in look_at()
  }
}

void tx::on_commit(std::function<void()> what) {
  on_commit_.push_back(std::move(what));
  unusual_ |= extras;
}

void tx::on_abort(std::function<void()> what) {
  on_abort_.push_back(std::move(what));
  unusual_ |= extras;
}

void tx::become_irrevocable() {
  if (!alone_) give_up(nullptr, cause::wants_alone);
}

// --- parts ---

tx::mark tx::open_part() {
  if (!commuting_.empty()) settle_commuting(nullptr);  // so that a part's end need not know of them
  const mark m{writes_.size(),    undos_.size(),    made_.size(), destroyed_.size(),
               on_commit_.size(), on_abort_.size(), part_};
  part_ = writes_.size();
  return m;
}

void tx::undo_part(const mark& m) noexcept {
  commuting_.clear();  // all of them began in this part
  const auto displace = [](const form& how, word box) noexcept {
    if (how.drop != nullptr && box != 0) how.drop(box);  // nobody else has seen it, and the part is over
  };
  for (; undos_.size() > m.undos; undos_.pop_back()) {
    entry& e = writes_[undos_.back().position];
    displace(*e.how, e.value[0]);
    e.value = undos_.back().value;
  }
  for (auto i = m.writes; i < writes_.size(); ++i) displace(*writes_[i].how, writes_[i].value[0]);
  writes_.truncate(m.writes);
  while (made_.size() > m.made) {
    made_.back().drop(made_.back().what);
    made_.pop_back();
  }
  destroyed_.resize(m.destroyed);
  on_commit_.resize(m.commits);
  // They are called when the attempt is over, whatever comes of it.
  while (on_abort_.size() > m.aborts) {
    undone_.push_back(std::move(on_abort_.back()));
    on_abort_.pop_back();
  }
  part_ = m.outer;
}

// --- commit ---

/// Entries for what commutes, with what stands there as soon as it is locked.
void tx::prepare_commuting() {
  for (const commuting& c : commuting_) {
    if (writes_.find(c.who) == nullptr) writes_.add(c.who, c.data, c.how).value = {};
  }
}

/// Nobody else writes these variables now. \throws what the functions throw
void tx::apply_commuting(std::size_t fresh_from) {
  for (auto i = fresh_from; i < writes_.size(); ++i) {
    entry& e = writes_[i];
    // relaxed: the lock's edge
    for (std::size_t k = 0; e.how->drop == nullptr && k < e.how->words; ++k)
      e.value[k] = e.data[k].load(std::memory_order_relaxed);
  }
  for (const commuting& c : commuting_) {
    entry& e = *writes_.find(c.who);
    const word old = e.value[0];
    const bool fresh_box = c.how->drop != nullptr && old == 0;
    words value = fresh_box ? words{c.data[0].load(std::memory_order_relaxed)} : e.value;  // relaxed: likewise
    if (c.how->drop != nullptr && !fresh_box) displaced_.reserve(displaced_.size() + 1);
    c.apply(value);
    e.value = value;
    if (c.how->drop != nullptr && !fresh_box) displaced_.push_back({old, c.how->drop});
  }
}

bool tx::lock_all() noexcept {
  constexpr int rounds = 200;  // deadlock: whoever gives up first
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    entry& e = writes_[i];
    const word locked = locked_bit | static_cast<word>(reinterpret_cast<std::uintptr_t>(&e));
    e.before = e.who->lock.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (int k = 0;; ++k) {
      stm::detail::test_point();
      // acquire: the last committer's values; edge `word`
      if (!is_locked(e.before) &&
          e.who->lock.compare_exchange_weak(e.before, locked, std::memory_order_acquire, std::memory_order_relaxed))
        break;
      if (k == rounds) {
        lost_at_ = e.who;
        lost_by_ = cause::locked;
        unlock(i);
        return false;
      }
      if (is_locked(e.before)) {
        stm::detail::pause(k);
        e.before = e.who->lock.load(std::memory_order_relaxed);
      }
    }
  }
  return true;
}

/// The first so many, as they were.
void tx::unlock(std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    writes_[i].who->lock.store(writes_[i].before, std::memory_order_release);  // edge `word`
}

/// After the version was taken. relaxed: its exchange brings the locks of all commits before it (edge `time`).
bool tx::validate() noexcept {
  for (auto r = reads_.get(); r != reads_end_; ++r) {
    stm::detail::test_point();
    const auto seen = (*r)->lock.load(std::memory_order_relaxed);
    if (seen <= limit_) continue;
    if (is_locked(seen)) {
      const entry* const mine = writes_.owner_of(seen);
      if (mine != nullptr ? mine->before <= limit_ : has(flaw::locks_of_others)) continue;
    }
    if (has(flaw::validation)) continue;
    lost_at_ = *r;
    lost_by_ = cause::validation;
    return false;
  }
  return true;
}

/// No edge is needed but for those who read single values from outside, and the next mode's.
void tx::store_alone(entry* first, const entry* end) noexcept {
  word version = 0;  // of what this commit stores in several words
  for (entry* e = first; e != end; ++e) {
    const auto now = e->who->lock.load(std::memory_order_relaxed);  // relaxed: nobody else stores it
    auto unlocked = now & ~waiters_bit;
    if (e->how->words > 1) {
      if (version == 0) {
        version = the_clock.now.load(std::memory_order_relaxed) + stm::detail::one_step;  // relaxed: likewise
        the_clock.now.store(version, std::memory_order_release);
      }
      unlocked = version;
      // relaxed: the values' release stores carry it, edge `data`
      e->who->lock.store(locked_bit, std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < e->how->words; ++i)
      e->data[i].store(e->value[i], std::memory_order_release);  // edge `data`
    e->who->lock.store(unlocked, std::memory_order_release);     // edge `word`
    if ((now & waiters_bit) != 0) stm::detail::wake_readers_of(e->who);
  }
}

stm::detail::outcome tx::commit_fully() {
  if (!commit_all()) return stm::detail::outcome::lost;
  return (unusual_ & extras) != 0 ? stm::detail::outcome::settles : stm::detail::outcome::committed;
}

bool tx::commit_all() {
  if ((unusual_ & doomed) != 0) return false;
  const auto fresh_from = writes_.size();
  if (!commuting_.empty()) prepare_commuting();
  const auto retired_before = retired_.size();
  if ((unusual_ & extras) != 0) {  // room before anything happens
    const auto needed = retired_before + destroyed_.size() + writes_.size();
    if (needed > retired_.capacity()) retired_.reserve(2 * needed);
  }
  const auto retire = [this](const entry& e) noexcept {
    if (e.how->drop != nullptr)
      retired_.push_back({e.data[0].load(std::memory_order_relaxed), e.how->drop});  // relaxed: the lock's edge
  };
  if (without_others()) {
    if (!commuting_.empty()) apply_commuting(fresh_from);
    for (const entry& e : writes_) retire(e);
    store_alone(writes_.begin(), writes_.end());
  } else if (!writes_.empty()) {
    word early = has(flaw::early_clock) ? the_clock.now.fetch_add(stm::detail::one_step) + stm::detail::one_step : 0;
    if (!lock_all()) return false;
    // acq_rel: edge `time`, and the order of committers: of two whose reads and writes cross, the later here sees the
    // earlier's locks.
    const word version =
        has(flaw::early_clock)
            ? early
            : the_clock.now.fetch_add(stm::detail::one_step, std::memory_order_acq_rel) + stm::detail::one_step;
    // Nobody has committed since the snapshot's moment: then there is nothing to look at.
    if (version != (limit_ & ~waiters_bit) + stm::detail::one_step && !validate()) {
      unlock(writes_.size());
      return false;
    }
    try {
      if (!commuting_.empty()) apply_commuting(fresh_from);
    } catch (...) {
      unlock(writes_.size());
      throw;
    }
    for (entry& e : writes_) {
      retire(e);
      if (has(flaw::early_unlock)) e.who->lock.store(version, std::memory_order_release);
      for (std::size_t i = 0; i < e.how->words; ++i) {
        stm::detail::test_point();
        e.data[i].store(e.value[i], std::memory_order_release);  // edge `data`
      }
    }
    for (entry& e : writes_) {
      stm::detail::test_point();
      e.who->lock.store(version, std::memory_order_release);  // edge `word`
    }
    for (entry& e : writes_) {
      if ((e.before & waiters_bit) != 0) stm::detail::wake_readers_of(e.who);
    }
  }
  retired_.insert(retired_.end(), destroyed_.begin(), destroyed_.end());
  return true;
}

void tx::settle_extras() noexcept {
  // Whoever comes inside later does not find what was retired; nobody else was inside, so nobody has it.
  const bool nobody_has_it = without_others();
  for (const undo& u : undos_) {
    const form& how = *writes_[u.position].how;
    if (how.drop != nullptr) how.drop(u.value[0]);
  }
  clear();
  undos_.clear();
  made_.clear();
  destroyed_.clear();
  commuting_.clear();
  drop_all(displaced_);
  if (nobody_has_it) {
    drop_all(waiting_);
    drop_all(retired_);
  } else if (retired_.size() >= worth_a_look && retired_.size() % worth_a_look == 0) {
    reclaim(false);
  }
}

/// Outside. Of an attempt that has not committed.
void tx::abort() noexcept {
  for (const undo& u : undos_) {
    const form& how = *writes_[u.position].how;
    if (how.drop != nullptr) how.drop(u.value[0]);
  }
  for (const entry& e : writes_) {
    if (e.how->drop != nullptr && e.value[0] != 0) e.how->drop(e.value[0]);
  }
  clear();
  drop_all(displaced_);
  drop_all(made_);
  undos_.clear();
  destroyed_.clear();
  commuting_.clear();
  on_commit_.clear();
}

// --- memory ---

void tx::drop_all(std::vector<owned>& list) noexcept {
  if (list.empty()) return;
  // Out of reach first: what is deleted may have destructors that use tvars.
  std::vector<owned> gone;
  gone.swap(list);
  for (const owned& o : gone) o.drop(o.what);
  gone.clear();
  if (list.empty()) list.swap(gone);  // its memory
}

/// \param all  of this thread's; waits for others' bodies then.
void tx::reclaim(bool all) noexcept {
  for (int i = 0;; ++i) {
    if (!waiting_.empty()) {
      const bool seen = std::all_of(seen_inside_.begin(), seen_inside_.end(),
                                    [](const auto& s) { return s.first->number() != s.second; });
      if (seen) drop_all(waiting_);
    }
    if (waiting_.empty() && retired_.size() >= (all ? 1 : worth_a_look)) {
      seen_inside_.clear();
      waiting_.swap(retired_);
      look_at_all();
      try {
        for (const participant* p = the_registry().first(); p != nullptr; p = p->next) {
          const auto number = p->number();
          if (p != this && (number & 1) != 0) seen_inside_.emplace_back(p, number);
        }
      } catch (...) {  // no memory: later
        waiting_.swap(retired_);
        return;
      }
      if (seen_inside_.empty()) drop_all(waiting_);
    }
    if (!all || (waiting_.empty() && retired_.empty())) return;
    stm::detail::pause(i);
  }
}

void tx::wait_for_others() {
  if (inside()) throw usage_error("tx_quiesce: called inside a transaction, which it would wait for");
  look_at_all();
  for (const participant* p = the_registry().first(); p != nullptr; p = p->next) {
    const auto seen = p->number();
    for (int i = 0; p != this && (seen & 1) != 0 && p->number() == seen; ++i) stm::detail::pause(i);
  }
  reclaim(true);
}

void tx_quiesce() { tx::here().wait_for_others(); }

}  // namespace v1
}  // namespace shunt
