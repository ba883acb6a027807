/// Waiting for the first of several sends and receives.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <source_location>
#include <stop_token>
#include <utility>

#include <shunt/sync/channel.hpp>
#include <shunt/sync/detail/wait_for_any.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// A case of select(). Made by on_receive() and on_send(), in the call: so it carries the line of the call, for errors.
template <class Attempt, class F>
class select_case : public Attempt {
 public:
  /// For on_receive() and on_send().
  template <class... Args>
  explicit select_case(F&& f, std::source_location where, Args&&... args)
      : Attempt(std::forward<Args>(args)...), f_(std::forward<F>(f)), where_(where) {}
  /// For select(), once the case is done: calls the function with the result.
  void call() { std::invoke(std::forward<F>(f_), this->result()); }
  /// The line that made it.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  F&& f_;
  std::source_location where_;
};

/// The case that an item is received from `from`, or that `from` is closed and empty. Then f(std::optional<T>) is
/// called, with nothing in the latter case.
template <channel_item T, std::invocable<std::optional<T>> F>
[[nodiscard]] auto on_receive(channel<T>& from, F&& f, std::source_location where = std::source_location::current()) {
  return select_case<typename channel<T>::receive_case, F>(std::forward<F>(f), where, from);
}

/// The case that `item` is sent to `to`, or that `to` is closed. Then f(send_result) is called. Where another case is
/// done, `item` is as it was.
template <channel_item T, std::invocable<send_result> F>
[[nodiscard]] auto on_send(channel<T>& to, T& item, F&& f,
                           std::source_location where = std::source_location::current()) {
  return select_case<typename channel<T>::send_case, F>(std::forward<F>(f), where, to, item);
}

namespace detail {

/// The call of select() that has these cases: its line is that of the first one.
template <class First, class... Others>
[[nodiscard]] call_site select_call(const char* name, const First& first, const Others&... /*others*/) noexcept {
  return {name, first.where()};
}

template <class... Cases>
std::optional<std::size_t> call_one(int done, Cases&... cases) {
  if (done < 0) return std::nullopt;
  int i = 0;
  ((i++ == done ? cases.call() : void()), ...);
  return static_cast<std::size_t>(done);
}

}  // namespace detail

/// Does one of the cases that can be done now, and calls its function; never waits.
/// \return its place among the arguments, from 0; nothing: none can be done now. \throws what the function throws.
template <class... Attempts, class... Fs>
std::optional<std::size_t> try_select(select_case<Attempts, Fs>... cases) {
  return detail::call_one(detail::attempt_any(cases...), cases...);
}

/// Waits until one of the cases can be done, does it, and calls its function. The other cases have no effect. A case of
/// a closed channel can be done always. All channels live until the function is called.
///
/// ```cpp
/// shunt::select(shunt::on_receive(jobs, [&](std::optional<job> next) { work_on(next); }),
///               shunt::on_receive(signals, [&](std::optional<int> which) { stop(which); }));
/// ```
///
/// \return the case's place among the arguments, from 0. Of several that can be done, each has the same
/// chance.
/// \throws what sched::this_fiber::park() throws, if it must wait; what the function throws.
/// Cost: a look at each case; a wait costs a queueing at each.
template <class... Attempts, class... Fs>
std::size_t select(select_case<Attempts, Fs>... cases) {
  int done = detail::attempt_any(cases...);
  if (done < 0)
    done = detail::wait_for_any(
        {std::stop_token(), detail::never, "one of several channels", detail::select_call("select", cases...)},
        cases...);
  return *detail::call_one(done, cases...);
}

/// The same until `deadline`, or until stop is requested. \return nothing: one of those came first.
/// \throws what select() throws; std::bad_alloc for the deadline.
template <class... Attempts, class... Fs>
std::optional<std::size_t> select_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop,
                                        select_case<Attempts, Fs>... cases) {
  int done = detail::attempt_any(cases...);
  if (done < 0) {
    done = detail::wait_for_any(
        {stop, deadline, "one of several channels", detail::select_call("select_until", cases...)}, cases...);
  }
  return detail::call_one(done, cases...);
}
/// The same without a stop token.
template <class... Attempts, class... Fs>
std::optional<std::size_t> select_for(std::chrono::nanoseconds time, select_case<Attempts, Fs>... cases) {
  return select_until(sched::after(time), std::stop_token(), std::move(cases)...);
}

}  // namespace sync

using sync::on_receive;
using sync::on_send;
using sync::select;
using sync::select_for;
using sync::select_until;
using sync::try_select;

}  // namespace v1
}  // namespace shunt
