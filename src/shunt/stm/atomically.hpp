/// All or nothing: transactions over tvars.
///
/// ```cpp
/// shunt::tvar<int> stock{10}, sold{0};
/// const int left = shunt::atomically([&](shunt::tx& t) {
///   t.check(t.read(stock) > 0);  // waits until another transaction adds some
///   t.modify(sold, [](int n) { return n + 1; });
///   t.modify(stock, [](int n) { return n - 1; });
///   return t.read(stock);
/// });
/// ```
///
/// Any fiber of any runtime, and any thread that is not a worker, may run transactions over the same variables. A fiber
/// that has to wait for variables to change parks. Where the class of its transactions is allowed on fewer workers than
/// there are, it also parks until it is its turn. Before a transaction begins, and never inside one, other fibers of
/// the worker may run.
#pragma once

#include <chrono>
#include <optional>
#include <shunt/sched/fiber.hpp>
#include <shunt/stm/detail/engine/transaction.hpp>
#include <shunt/stm/transaction_class.hpp>
#include <shunt/stm/tvar.hpp>
#include <shunt/stm/tx.hpp>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace shunt {
inline namespace v1 {
namespace stm {

/// Asks for a transaction that runs without others: see tx::become_irrevocable().
struct irrevocable_t {};
/// `atomically(irrevocable, body)`.
inline constexpr irrevocable_t irrevocable{};

namespace detail {

/// The class of all transactions with a body of type F.
template <typename F>
inline constinit transaction_class class_of_body{nullptr};
inline constinit transaction_class class_of_stores{"tvar::store"};
inline constinit transaction_class class_of_loads{"tvar::load"};  // of boxes

/// What the functions below are made of. Not for users.
struct stm_access {
  using manner = transaction::manner;
  /// The result of a body without a result: whether it was committed.
  class done {
   public:
    done() noexcept = default;
    explicit done(bool is) noexcept : is_(is) {}
    [[nodiscard]] bool has_value() const noexcept { return is_; }

   private:
    bool is_ = false;
  };
  template <typename R>
  using kept = std::conditional_t<std::is_void_v<R>, done, std::optional<R>>;
  /// In a first attempt waits are refused until it is over: waits_forbidden::while_in_force().
  struct refused_already {};
  struct refused_here {
    const sched::waits_forbidden scope{refuses_waits};
  };

  /// Whether a body is handed by copy to functions that are not inlined: one of at most a pointer's size, if a copy is
  /// as good. Its captures then lie in a register, and a loop of transactions need not touch its fiber's stack. Larger
  /// bodies gain nothing.
  template <typename Body>
  [[nodiscard]] static consteval bool as_a_copy() noexcept {
    if constexpr (!std::is_object_v<Body>) {  // a function
      return false;
    } else {
      return std::is_trivially_copyable_v<Body> && std::is_trivially_copy_constructible_v<Body> &&
             sizeof(Body) <= sizeof(void*);
    }
  }
  template <typename Body>
  using handed_on = std::conditional_t<as_a_copy<Body>(), const Body, const Body&>;

  /// The calling thread's attempts.
  [[nodiscard]] static attempt& this_thread() { return tx::here(); }
  /// Whether the caller is in a transaction's body.
  [[nodiscard]] static bool inside() { return tx::here().inside(); }
  [[nodiscard, gnu::always_inline]] static tx& here() { return tx::here(); }
  [[nodiscard]] static bool inside(const tx& t) noexcept { return t.inside(); }

  /// \return the body's result; nothing if the deadline came first, or a stop was requested.
  template <typename R, typename Body>
  [[gnu::always_inline]] static kept<R> run(const transaction_class& c, std::source_location where, manner how,
                                            const Body& body, const wait_limits* limits = nullptr) {
    sched::this_fiber::interleave();
    tx& mine = tx::here();
    if (!transaction::begin_inline(mine, c.known(), how)) [[unlikely]]
      return run_slowly<R, Body>(c, where, how, body, limits);
    kept<R> result;
    const auto ended_by = run_attempt<R, refused_already>(
        result, mine, body, [&](tx& of) { transaction::abort_first(of, *c.known(), how); });
    if (ended_by != outcome::committed) [[unlikely]] {
      if (ended_by != outcome::committed_with_extras || !mine.calls.empty())
        return run_on<R, Body>(std::move(result), *c.known(), how, limits, body, &mine, ended_by);
      mine.leave();
      mine.clear_after_commit();
    } else {
      transaction::finish_inline(mine);
    }
    return committed<R>(std::move(result));
  }
  /// A transaction that does not begin inline: within another one, of a class without a record, or one that has to
  /// wait.
  template <typename R, typename Body>
  [[gnu::noinline]] static kept<R> run_slowly(const transaction_class& c, std::source_location where, manner how,
                                              handed_on<Body> body, const wait_limits* limits) {
    if (tx& mine = tx::here(); mine.inside()) {
      join(mine, how, limits, where);
      return call_once<R>(body, mine);
    }
    return run_on<R, Body>({}, c.record(where), how, limits, body, nullptr, outcome::conflict);
  }
  template <typename R, typename Body>
  [[gnu::always_inline]] static void keep_result(kept<R>& result, const Body& body, tx& t) {
    if constexpr (std::is_void_v<R>) {
      detail::call(body, t);
    } else {
      result.emplace(detail::call(body, t));
    }
  }
  template <typename R>
  [[gnu::always_inline]] static kept<R> committed(kept<R>&& result) {
    if constexpr (std::is_void_v<R>) {
      return done(true);
    } else {
      return std::move(result);
    }
  }
  template <typename R, typename Body>
  static kept<R> call_once(const Body& body, tx& t) {
    kept<R> result;
    keep_result<R>(result, body, t);
    return committed<R>(std::move(result));
  }
  /// One attempt, inside, up to its commit. \throws what leaves the body, after `abort` was called
  template <typename R, typename Refused, typename Body, typename Abort>
  [[gnu::always_inline]] static outcome run_attempt(kept<R>& result, tx& t, const Body& body, const Abort& abort) {
    try {
      [[maybe_unused]] const Refused waits{};
      keep_result<R>(result, body, t);
      return t.commit();
    } catch (const conflict&) {
      return outcome::conflict;
    } catch (const retry_requested&) {
      return t.state().is_doomed() ? outcome::conflict : outcome::retry;
    } catch (...) {
      // A body that caught a conflict went on without the value it had asked for: its exception counts as a conflict.
      if (t.state().is_doomed()) return outcome::conflict;
      abort(t);
      throw;
    }
  }
  /// What does not end with the first attempt, or does not begin inline.
  /// \param t, ended_by  an attempt, inside, and what it came to; null: there was none yet.
  template <typename R, typename Body>
  [[gnu::noinline]] static kept<R> run_on(kept<R> result, class_record& kind, manner how, const wait_limits* limits,
                                          handed_on<Body> body, tx* t, outcome ended_by) {
    transaction whole(kind, how, limits);
    for (;;) {
      if (t == nullptr) {
        t = static_cast<tx*>(&whole.begin());
        ended_by = run_attempt<R, refused_here>(result, *t, body, [&](tx& of) { whole.abort(of); });
      }
      if (!whole.finish(*t, ended_by)) break;
      t = nullptr;
    }
    if (ended_by != outcome::committed && ended_by != outcome::committed_with_extras) return kept<R>();
    return committed<R>(std::move(result));
  }
  /// A transaction within another one is a part of it. \throws usage_error, conflict
  static void join(tx& t, manner how, const wait_limits* limits, std::source_location where);

  template <typename F>
  static auto snapshot(const transaction_class& c, std::source_location where, const F& body) {
    using R = std::decay_t<std::invoke_result_t<const F&, ro_tx&>>;
    auto result = run<R>(c, where, manner::snapshot, [&](tx& t) -> R {
      ro_tx read_only(t);
      return body(read_only);
    });
    if constexpr (!std::is_void_v<R>) return std::move(result).value();  // always there: nothing limits the wait
  }
};

}  // namespace detail

/// Any fiber or thread. Runs `body`, and makes its writes visible to others all at once; or undoes everything if an
/// exception leaves it. Inside another transaction it is a part of that one. `body` is called with a tx&, or with
/// nothing; it is called again if other transactions commit to what it has read.
/// \return what `body` returned, by value.
/// \throws what leaves `body`; blocking_in_transaction; std::bad_alloc; where it has to wait, what park() throws.
/// Cost: 3 to 30 ns, and what the body's reads and writes cost.
template <detail::tx_body F>
[[gnu::always_inline]] inline auto atomically(const transaction_class& c, const F& body,
                                              std::source_location where = std::source_location::current())
    -> detail::result_of<F> {
  using R = detail::result_of<F>;
  auto result = detail::stm_access::run<R>(c, where, detail::stm_access::manner::shared, body);
  if constexpr (!std::is_void_v<R>) return std::move(result).value();  // always there: nothing limits the wait
}
/// The same; the body's type is its class.
template <detail::tx_body F>
[[gnu::always_inline]] inline auto atomically(const F& body,
                                              std::source_location where = std::source_location::current())
    -> detail::result_of<F> {
  return atomically(detail::class_of_body<F>, body, where);
}

/// Like atomically(body), without others: the body runs once, whatever it does, and so may do what cannot be undone; it
/// still cannot park. All other transactions of the process wait meanwhile. Inside a transaction that is not
/// irrevocable, it begins that one again, irrevocably.
template <detail::tx_body F>
auto atomically(irrevocable_t, const F& body, std::source_location where = std::source_location::current())
    -> detail::result_of<F> {
  using R = detail::result_of<F>;
  auto result =
      detail::stm_access::run<R>(detail::class_of_body<F>, where, detail::stm_access::manner::irrevocable, body);
  if constexpr (!std::is_void_v<R>) return std::move(result).value();  // always there: nothing limits the wait
}

/// Like atomically(body), but a body that retries waits until `deadline`, or until a stop is requested, at the longest.
/// \return what `body` returned; nothing (for a body without result: false) if the deadline or the stop came first:
/// then nothing was done.
/// \throws usage_error inside a transaction, which cannot wait.
template <detail::tx_body F>
auto atomically_until(std::chrono::steady_clock::time_point deadline, const F& body, const std::stop_token& stop = {},
                      std::source_location where = std::source_location::current()) {
  using R = detail::result_of<F>;
  const detail::wait_limits limits{deadline, stop};
  auto result =
      detail::stm_access::run<R>(detail::class_of_body<F>, where, detail::stm_access::manner::shared, body, &limits);
  if constexpr (std::is_void_v<R>) {
    return result.has_value();
  } else {
    return result;
  }
}
/// The same; the body's type is its class.
template <detail::tx_body F>
auto atomically_for(std::chrono::nanoseconds time, const F& body, const std::stop_token& stop = {},
                    std::source_location where = std::source_location::current()) {
  return atomically_until(sched::after(time), body, stop, where);
}

/// Any fiber or thread. Reads several variables as of one moment. `body` is called with a ro_tx&. A transaction inside
/// it throws usage_error, unless it is another snapshot. Keeps no log, and has no commit; after three conflicts it goes
/// on like atomically().
template <typename F>
  requires std::invocable<const F&, ro_tx&>
auto snapshot(const F& body, std::source_location where = std::source_location::current()) {
  return detail::stm_access::snapshot(detail::class_of_body<F>, where, body);
}
/// The same, of a class.
template <typename F>
  requires std::invocable<const F&, ro_tx&>
auto snapshot(const transaction_class& c, const F& body, std::source_location where = std::source_location::current()) {
  return detail::stm_access::snapshot(c, where, body);
}

// --- operations of tvar ---

template <tvar_value T>
T tvar<T>::load() const
  requires std::copy_constructible<T>
{
  if (tx& t = detail::stm_access::here(); detail::stm_access::inside(t)) [[unlikely]]
    return t.read(*this);
  if constexpr (!detail::is_inline<T>) {
    return snapshot(detail::class_of_loads, [this](ro_tx& t) -> T { return t.read(*this); });
  } else {
    typename holding::coded seen{};
    for (int i = 0;; ++i) {
      const auto before = lock.load(std::memory_order_acquire);  // edge `word`
      for (std::size_t k = 0; k < holding::count; ++k)
        seen[k] = data_[k].load(std::memory_order_acquire);  // edge `data`
      if constexpr (holding::count == 1) break;
      // relaxed: the loads of the value come before it
      if (!detail::is_locked(before) && lock.load(std::memory_order_relaxed) == before) break;
      detail::pause(i);
    }
    return holding::decode(seen.data());
  }
}

template <tvar_value T>
void tvar<T>::store(const T& value)
  requires std::copy_constructible<T>
{
  atomically(detail::class_of_stores, [&](tx& t) { t.write(*this, value); });
}

template <tvar_value T>
template <std::invocable<const T&> F>
T tvar<T>::update(const F& f, std::source_location where)
  requires std::copy_constructible<T>
{
  const auto body = [&](tx& t) -> T {
    T next = f(t.read(*this));
    t.write(*this, next);
    return next;
  };
  return atomically(body, where);
}

}  // namespace stm

using stm::atomically;
using stm::atomically_for;
using stm::atomically_until;
using stm::irrevocable;
using stm::snapshot;

}  // namespace v1
}  // namespace shunt
