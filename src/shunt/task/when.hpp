/// Futures of futures: all of them, any of them, and what comes after one.
///
/// ```cpp
/// auto first = shunt::when_any(from_cache, from_disk).get();      // index, and both futures
/// auto size = shunt::then(read_file(), [](const auto& text) { return text.size(); });
/// ```
///
/// Nothing here waits. The thread that satisfies the last, or the first, future also satisfies the new one.
///
/// Terms follow the Concurrency TS, ISO/IEC TS 19571:2016; but then() passes values, not futures.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/task/future.hpp>

namespace shunt {
inline namespace v1 {
namespace task {

/// The result of when_any().
template <typename Futures>
struct when_any_result {
  std::size_t index = 0;  ///< of the one that was ready first, or one of those that were
  Futures futures;        ///< all of them
};

namespace detail {

/// Listens to several events, then satisfies one promise. Owns itself.
///
/// Invariants
///   when.W1  open_ = listeners that may still be notified + 1 while begin() runs. The thread that subtracts the last 1
///            deletes the object.
///   when.W2  For `any`, the thread that sets chosen_ satisfies the promise.
///   when.W3  An event outlives its listeners: its holder notifies them no later than it ends.
///
/// Edge `gathered`, each listener -> the last: every future's result, by the RMWs of waits_for_ and open_.
template <typename Futures, bool All>
class gathering {
  using result = std::conditional_t<All, Futures, when_any_result<Futures>>;

 public:
  /// \throws std::bad_alloc; shunt::error for a future of no promise.
  static future<result> begin(Futures futures, const std::vector<one_event*>& events) {
    auto owned = std::make_unique<gathering>(std::move(futures), events.size());
    auto delivers = owned->promise_.get_future();
    gathering* const g = owned.release();  // from here on nothing fails
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!events[i]->attach(g->listeners_[i])) g->happened(i);
    }
    if (All && events.empty()) g->happened_all();
    g->leave();
    return delivers;
  }

  gathering(Futures futures, std::size_t count) : futures_(std::move(futures)), open_(count + 1), waits_for_(count) {
    listeners_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) listeners_.emplace_back(this, i);
  }

 private:
  struct each : one_event::listener {
    each(gathering* g, std::size_t i) noexcept : listener(&notify_all), all(g), index(i) {}
    static void notify_all(listener& l) noexcept {
      auto& me = static_cast<each&>(l);
      me.all->happened(me.index);
    }
    gathering* all;
    std::size_t index;
  };

  void happened(std::size_t index) noexcept {
    if constexpr (All) {
      // acq_rel: edge `gathered`
      if (waits_for_.fetch_sub(1, std::memory_order_acq_rel) == 1) happened_all();
    } else if (!chosen_.exchange(true, std::memory_order_acq_rel)) {  // when.W2
      promise_.set_value(result{index, std::move(futures_)});         // no other thread uses futures_ (when.W2)
    }
    leave();
  }
  void happened_all() noexcept {
    if constexpr (All) promise_.set_value(std::move(futures_));
  }
  void leave() noexcept {
    if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;  // edge `gathered` (when.W1)
  }

  promise<result> promise_;
  Futures futures_;
  std::vector<each> listeners_;
  std::atomic<std::size_t> open_;
  std::atomic<std::size_t> waits_for_;
  std::atomic<bool> chosen_{false};
};

template <bool All, typename Futures>
auto gather(Futures futures, call_site call) {
  std::vector<one_event*> events;
  if constexpr (requires { futures.begin(); }) {
    events.reserve(futures.size());
    for (const auto& f : futures) events.push_back(&event_behind::of(f, call));
  } else {
    std::apply([&](const auto&... f) { events = {&event_behind::of(f, call)...}; }, futures);
  }
  return gathering<Futures, All>::begin(std::move(futures), events);
}

/// \throws usage_error unless `some`.
void must_have_some(call_site call, bool some);

}  // namespace detail

/// Any thread. \return a future of all of them, ready once they all are: then get() of none of them waits. An exception
/// of one of them stays in that one.
/// \throws shunt::error for a future of no promise, std::bad_alloc.
/// Cost: one allocation, and one exchange for each future.
template <future_value A, future_value B>
[[nodiscard]] future<std::tuple<future<A>, future<B>>> when_all(
    future<A> a, future<B> b, std::source_location where = std::source_location::current()) {
  return detail::gather<true>(std::tuple(std::move(a), std::move(b)), {"when_all", where});
}
/// The same, of three.
template <future_value A, future_value B, future_value C>
[[nodiscard]] future<std::tuple<future<A>, future<B>, future<C>>> when_all(
    future<A> a, future<B> b, future<C> c, std::source_location where = std::source_location::current()) {
  return detail::gather<true>(std::tuple(std::move(a), std::move(b), std::move(c)), {"when_all", where});
}
/// The same, of four.
template <future_value A, future_value B, future_value C, future_value D>
[[nodiscard]] future<std::tuple<future<A>, future<B>, future<C>, future<D>>> when_all(
    future<A> a, future<B> b, future<C> c, future<D> d, std::source_location where = std::source_location::current()) {
  return detail::gather<true>(std::tuple(std::move(a), std::move(b), std::move(c), std::move(d)), {"when_all", where});
}
/// The same, of any other number; errors name no line.
template <future_value... T>
  requires(sizeof...(T) < 2 || sizeof...(T) > 4)
[[nodiscard]] future<std::tuple<future<T>...>> when_all(future<T>... futures) {
  return detail::gather<true>(std::tuple<future<T>...>(std::move(futures)...), "when_all");
}
/// The same for a vector of futures of one type.
template <future_value T>
[[nodiscard]] future<std::vector<future<T>>> when_all(std::vector<future<T>> futures,
                                                      std::source_location where = std::source_location::current()) {
  return detail::gather<true>(std::move(futures), {"when_all", where});
}

/// Any thread. \return a future of all of them, ready once one of them is; with the index of that one. The others go
/// on, and the caller may wait for them.
/// \throws as when_all(); usage_error for none.
template <future_value A, future_value B>
[[nodiscard]] future<when_any_result<std::tuple<future<A>, future<B>>>> when_any(
    future<A> a, future<B> b, std::source_location where = std::source_location::current()) {
  return detail::gather<false>(std::tuple(std::move(a), std::move(b)), {"when_any", where});
}
/// The same, of three.
template <future_value A, future_value B, future_value C>
[[nodiscard]] future<when_any_result<std::tuple<future<A>, future<B>, future<C>>>> when_any(
    future<A> a, future<B> b, future<C> c, std::source_location where = std::source_location::current()) {
  return detail::gather<false>(std::tuple(std::move(a), std::move(b), std::move(c)), {"when_any", where});
}
/// The same, of four.
template <future_value A, future_value B, future_value C, future_value D>
[[nodiscard]] future<when_any_result<std::tuple<future<A>, future<B>, future<C>, future<D>>>> when_any(
    future<A> a, future<B> b, future<C> c, future<D> d, std::source_location where = std::source_location::current()) {
  return detail::gather<false>(std::tuple(std::move(a), std::move(b), std::move(c), std::move(d)), {"when_any", where});
}
/// The same, of any other number but none; errors name no line.
template <future_value... T>
  requires(sizeof...(T) == 1 || sizeof...(T) > 4)
[[nodiscard]] future<when_any_result<std::tuple<future<T>...>>> when_any(future<T>... futures) {
  return detail::gather<false>(std::tuple<future<T>...>(std::move(futures)...), "when_any");
}
/// The same for a vector of futures of one type.
template <future_value T>
[[nodiscard]] future<when_any_result<std::vector<future<T>>>> when_any(
    std::vector<future<T>> futures, std::source_location where = std::source_location::current()) {
  const call_site call("when_any", where);
  detail::must_have_some(call, !futures.empty());
  return detail::gather<false>(std::move(futures), call);
}

/// A fiber only. Makes a task, of the caller's innermost finish, that waits for `before` and calls next(value), or
/// next() where T is void. \return a future of the result of `next`; of the exception that left it; or of that of
/// `before`, and then the task does not call `next`.
/// \throws shunt::error if !before.valid(), std::bad_alloc. Cost: as async(); a stack while it waits.
template <future_value T, typename F>
[[nodiscard]] auto then(future<T> before, F&& next, std::source_location where = std::source_location::current()) {
  static_cast<void>(detail::event_behind::of(before, {"then", where}));
  return async_value(
      [f = std::move(before), n = std::decay_t<F>(std::forward<F>(next)), where]() mutable -> decltype(auto) {
        if constexpr (std::is_void_v<T>) {
          f.get(where);
          return n();
        } else {
          return n(f.get(where));
        }
      },
      where);
}

}  // namespace task

using task::then;
using task::when_all;
using task::when_any;
using task::when_any_result;

}  // namespace v1
}  // namespace shunt
