/// One thread's attempts at transactions, one at a time, from begin() to commit() or abort().
///
///   begin     the snapshot is as of now, the logs are empty
///   validate  a read found a newer value: moves the snapshot, or the attempt is lost
///   commit    the written values become the variables' values, or the attempt is lost
///   abort     undoes all that is not in the variables
///   retry     the body has nothing to do yet: the attempt ends, and what it has read is waited for
///
/// The parts: read_log (what was read, and as of which moment), write_log, undo_log (what nested parts overwrote),
/// commute_log, objects, callbacks, reclaimer. commit.hpp has the commit. The engine knows values as words; tx (tx.hpp)
/// gives them their types, and transaction (transaction.hpp) decides what comes after an attempt.
///
/// A body never sees values that did not stand together (opacity), not even in an attempt that will not commit.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <shunt/stm/detail/engine/callbacks.hpp>
#include <shunt/stm/detail/engine/commit.hpp>
#include <shunt/stm/detail/engine/commute_log.hpp>
#include <shunt/stm/detail/engine/objects.hpp>
#include <shunt/stm/detail/engine/outcome.hpp>
#include <shunt/stm/detail/engine/participant.hpp>
#include <shunt/stm/detail/engine/read_log.hpp>
#include <shunt/stm/detail/engine/reclaimer.hpp>
#include <shunt/stm/detail/engine/undo_log.hpp>
#include <shunt/stm/detail/engine/write_log.hpp>
#include <shunt/stm/detail/policy/counts.hpp>
#include <shunt/stm/detail/policy/time_slice.hpp>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

/// What an attempt is, and what its end has to look at.
struct attempt_state {
  static constexpr std::uint8_t extras = 1;  // any object, callback, commuting change, saved value or box
  static constexpr std::uint8_t doomed = 2;  // a conflict was thrown, and may have been caught by the body
  static constexpr std::uint8_t wide = 4;    // a value of several words is written

  std::uint8_t unusual = 0;  // bits; 0: a small transaction
  bool unlogged = false;     // reads are: of snapshots, at first; and in exclusive mode, where nothing read can change
  bool read_only = false;    // a snapshot
  bool irrevocable = false;

  [[nodiscard]] bool is_doomed() const noexcept { return (unusual & doomed) != 0; }
  [[nodiscard]] bool has_extras() const noexcept { return (unusual & extras) != 0; }
};

/// Inside, in exclusive mode: a variable's value as it stands. \param data  the variable's, N words.
template <std::size_t N>
[[nodiscard, gnu::always_inline]] inline std::array<word, N> read_in_place(const std::atomic<word>* data) noexcept {
  test_point();
  std::array<word, N> seen;
  // relaxed: no other participant is inside, and edges `left` and `mode` have brought what others wrote
  for (std::size_t i = 0; i < N; ++i) seen[i] = data[i].load(std::memory_order_relaxed);
  return seen;
}

class attempt : public participant {
 public:
  explicit attempt(std::uint32_t index) noexcept : participant(index) {}

  // --- the life of an attempt ---

  /// Before a body. \param logs_reads  false: the body is run again with a log if it retries, or if it reads a variable
  /// that is newer than its snapshot.
  void prepare(bool read_only, bool logs_reads) noexcept {
    state_.read_only = read_only;
    state_.unlogged = !logs_reads;
    writes_.allow_reads_in_place(!logs_reads && exclusive());
  }
  /// Inside.
  [[gnu::always_inline]] void begin() noexcept { reads_.start(); }

  /// Inside, after the body. If the outcome is `conflict`, abort() is still to be called.
  /// \throws what commuting functions throw; likewise.
  [[nodiscard, gnu::always_inline]] outcome commit() {
    if (state_.unusual != 0) [[unlikely]]
      return commit_fully();
    entry* const end = writes_.end();
    entry* e = writes_.begin();
    if (e == end) return outcome::committed;
    if (!exclusive()) return commit_fully();
    do {
      // relaxed: no other participant is inside, and edges `left` and `mode` have brought what others wrote
      if ((e->target->lock.load(std::memory_order_relaxed) & waiters_bit) != 0) [[unlikely]] {
        store_exclusively(e, end);
        break;
      }
      // release: edge `data`. The version stays: no participant is inside that has read it.
      e->data[0].store(e->value[0], std::memory_order_release);
    } while (++e != end);
    return outcome::committed;
  }
  /// Outside, after a small commit.
  [[gnu::always_inline]] void clear_writes() noexcept { writes_.clear(); }
  /// Outside, after a commit of any size; callbacks are left to the caller.
  [[gnu::noinline]] void clear_after_commit() noexcept;
  /// Inside, after an attempt that has not committed: leaves, and undoes all that is not in the variables; callbacks
  /// are left to the caller.
  [[gnu::noinline]] void abort() noexcept;

  /// The body has nothing to do yet.
  [[noreturn]] void retry() { throw retry_requested{}; }

  /// Leaves the transaction, in whichever mode it is.
  void leave_transaction() noexcept {
    if (state_.irrevocable) {
      state_.irrevocable = false;
      leave_irrevocable();
    } else {
      leave();
    }
  }

  // --- what a body does ---

  /// \param data  the variable's, N words.
  template <std::size_t N>
  [[nodiscard, gnu::always_inline]] std::array<word, N> read(const variable& v, const std::atomic<word>* data) {
    if (writes_.read_in_place()) return read_in_place<N>(data);
    if (writes_.may_hold(&v)) [[unlikely]] {
      if (const entry* const own = find_own(&v)) {
        std::array<word, N> written;
        for (std::size_t i = 0; i < N; ++i) written[i] = own->value[i];
        return written;
      }
    }
    const auto seen = read_at_limit<N>(v, data);
    if (!state_.unlogged) reads_.add(&v);
    return seen;
  }
  /// The value as of the snapshot's moment. \param count  of its words; further words of the result have no value.
  /// \throws conflict
  template <std::size_t N>
  [[nodiscard, gnu::always_inline]] std::array<word, N> read_at_limit(const variable& v, const std::atomic<word>* data,
                                                                      std::size_t count = N) {
    std::array<word, N> seen;
    for (;;) {
      test_point();
      const auto before = v.lock.load(std::memory_order_acquire);  // edge `word`
      if (before > reads_.limit() && !has(flaw::limit)) [[unlikely]] {
        validate_or_extend(v);
        continue;
      }
      test_point();
      for (std::size_t i = 0; i < count; ++i) seen[i] = data[i].load(std::memory_order_acquire);  // edge `data`
      test_point();
      // relaxed: the loads of the value come before it
      if (v.lock.load(std::memory_order_relaxed) == before || has(flaw::second_look)) [[likely]]
        return seen;
    }
  }

  /// \tparam boxed  value[0] is a box that the caller has made; if the call throws, the box is deleted.
  template <bool boxed, std::size_t N>
  [[gnu::always_inline]] void write(const variable* v, std::atomic<word>* data, const form* how,
                                    const std::array<word, N>& value) {
    entry* own = nullptr;
    if (writes_.may_hold(v)) [[unlikely]]
      own = find_own_to_replace(v, how, value[0]);
    if (own == nullptr) {
      if constexpr (boxed) {
        own = &add_boxed(v, data, how, value[0]);
      } else {
        own = &writes_.add(v, data, how);
        if constexpr (N > 1) state_.unusual |= attempt_state::wide;
      }
    }
    for (std::size_t i = 0; i < N; ++i) own->value[i] = value[i];
  }
  /// The variable is not written yet. \throws std::bad_alloc
  void commute(commuting_change change) {
    const variable* const v = change.target;
    commuting_.add(std::move(change));
    writes_.mark(v);
    state_.unusual |= attempt_state::extras;
  }

  /// \throws std::bad_alloc
  void add_made(const owned& o) {
    state_.unusual |= attempt_state::extras;
    owned_.made.push_back(o);
  }
  void add_destroyed(const owned& o) {
    state_.unusual |= attempt_state::extras;
    owned_.destroyed.push_back(o);
  }
  void on_commit(std::function<void()> what) {
    calls.add_on_commit(std::move(what));
    state_.unusual |= attempt_state::extras;
  }
  void on_abort(std::function<void()> what) {
    calls.add_on_abort(std::move(what));
    state_.unusual |= attempt_state::extras;
  }

  /// Begins the body again, irrevocably, unless it runs so already. \throws conflict
  void require_irrevocable() {
    if (!state_.irrevocable) throw_conflict(nullptr, cause::wants_irrevocable);
  }

  /// The lengths of all logs when a nested part began.
  struct nested_mark {
    std::size_t writes, undos, made, destroyed, outer;
    callbacks::lengths calls;
  };
  /// \throws std::bad_alloc, and what commuting functions throw
  [[nodiscard]] nested_mark begin_nested();
  void end_nested(const nested_mark& m) noexcept { undo_.end_part(m.outer); }
  void undo_nested(const nested_mark& m) noexcept;

  // --- what an attempt is ---

  [[nodiscard]] const attempt_state& state() const noexcept { return state_; }
  void set_irrevocable() noexcept { state_.irrevocable = true; }
  /// Inside: what the body has read so far, and what it will write.
  [[nodiscard]] const read_log& reads() const noexcept { return reads_; }
  [[nodiscard]] const write_log& writes() const noexcept { return writes_; }
  /// Why the last attempt was lost.
  [[nodiscard]] const conflict_site& lost() const noexcept { return lost_; }

 private:
  [[gnu::noinline]] void validate_or_extend(const variable& v);
  [[noreturn]] void throw_conflict(const variable* at, cause why);
  [[nodiscard, gnu::noinline]] const entry* find_own(const variable* v);
  [[nodiscard, gnu::noinline]] entry* find_own_to_replace(const variable* v, const form* how, word first);
  [[nodiscard]] entry* save_own_to_replace(const variable* v, const form* how, word first);
  entry& add_boxed(const variable* v, std::atomic<word>* data, const form* how, word box);
  void apply_now(const variable* v);
  [[gnu::noinline]] outcome commit_fully();
  void clear_logs() noexcept;

  // Hot: what a small transaction touches.
  read_log reads_;
  attempt_state state_;

 public:
  /// What the scheduler of transactions keeps for this thread. Hot: between the logs.
  class_binding binding;

 private:
  write_log writes_;

  undo_log undo_;
  objects owned_;
  commute_log commuting_;
  conflict_site lost_;

 public:
  callbacks calls;
  reclaimer memory;
  time_slice slice;     ///< of the scheduler of transactions, like `binding`
  counts_table counts;  ///< likewise
};

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
