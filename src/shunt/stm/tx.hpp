/// One attempt at a transaction: what its body may do.
///
/// A snapshot of all variables as of one moment (`limit_`), a log of what was read, a log of what will be written. A
/// read that finds a newer value moves the snapshot to now, if all that was read is still as it was; else the attempt
/// is over, and the body begins again. So a body never sees values that did not stand together (it is opaque), not even
/// one that will not commit.
///
/// Source: Dice, Shalev, Shavit: Transactional Locking II, DISC 2006, doi:10.1007/11864219_14; Riegel, Felber, Fetzer:
/// A lazy snapshot algorithm with eager validation, DISC 2006, doi:10.1007/11864219_20; Harris, Marlow, Peyton Jones,
/// Herlihy: Composable memory transactions, PPoPP 2005, doi:10.1145/1065944.1065952. See DESIGN.md.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shunt/base/error.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/sched/waits_forbidden.hpp>
#include <shunt/stm/detail/class_record.hpp>
#include <shunt/stm/detail/participant.hpp>
#include <shunt/stm/detail/word.hpp>
#include <shunt/stm/detail/write_log.hpp>
#include <shunt/stm/tvar.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace shunt {
inline namespace v1 {

/// A body did what could not be undone, or could wait for another transaction: it parked, yielded, slept or spawned.
/// Thrown by that call; what() names it. The transaction is undone if this leaves its body.
class blocking_in_transaction : public error {
 public:
  using error::error;
};

namespace stm::detail {

class course;
class registry;

/// Thrown inside bodies only, and caught by whoever runs them. No std::exceptions: bodies that catch those do not meet
/// them.
struct conflict {};
struct retry_wanted {};

/// What an attempt comes to: committed, with nothing more to do; committed, with extras; or not.
enum class outcome : std::uint8_t { committed, settles, lost, retry };

template <typename F>
using result_of =
    std::decay_t<typename std::conditional_t<std::invocable<const F&, tx&>, std::invoke_result<const F&, tx&>,
                                             std::invoke_result<const F&>>::type>;
/// A body, or a part of one: called with the transaction, or with nothing.
template <typename F>
concept tx_body = std::invocable<const F&, tx&> || std::invocable<const F&>;

template <tx_body F>
result_of<F> call(const F& f, tx& t) {
  if constexpr (std::invocable<const F&, tx&>) {
    return f(t);
  } else {
    return f();
  }
}

}  // namespace stm::detail

/// Made by atomically(), and handed to its body; valid until that returns. Only that body's fiber or thread may use it.
///
/// A body may be called any number of times, so it changes nothing but tvars, or what it has made itself; it is called
/// through a const reference, so that a lambda cannot change its own captures. It does not wait: park(), yield(),
/// sleeping, I/O that waits and spawning throw blocking_in_transaction. A body that catches everything (`catch (...)`)
/// throws on what it does not know.
///
/// Its memory, a few words a variable read or written, is kept for the thread's next transactions.
class alignas(quiet_distance) tx : private stm::detail::participant {
  template <typename T>
  using holding = stm::detail::holding<T>;
  using word = stm::detail::word;

 public:
  tx(const tx&) = delete;
  tx& operator=(const tx&) = delete;

  /// The variable's value in this transaction: what it has written, or what stood there at its moment. Boxed values are
  /// not copied: the reference is valid until the transaction ends, also if the variable is written meanwhile.
  /// Cost: 2 to 4 ns, whatever has been read before.
  template <typename T>
  [[nodiscard]] typename holding<T>::read_type read(const tvar<T>& x) {
    if (writes_.reads_pass()) return holding<T>::decode(take<T>(x).data());
    if (writes_.may_hold(&x)) [[unlikely]] {
      if (const auto* const own = own_entry(&x)) return holding<T>::decode(own->value.data());
    }
    const auto seen = look_at<T>(x);
    if (!unlogged_) log_read(&x);
    return holding<T>::decode(seen.data());
  }

  /// Will hold `value` once the transaction has committed; reads in this transaction see it at once.
  /// \throws std::bad_alloc; if boxed what moving throws. Then nothing has changed. Cost: some ns.
  template <typename T>
  void write(tvar<T>& x, std::type_identity_t<T> value) {
    put<T>(x, holding<T>::encode(std::move(value)));
  }

  /// write(x, f(read(x))).
  template <typename T, std::invocable<const T&> F>
  void modify(tvar<T>& x, F&& f) {
    write(x, std::forward<F>(f)(read(x)));
  }

  /// As modify(), where the order among such changes does not matter: f is applied when the transaction commits, to
  /// what stands there then, so that two that add to one counter do not conflict. Reading or writing x afterwards makes
  /// it an ordinary modify(). f runs at the commit, once an attempt; it must be short, and use no transaction. \throws
  /// std::bad_alloc
  template <typename T, typename F>
    requires std::invocable<const F&, const T&> && std::copy_constructible<F>
  void commute(tvar<T>& x, F f);

  /// Nothing to be done yet: waits until something that was read has changed, then begins again. Inside or_else() the
  /// other branch is taken first. Does not return.
  [[noreturn]] void retry() { throw stm::detail::retry_wanted{}; }
  /// retry(), unless `condition` holds.
  void check(bool condition) {
    if (!condition) retry();
  }

  /// What `first` does; or if that retries, nothing of it, and what `second` does. If that retries too, whatever either
  /// has read is waited for. They are called with the transaction, or with nothing. \return what they return, which
  /// must be of one type.
  template <stm::detail::tx_body F, stm::detail::tx_body G>
    requires std::same_as<stm::detail::result_of<F>, stm::detail::result_of<G>>
  auto or_else(const F& first, const G& second) -> stm::detail::result_of<F>;

  /// What `part` does; if an exception leaves it, nothing of it: catch it outside, and go on.
  template <stm::detail::tx_body F>
  auto nested(const F& part) -> stm::detail::result_of<F>;

  /// An object that exists if the transaction commits; else it is deleted. What comes and goes often is made faster,
  /// and lies closer together, if T derives from in_thread_cache (base/thread_cache.hpp). \throws std::bad_alloc and
  /// what T's constructor throws.
  template <typename T, typename... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    add_to(made_, made.get());
    return made.release();
  }
  /// Deletes it if the transaction commits, once no other one can see it any more. What it holds must not be reachable
  /// from any variable by then. \throws std::bad_alloc
  template <typename T>
  void destroy(T* object) {
    if (object != nullptr) add_to(destroyed_, object);
  }

  /// Called after the transaction has committed, outside of it, by the same fiber, in order: the place for I/O. May
  /// wait. What it throws leaves atomically(): the transaction is committed all the same. \throws std::bad_alloc
  void on_commit(std::function<void()> what);
  /// Called when the attempt that registered it is undone, for whatever reason, likewise; the last one first. What it
  /// throws is lost.
  void on_abort(std::function<void()> what);

  /// From the return of this call on the body runs once: nothing undoes it but an exception, and no other transaction
  /// runs meanwhile. So it may do what cannot be undone. It still cannot park. The first call begins the body again,
  /// alone.
  void become_irrevocable();
  [[nodiscard]] bool irrevocable() const noexcept { return alone_; }

 private:
  template <tvar_value T>
  friend class tvar;
  friend class ro_tx;
  friend class stm::detail::course;
  friend class stm::detail::registry;
  friend struct stm_access;
  friend void tx_quiesce();
  using entry = stm::detail::entry;
  using variable = stm::detail::variable;
  using words = stm::detail::words;
  using form = stm::detail::form;

  struct owned {  // to be deleted
    word what;
    void (*drop)(word) noexcept;
  };
  struct undo {
    std::size_t position;
    words value;
  };
  struct commuting {
    const variable* who;
    std::atomic<word>* data;
    const form* how;
    std::function<void(words&)> apply;  // replaces the value; a box by a new one
  };
  /// The lengths of all logs when a part began.
  struct mark {
    std::size_t writes, undos, made, destroyed, commits, aborts, outer;
  };
  enum class cause : std::uint8_t { locked, stale, validation, wants_alone };

  explicit tx(std::uint32_t index);
  ~tx() = default;

  /// The calling thread's. \throws std::bad_alloc at a thread's first call.
  [[nodiscard, gnu::always_inline]] static tx& here() {
    tx* found;
    SHUNT_READ_THREAD_POINTER(found, "shunt_stm_tx_v1", here_by_call);
    if (found == nullptr) [[unlikely]]
      return first_time_here();
    return *found;
  }
  [[nodiscard, gnu::noinline]] static tx* here_by_call() noexcept;
  [[gnu::noinline]] static tx& first_time_here();
  [[gnu::tls_model("initial-exec")]] static constinit thread_local tx* of_this_thread asm("shunt_stm_tx_v1");

  // --- reading ---
  template <typename T>
  [[nodiscard, gnu::always_inline]] typename holding<T>::coded look_at(const tvar<T>& x) {
    constexpr auto count = holding<T>::count;
    typename holding<T>::coded seen;
    for (;;) {
      stm::detail::test_point();
      const auto before = x.lock.load(std::memory_order_acquire);  // edge `word`
      if (before > limit_ && !stm::detail::has(stm::detail::flaw::limit)) [[unlikely]] {
        settle(x);
        continue;
      }
      stm::detail::test_point();
      for (std::size_t i = 0; i < count; ++i) seen[i] = x.data_[i].load(std::memory_order_acquire);  // edge `data`
      stm::detail::test_point();
      // relaxed: the loads of the value come before it
      if (x.lock.load(std::memory_order_relaxed) == before || stm::detail::has(stm::detail::flaw::second_look))
          [[likely]]
        return seen;
    }
  }
  /// Where nobody else is inside, and no log is kept.
  template <typename T>
  [[nodiscard, gnu::always_inline]] typename holding<T>::coded take(const tvar<T>& x) {
    stm::detail::test_point();
    typename holding<T>::coded seen;
    // relaxed: nobody else is inside, and edges `left` and `mode` have brought what others wrote
    for (std::size_t i = 0; i < holding<T>::count; ++i) seen[i] = x.data_[i].load(std::memory_order_relaxed);
    return seen;
  }
  [[gnu::always_inline]] void log_read(const variable* v) {
    if (reads_end_ == reads_room_) [[unlikely]]
      more_room_for_reads();
    *reads_end_++ = v;
  }
  void more_room_for_reads();
  /// Waits a little while it is locked; moves the snapshot if it is newer. \throws conflict
  [[gnu::noinline]] void settle(const variable& v);
  [[nodiscard]] bool extend() noexcept;
  [[noreturn]] void give_up(const variable* at, cause why);
  [[nodiscard, gnu::noinline]] const entry* own_entry(const variable* v);

  // --- writing ---
  template <typename T>
  [[gnu::always_inline]] void put(tvar<T>& x, const typename holding<T>::coded& value) {
    entry* own = nullptr;
    if (writes_.may_hold(&x)) [[unlikely]]
      own = entry_to_replace(&x, &holding<T>::how, value[0]);
    if (own == nullptr) {
      if constexpr (!stm::detail::is_inline<T>) {
        own = &add_boxed(&x, x.data_.data(), &holding<T>::how, value[0]);
      } else {
        own = &writes_.add(&x, x.data_.data(), &holding<T>::how);
        if constexpr (holding<T>::count > 1) unusual_ |= wide;
      }
    }
    for (std::size_t i = 0; i < value.size(); ++i) own->value[i] = value[i];
  }
  /// The entry whose value `first`, a box or not, is to replace; null: there is none. Nothing commutes there any more.
  [[nodiscard, gnu::noinline]] entry* entry_to_replace(const variable* v, const form* how, word first);
  [[nodiscard]] entry* own_to_replace(const variable* v, const form* how, word first);
  entry& add_boxed(const variable* v, std::atomic<word>* data, const form* how, word box);

  // --- the course of an attempt; see course ---
  /// Before a body: whether its reads keep no log; without others they then look at nothing else either.
  void read_unlogged(bool yes) noexcept {
    unlogged_ = yes;
    writes_.let_reads_pass(yes && without_others());
  }
  /// Inside.
  [[gnu::always_inline]] void begin() noexcept {
    reads_end_ = reads_.get();
    limit_ = stm::detail::the_clock.now.load(std::memory_order_acquire) | stm::detail::waiters_bit;  // edge `time`
  }
  /// \return what it came to. Of an attempt that was lost, abort() undoes what it has made. \throws what commuting
  /// functions throw
  [[nodiscard, gnu::always_inline]] stm::detail::outcome commit() {
    using stm::detail::outcome;
    if (unusual_ != nothing) [[unlikely]]
      return commit_fully();
    entry* const end = writes_.end();
    entry* e = writes_.begin();
    if (e == end) return outcome::committed;
    if (!without_others()) return commit_fully();
    do {
      // relaxed: nobody else stores it meanwhile, but for a lock's time
      if ((e->who->lock.load(std::memory_order_relaxed) & stm::detail::waiters_bit) != 0) [[unlikely]] {
        store_alone(e, end);
        break;
      }
      // release: edge `data`. Its version stays, for nobody is inside who has read it.
      e->data[0].store(e->value[0], std::memory_order_release);
    } while (++e != end);
    return outcome::committed;
  }
  [[gnu::noinline]] stm::detail::outcome commit_fully();
  [[nodiscard]] bool commit_all();
  [[nodiscard]] bool lock_all() noexcept;
  [[nodiscard]] bool validate() noexcept;
  void unlock(std::size_t count) noexcept;
  [[gnu::noinline]] static void store_alone(entry* first, const entry* end) noexcept;
  void prepare_commuting();
  void apply_commuting(std::size_t fresh_from);
  void settle_commuting(const variable* v);
  [[nodiscard]] words look_at_words(const commuting& c);
  /// Undoes all that is not in the variables.
  [[gnu::noinline]] void abort() noexcept;
  /// Outside. No attempt's writes: as the next one finds it.
  void clear() noexcept {
    unusual_ = nothing;
    writes_.clear();
  }
  void end_inside() noexcept { alone_ ? (alone_ = false, leave_alone()) : leave(); }
  /// Whether on_commit() or on_abort() have been given anything.
  [[nodiscard]] bool has_calls() const noexcept {
    return !on_commit_.empty() || !on_abort_.empty() || !undone_.empty();
  }
  /// Outside, after a commit: what it has left in the lists, but for calls.
  [[gnu::noinline]] void settle_extras() noexcept;

  // --- parts ---
  [[nodiscard]] mark open_part();
  void close_part(const mark& m) noexcept { part_ = m.outer; }
  void undo_part(const mark& m) noexcept;

  // --- memory ---
  template <typename T>
  void add_to(std::vector<owned>& list, T* what) {
    unusual_ |= extras;
    list.push_back({static_cast<word>(reinterpret_cast<std::uintptr_t>(what)),
                    [](word w) noexcept { delete reinterpret_cast<T*>(static_cast<std::uintptr_t>(w)); }});
  }
  /// Outside: deletes what nobody can see any more.
  void reclaim(bool all) noexcept;
  static void drop_all(std::vector<owned>& list) noexcept;
  void wait_for_others();

  // Hot: what a small transaction touches.
  word limit_ = 0;
  const variable** reads_end_ = nullptr;
  const variable** reads_room_ = nullptr;
  std::unique_ptr<const variable*[]> reads_;
  // Bits: what an attempt's end has to look at.
  static constexpr std::uint8_t nothing = 0;
  static constexpr std::uint8_t extras = 1;  // anything in the lists below, or boxed
  static constexpr std::uint8_t doomed = 2;  // a conflict was thrown, and may have been caught by the body
  static constexpr std::uint8_t wide = 4;    // writes a value of several words
  std::uint8_t unusual_ = nothing;
  bool unlogged_ = false;   // reads are: of snapshots, at first; and in solo mode, where nothing read can change
  bool read_only_ = false;  // snapshot
  bool alone_ = false;
  // What the class of the thread's last transactions allows is found out when one of another class begins, and after
  // each look at the clock; meanwhile they begin as the last one did.
  static constexpr std::uintptr_t no_class = 2;
  [[nodiscard]] static std::uintptr_t key(const stm::detail::class_record* c, bool read_only) noexcept {
    return reinterpret_cast<std::uintptr_t>(c) | (read_only ? 1U : 0U);
  }
  /// Outside. From now on the thread's number counts that class's commits. \return false: it has to wait for its turn.
  /// \throws std::bad_alloc
  [[nodiscard, gnu::noinline]] bool adopt(const stm::detail::class_record& c, bool read_only);
  /// Before the number changes for what is no commit.
  void drop_class() noexcept {
    if (std::exchange(class_, no_class) != no_class) counted_->stop_with(own_number());
  }
  std::uintptr_t class_ = no_class;
  std::uint64_t look_at_ = 0;               // when the thread's number has come to that, somebody looks at the clock
  stm::detail::counts* counted_ = nullptr;  // of the present class
  stm::detail::write_log writes_;
  std::size_t part_ = 0;  // entries below belong to an outer part

  std::vector<undo> undos_;
  std::vector<owned> made_, destroyed_, displaced_;  // displaced: boxes of ours that nobody will see
  std::vector<commuting> commuting_;
  std::vector<std::function<void()>> on_commit_, on_abort_, undone_;

  // Why the last attempt was lost.
  const variable* lost_at_ = nullptr;
  cause lost_by_ = cause::stale;

  // Memory that others may still see: retired since, and before the last look at all.
  std::vector<owned> retired_, waiting_;
  std::vector<std::pair<const participant*, std::uint64_t>> seen_inside_;

  // Policy.
  static constexpr std::int64_t looks_apart_at_most = 512;
  std::int64_t look_every_ = 1;  // transactions
  std::int64_t last_look_ = 0;   // ns
  std::uint64_t looked_at_ = 0;  // what the number was then
  std::int64_t turn_used_ = 0;   // ns, by the present fiber
  /// \param used  of that turn, already.
  void begin_turn(std::int64_t now_ns, std::int64_t used = 0) noexcept {
    last_look_ = now_ns;
    looked_at_ = own_number();
    turn_used_ = used;
  }
  std::atomic<stm::detail::counts*> counts_[64]{};  // by a class's chunk

  [[nodiscard, gnu::always_inline]] stm::detail::counts& counts_of(const stm::detail::class_record& c) {
    auto* const all = counts_[c.chunk].load(std::memory_order_relaxed);  // relaxed: only this thread stores it
    if (all == nullptr) [[unlikely]]
      return first_counts_of(c);
    return all[c.place];
  }
  [[gnu::noinline]] stm::detail::counts& first_counts_of(const stm::detail::class_record& c);
  /// Any thread. Null: none yet.
  [[nodiscard]] const stm::detail::counts* counts_seen(const stm::detail::class_record& c) const noexcept {
    const auto* const all = counts_[c.chunk].load(std::memory_order_acquire);  // pairs with first_counts_of()
    return all == nullptr ? nullptr : &all[c.place];
  }
};

template <typename T, typename F>
  requires std::invocable<const F&, const T&> && std::copy_constructible<F>
void tx::commute(tvar<T>& x, F f) {
  if (writes_.may_hold(&x) && writes_.find(&x) != nullptr) return modify(x, f);
  commuting_.push_back({&x, x.data_.data(), &holding<T>::how, [f = std::move(f)](words& value) {
                          const auto coded = holding<T>::encode(static_cast<T>(f(holding<T>::decode(value.data()))));
                          for (std::size_t i = 0; i < coded.size(); ++i) value[i] = coded[i];
                        }});
  writes_.mark(&x);
  unusual_ |= extras;
}

template <stm::detail::tx_body F, stm::detail::tx_body G>
  requires std::same_as<stm::detail::result_of<F>, stm::detail::result_of<G>>
auto tx::or_else(const F& first, const G& second) -> stm::detail::result_of<F> {
  const mark here_on = open_part();
  try {
    if constexpr (std::is_void_v<stm::detail::result_of<F>>) {
      stm::detail::call(first, *this);
      return close_part(here_on);
    } else {
      stm::detail::result_of<F> result = stm::detail::call(first, *this);
      close_part(here_on);
      return result;
    }
  } catch (const stm::detail::retry_wanted&) {
    undo_part(here_on);
  } catch (...) {
    close_part(here_on);
    throw;
  }
  return stm::detail::call(second, *this);
}

template <stm::detail::tx_body F>
auto tx::nested(const F& part) -> stm::detail::result_of<F> {
  const mark here_on = open_part();
  try {
    if constexpr (std::is_void_v<stm::detail::result_of<F>>) {
      stm::detail::call(part, *this);
      close_part(here_on);
    } else {
      stm::detail::result_of<F> result = stm::detail::call(part, *this);
      close_part(here_on);
      return result;
    }
  } catch (...) {
    undo_part(here_on);
    throw;
  }
}

/// A read-only transaction: what snapshot() hands to its body.
class ro_tx {
 public:
  ro_tx(const ro_tx&) = delete;
  ro_tx& operator=(const ro_tx&) = delete;

  /// As tx::read(); keeps no log. Cost: about 2 ns.
  template <typename T>
  [[nodiscard]] typename stm::detail::holding<T>::read_type read(const tvar<T>& x) {
    using holding = stm::detail::holding<T>;
    if (reads_ == reads::as_of_its_moment) [[likely]]
      return holding::decode(t_.look_at<T>(x).data());
    if (reads_ == reads::as_it_stands) return holding::decode(t_.take<T>(x).data());
    return t_.read(x);
  }

 private:
  friend struct stm_access;
  /// What tx::read() would find out each time; here the body holds no tx, so nothing is written meanwhile.
  enum class reads : std::uint8_t { as_of_its_moment, as_it_stands, as_a_part };
  explicit ro_tx(tx& t) noexcept
      : t_(t),
        reads_(!t.read_only_ || !t.unlogged_ ? reads::as_a_part
               : t.writes_.reads_pass()      ? reads::as_it_stands
                                             : reads::as_of_its_moment) {}
  tx& t_;
  const reads reads_;
};

}  // namespace v1
}  // namespace shunt
