#include <shunt/stm/detail/engine/attempt.hpp>
#include <shunt/stm/detail/engine/registry.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

// --- validate ---

/// The attempt is lost. Until its end every further read comes to validate_or_extend(), also in exclusive mode, because
/// the body may catch the exception.
void attempt::throw_conflict(const variable* at, cause why) {
  state_.unusual |= attempt_state::doomed;
  reads_.refuse_all();
  writes_.forbid_reads_in_place();
  lost_ = {at, why};
  throw conflict{};
}

/// A read has found a word above the limit: waits a little while the variable is locked, then moves the snapshot if the
/// variable is newer. \throws conflict
void attempt::validate_or_extend(const variable& v) {
  constexpr int rounds = 1000;  // a commit takes less, if its thread has a CPU
  if (state_.is_doomed()) throw conflict{};
  for (int i = 0; is_locked(v.lock.load(std::memory_order_relaxed)); ++i) {  // relaxed: the reader looks again
    if (i == rounds) throw_conflict(&v, cause::locked);
    pause(i);
  }
  if (v.lock.load(std::memory_order_relaxed) <= reads_.limit()) return;  // relaxed: the reader looks again
  if (state_.unlogged || !reads_.extend()) throw_conflict(&v, cause::stale);
}

// --- reading and writing ---

const entry* attempt::find_own(const variable* v) {
  if (!commuting_.empty()) [[unlikely]]
    apply_now(v);
  return writes_.find(v);
}

/// The entry whose value `first`, a box or not, is to replace; null: there is none. No change commutes there any more.
/// If the call throws, the box is deleted.
entry* attempt::find_own_to_replace(const variable* v, const form* how, word first) {
  if (!commuting_.empty()) [[unlikely]] {
    try {
      apply_now(v);
    } catch (...) {
      if (how->drop != nullptr) how->drop(first);
      throw;
    }
  }
  return save_own_to_replace(v, how, first);
}

/// As find_own_to_replace(), for a variable without commuting changes: saves the entry's value if an outer part wrote
/// it.
entry* attempt::save_own_to_replace(const variable* v, const form* how, word first) {
  entry* const own = writes_.find(v);
  if (own == nullptr) return nullptr;
  try {
    const auto position = static_cast<std::size_t>(own - writes_.begin());
    if (undo_.is_outer(position)) {
      undo_.save(position, own->value);
      state_.unusual |= attempt_state::extras;
    } else if (how->drop != nullptr) {
      owned_.displaced.push_back({own->value[0], how->drop});
    }
    return own;
  } catch (...) {
    if (how->drop != nullptr) how->drop(first);
    throw;
  }
}

entry& attempt::add_boxed(const variable* v, std::atomic<word>* data, const form* how, word box) {
  try {
    state_.unusual |= attempt_state::extras;
    return writes_.add(v, data, how);
  } catch (...) {
    how->drop(box);
    throw;
  }
}

// --- commuting changes ---

/// Turns the commuting changes of a variable into an ordinary read and write. \param v  null: of all variables.
/// \throws conflict, std::bad_alloc, what the functions throw
void attempt::apply_now(const variable* v) {
  while (const auto c = commuting_.take(v)) {
    const entry* const own = writes_.find(c->target);
    words now{};
    if (own != nullptr) {
      now = own->value;
    } else {
      now = read_at_limit<words_inline>(*c->target, c->data, c->how->words);
      reads_.add(c->target);
    }
    c->apply(now);
    entry* to = save_own_to_replace(c->target, c->how, now[0]);  // later commuting changes apply to this value
    if (to == nullptr) {
      to = c->how->drop != nullptr ? &add_boxed(c->target, c->data, c->how, now[0])
                                   : &writes_.add(c->target, c->data, c->how);
    }
    to->value = now;
  }
}

// --- nested parts ---

attempt::nested_mark attempt::begin_nested() {
  if (!commuting_.empty()) apply_now(nullptr);  // undo_nested() then knows that all changes in the log are the part's
  return {writes_.size(), undo_.size(), owned_.made.size(), owned_.destroyed.size(), undo_.begin_part(writes_.size()),
          calls.size()};
}

/// Undoes in the reverse order: saved values, then new entries, then objects.
void attempt::undo_nested(const nested_mark& m) noexcept {
  commuting_.clear();  // all of them began in this part
  undo_.roll_back(writes_, m.undos);
  for (auto i = m.writes; i < writes_.size(); ++i) drop(*writes_[i].how, writes_[i].value[0]);
  writes_.truncate(m.writes);
  for (; owned_.made.size() > m.made; owned_.made.pop_back()) owned_.made.back().drop(owned_.made.back().what);
  owned_.destroyed.resize(m.destroyed);
  calls.undo_part(m.calls);
  undo_.end_part(m.outer);
}

// --- after a commit ---

/// The next attempt finds empty logs. Boxes are deleted last: their destructors may look at variables.
void attempt::clear_logs() noexcept {
  state_.unusual = 0;
  writes_.clear();
  undo_.clear();
  owned_.destroyed.clear();
  commuting_.clear();
  drop_all(owned_.displaced);
}

void attempt::clear_after_commit() noexcept {
  if (!state_.has_extras()) {
    state_.unusual = 0;
    writes_.clear();
    return;
  }
  const bool was_exclusive = exclusive();  // before destructors run
  undo_.drop_boxes(writes_);
  owned_.made.clear();
  clear_logs();
  memory.after_commit(*this, was_exclusive);
}

// --- abort ---

void attempt::abort() noexcept {
  leave_transaction();
  undo_.end_part(0);
  undo_.drop_boxes(writes_);
  for (const entry& e : writes_) drop(*e.how, e.value[0]);
  clear_logs();
  drop_all(owned_.made);
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
