/// Waiting for the first of several sends and receives.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include <shunt/sync/channel.hpp>
#include <shunt/sync/detail/wait_for_any.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// A case of select(). Made by on_receive() and on_send(), in the call.
template <class Attempt, class F>
class select_case : public Attempt {
 public:
  /// For on_receive() and on_send().
  template <class... Args>
  explicit select_case(F&& f, Args&&... args) : Attempt(std::forward<Args>(args)...), f_(std::forward<F>(f)) {}
  /// For select(), once the case is done: calls the function with the result.
  void call() { std::invoke(std::forward<F>(f_), this->result()); }

 private:
  F&& f_;
};

/// The case that an item is received from `from`, or that `from` is closed and empty. Then f(std::optional<T>) is
/// called, with nothing in the latter case.
template <channel_item T, std::invocable<std::optional<T>> F>
[[nodiscard]] auto on_receive(channel<T>& from, F&& f) {
  return select_case<typename channel<T>::receive_case, F>(std::forward<F>(f), from);
}

/// The case that `item` is sent to `to`, or that `to` is closed. Then f(send_result) is called. Where another case is
/// done, `item` is as it was.
template <channel_item T, std::invocable<send_result> F>
[[nodiscard]] auto on_send(channel<T>& to, T& item, F&& f) {
  return select_case<typename channel<T>::send_case, F>(std::forward<F>(f), to, item);
}

namespace detail {

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
    done = detail::wait_for_any({std::stop_token(), detail::never, "one of several channels", "select"}, cases...);
  return *detail::call_one(done, cases...);
}

/// The same until `deadline`, or until stop is requested. \return nothing: one of those came first.
/// \throws what select() throws; std::bad_alloc for the deadline.
template <class... Attempts, class... Fs>
std::optional<std::size_t> select_until(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop,
                                        select_case<Attempts, Fs>... cases) {
  int done = detail::attempt_any(cases...);
  if (done < 0) done = detail::wait_for_any({stop, deadline, "one of several channels", "select_until"}, cases...);
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
