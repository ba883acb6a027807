/// What the body of a transaction may do.
///
/// The engine below is stm/detail/engine/attempt.hpp; see DESIGN.md. Source: Harris, Marlow, Peyton Jones, Herlihy:
/// Composable memory transactions, PPoPP 2005, doi:10.1145/1065944.1065952.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <shunt/base/error.hpp>
#include <shunt/base/thread_pointer.hpp>
#include <shunt/stm/detail/engine/attempt.hpp>
#include <shunt/stm/tvar.hpp>
#include <type_traits>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

/// A body called a function that waits, or that cannot be undone: it parked, yielded, slept or spawned. Thrown by that
/// call; what() names it. If this exception leaves the body, the transaction is undone.
class blocking_in_transaction : public error {
 public:
  /// See error's: the text, what is known as numbers, the line.
  using error::error;
};

namespace detail {

class registry;
struct stm_access;

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

}  // namespace detail

/// A running transaction. Made by atomically(), and handed to its body; valid until the body returns. Only the body's
/// fiber or thread may use it.
///
/// A body may be called any number of times, so it changes only tvars and what it has made itself; it is called through
/// a const reference, so that a lambda cannot change its own captures. It does not wait: park(), yield(), sleeping, I/O
/// that waits and spawning throw blocking_in_transaction. A body that catches everything (`catch (...)`) throws on what
/// it does not know.
///
/// The memory of its logs, a few words for each variable read or written, is kept for the thread's next transactions.
class alignas(quiet_distance) tx : private detail::attempt {
  template <typename T>
  using holding = detail::holding<T>;
  using access = detail::tvar_access;

 public:
  tx(const tx&) = delete;
  tx& operator=(const tx&) = delete;

  /// \return the variable's value in this transaction: what the transaction has written, or else the value at its
  /// moment. A boxed value is not copied: the reference is valid until the transaction ends, also if the variable is
  /// written meanwhile. Cost: about 1 ns for a variable in the nearest cache,
  /// however much has been read before.
  template <typename T>
  [[nodiscard]] typename holding<T>::read_type read(const tvar<T>& x) {
    return holding<T>::decode(attempt::read<holding<T>::count>(access::base(x), access::data(x)).data());
  }

  /// The variable holds `value` once the transaction has committed; reads in this transaction see it at once.
  /// \throws std::bad_alloc, and for a boxed value what moving throws; then nothing has changed. Cost: some ns.
  template <typename T>
  void write(tvar<T>& x, std::type_identity_t<T> value) {
    attempt::write<!detail::is_inline<T>>(&access::base(x), access::data(x), &holding<T>::how,
                                          holding<T>::encode(std::move(value)));
  }

  /// write(x, f(read(x))).
  template <typename T, std::invocable<const T&> F>
  void modify(tvar<T>& x, F&& f) {
    write(x, std::forward<F>(f)(read(x)));
  }

  /// Like modify(), for changes whose order does not matter: the commit applies `f` to the value it finds, so that two
  /// transactions that add to one counter do not conflict. If the transaction reads or writes x afterwards, this
  /// becomes an ordinary modify(). `f` runs during the commit, once an attempt; it is short, and uses no transaction.
  /// \throws std::bad_alloc
  template <typename T, typename F>
    requires std::invocable<const F&, const T&> && std::copy_constructible<F>
  void commute(tvar<T>& x, F f);

  /// The body has nothing to do yet: the transaction waits until another one has committed to a variable that this one
  /// has read, then the body is called again. Inside or_else() the other branch is taken first. Does not return.
  [[noreturn]] void retry() { attempt::retry(); }
  /// retry(), unless `condition` holds.
  void check(bool condition) {
    if (!condition) retry();
  }

  /// Runs `first`. If that retries, its effects are undone, and `second` runs. If that retries too, the transaction
  /// waits for the variables that either has read. Both are called with the transaction, or with nothing. \return what
  /// they return, which must be of one type.
  template <detail::tx_body F, detail::tx_body G>
    requires std::same_as<detail::result_of<F>, detail::result_of<G>>
  auto or_else(const F& first, const G& second) -> detail::result_of<F>;

  /// Runs `part`. If an exception leaves it, its effects are undone: catch the exception outside, and go on.
  template <detail::tx_body F>
  auto nested(const F& part) -> detail::result_of<F>;

  /// Makes an object that exists if the transaction commits; otherwise it is deleted. Objects that come and go often
  /// are made faster, and lie closer together, if T derives from in_thread_cache (base/thread_cache.hpp).
  /// \throws std::bad_alloc, and what T's constructor throws.
  template <typename T, typename... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments) {
    auto made = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    attempt::add_made(detail::owned_object(made.get()));
    return made.release();
  }
  /// Deletes the object if the transaction commits, once no other transaction can see it any more. By then the object
  /// must not be reachable from any variable. \param object  may be null. \throws std::bad_alloc
  template <typename T>
  void destroy(T* object) {
    if (object != nullptr) attempt::add_destroyed(detail::owned_object(object));
  }

  /// Registers a function that is called after the transaction has committed, outside of it, by the same fiber: the
  /// place for I/O. Functions are called in the order in which they were registered; they may wait. An exception of
  /// theirs leaves atomically(), and the transaction is committed all the same. \throws std::bad_alloc
  void on_commit(std::function<void()> what);
  /// Registers a function that is called when this attempt is undone, for whatever reason, likewise; the last one
  /// first. Its exceptions are lost. \throws std::bad_alloc
  void on_abort(std::function<void()> what);

  /// After this call has returned the body runs to its end once: only an exception of its own undoes it, and no other
  /// transaction runs meanwhile. So the body may do what cannot be undone. It still cannot park. The first call begins
  /// the body again, irrevocably.
  void become_irrevocable();
  /// Whether this attempt is, after become_irrevocable().
  [[nodiscard]] bool irrevocable() const noexcept { return attempt::state().irrevocable; }

 private:
  friend class ro_tx;
  friend class detail::registry;
  friend struct detail::stm_access;

  explicit tx(std::uint32_t index) noexcept : attempt(index) {}
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
};

template <typename T, typename F>
  requires std::invocable<const F&, const T&> && std::copy_constructible<F>
void tx::commute(tvar<T>& x, F f) {
  if (attempt::writes().holds(&access::base(x))) return modify(x, f);
  attempt::commute({&access::base(x), access::data(x), &holding<T>::how, [f = std::move(f)](detail::words& value) {
                      const auto coded = holding<T>::encode(static_cast<T>(f(holding<T>::decode(value.data()))));
                      for (std::size_t i = 0; i < coded.size(); ++i) value[i] = coded[i];
                    }});
}

template <detail::tx_body F, detail::tx_body G>
  requires std::same_as<detail::result_of<F>, detail::result_of<G>>
auto tx::or_else(const F& first, const G& second) -> detail::result_of<F> {
  const nested_mark before = begin_nested();
  try {
    if constexpr (std::is_void_v<detail::result_of<F>>) {
      detail::call(first, *this);
      return end_nested(before);
    } else {
      detail::result_of<F> result = detail::call(first, *this);
      end_nested(before);
      return result;
    }
  } catch (const detail::retry_requested&) {
    undo_nested(before);
  } catch (...) {
    end_nested(before);
    throw;
  }
  return detail::call(second, *this);
}

template <detail::tx_body F>
auto tx::nested(const F& part) -> detail::result_of<F> {
  const nested_mark before = begin_nested();
  try {
    if constexpr (std::is_void_v<detail::result_of<F>>) {
      detail::call(part, *this);
      end_nested(before);
    } else {
      detail::result_of<F> result = detail::call(part, *this);
      end_nested(before);
      return result;
    }
  } catch (...) {
    undo_nested(before);
    throw;
  }
}

/// A read-only transaction: what snapshot() hands to its body.
class ro_tx {
 public:
  ro_tx(const ro_tx&) = delete;
  ro_tx& operator=(const ro_tx&) = delete;

  /// As tx::read(); keeps no log. Cost: about 1 ns.
  template <typename T>
  [[nodiscard]] typename detail::holding<T>::read_type read(const tvar<T>& x) {
    using holding = detail::holding<T>;
    using access = detail::tvar_access;
    if (how_ == how::at_limit) [[likely]]
      return holding::decode(t_.read_at_limit<holding::count>(access::base(x), access::data(x)).data());
    if (how_ == how::in_place) return holding::decode(detail::read_in_place<holding::count>(access::data(x)).data());
    return t_.read(x);
  }

 private:
  friend struct detail::stm_access;
  /// What tx::read() would find out each time. It stays the same during this body, which cannot write.
  enum class how : std::uint8_t { at_limit, in_place, as_part };
  explicit ro_tx(tx& t) noexcept
      : t_(t),
        how_(!t.state().read_only || !t.state().unlogged ? how::as_part
             : t.writes().read_in_place()                ? how::in_place
                                                         : how::at_limit) {}
  tx& t_;
  const how how_;
};

}  // namespace stm

using stm::blocking_in_transaction;
using stm::ro_tx;
using stm::tx;

}  // namespace v1
}  // namespace shunt
