/// Values on their way between fibers and threads, in order.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/sync/detail/item_store.hpp>
#include <shunt/sync/detail/passage.hpp>
#include <shunt/sync/detail/wait_for_any.hpp>

namespace shunt {
inline namespace v1 {
namespace sync {

/// What a channel carries. Moving must not throw: an item could be lost between its ends. An item is moved under a lock
/// of the channel: its move, and the destructor of what it was moved from, neither wait nor use the channel.
template <class T>
concept channel_item = std::is_object_v<T> && !std::is_const_v<T> && std::is_nothrow_move_constructible_v<T> &&
                       std::is_nothrow_destructible_v<T>;

/// How sending ended.
enum class [[nodiscard]] send_result : std::uint8_t {
  sent,
  closed,     ///< the channel is closed: the value is where it was
  full,       ///< try_send(): no place is free
  timed_out,  ///< the deadline passed first
  stopped,    ///< stop was requested first
};

/// A queue between any number of senders and receivers, which may be fibers of any worker and threads. A sender waits
/// while the channel is full, a receiver while it is empty; a fiber that waits leaves its worker to other fibers.
///
/// ```cpp
/// shunt::channel<std::string> lines(64);
/// // a fiber or thread:
/// if (!lines.send("one")) return;  // it is closed
/// lines.close();
/// // another one:
/// for (const std::string& line : lines) print(line);  // until it is closed and empty
/// ```
///
/// Order: each sender's items are received in the order in which it sent them. A receiver that was woken competes with
/// newcomers.
///
/// End: close() ends sending. What has been sent is still received; then each receive returns nothing. Items that are
/// in the channel when it is destroyed are destroyed with it. No fiber or thread may wait for it then, or use it later.
///
/// Cost: one locked operation and two or three moves for each send and each receive that does not wait; one end touches
/// the other's cache lines only when it has used up what it last saw there. Memory: what was written before a send is
/// visible after the receive of that item, and what was written before close() to a caller that finds the channel
/// closed.
template <channel_item T>
class channel {
 public:
  /// No capacity: the channel grows, and a send never waits.
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  /// \param capacity  how many items fit, or `unbounded`. Its ring has room for the next power of two.
  /// \throws std::bad_alloc; usage_error for 0, and for more than 2^60 items.
  explicit channel(std::size_t capacity, std::source_location where = std::source_location::current())
      : capacity_(capacity == unbounded ? never_full : checked(capacity, {"channel", where})),
        items_(capacity == unbounded ? 0 : capacity) {
    may_send_ = capacity_;
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  /// A receiver may destroy it as soon as it has received the last item, and a sender as soon as it has sent it: the
  /// locks wait for a call of the other end that has done its work and is about to return.
  ~channel() {
    const detail::passage::holder sent(sent_), received(received_);
    for (auto i = received.count(); i != sent.count(); ++i) static_cast<void>(items_.take(i));
  }

  /// Waits for a free place. \return false: the channel is closed.
  /// \throws what sched::this_fiber::park() throws, if it must wait; std::bad_alloc, if the channel is unbounded.
  [[nodiscard]] bool send(T item, std::source_location where = std::source_location::current()) {
    detail::earlier_look earlier;
    sched::this_fiber::interleave();
    auto result = put(item, earlier);
    if (result == send_result::full) [[unlikely]]
      result = send_later(item, earlier, std::stop_token(), detail::never, where);
    return result == send_result::sent;
  }
  /// Waits until a place is free, stop is requested or `deadline` has passed. Unless the result is `sent`, `item` is as
  /// it was. \throws what send() throws; std::bad_alloc for a deadline.
  send_result send(T&& item, const std::stop_token& stop,
                   std::chrono::steady_clock::time_point deadline = detail::never,
                   std::source_location where = std::source_location::current()) {
    detail::earlier_look earlier;
    sched::this_fiber::interleave();
    const auto result = put(item, earlier);
    return result == send_result::full ? send_later(item, earlier, stop, deadline, where) : result;
  }
  /// Never waits. Unless the result is `sent`, `item` is as it was. \throws std::bad_alloc, if it is unbounded.
  send_result try_send(T&& item) {
    send_case one(*this, item);
    return one.attempt() ? one.result() : send_result::full;
  }

  /// Waits for an item. \return nothing: the channel is closed and empty.
  /// \throws what sched::this_fiber::park() throws, if it must wait.
  [[nodiscard]] std::optional<T> receive(std::source_location where = std::source_location::current()) {
    detail::earlier_look earlier;
    sched::this_fiber::interleave();
    std::optional<T> item;  // nothing that is not inlined gets its address: so it is returned in registers
    if (take(item, earlier)) return item;
    return receive_later(earlier, std::stop_token(), detail::never, where);
  }
  /// \return nothing as well when stop is requested, or `deadline` has passed, before an item came.
  /// \throws what receive() throws; std::bad_alloc for a deadline.
  [[nodiscard]] std::optional<T> receive(const std::stop_token& stop,
                                         std::chrono::steady_clock::time_point deadline = detail::never,
                                         std::source_location where = std::source_location::current()) {
    detail::earlier_look earlier;
    sched::this_fiber::interleave();
    std::optional<T> item;
    if (take(item, earlier)) return item;
    return receive_later(earlier, stop, deadline, where);
  }
  /// Never waits. \return nothing: no item is there now.
  [[nodiscard]] std::optional<T> try_receive() {
    std::optional<T> item;
    detail::earlier_look earlier;
    sched::this_fiber::interleave();
    static_cast<void>(take(item, earlier));
    return item;
  }

  /// Any fiber or thread, any number of times. Ends sending, and wakes all that wait.
  void close() noexcept {
    held_end sent(sent_);
    sent.close();
    wake_receivers(sent);
    held_end received(received_);
    wake_senders(received);
  }
  /// Whether close() has been called.
  [[nodiscard]] bool closed() const noexcept { return sent_.look().closed; }
  /// Items that have been sent and not received. A moment later it may be another number.
  [[nodiscard]] std::size_t size() const noexcept {
    for (auto received = received_.look().count;;) {
      const auto sent = sent_.look().count;
      const auto again = received_.look().count;
      if (again == received) return sent - received;
      received = again;
    }
  }

  /// Receives until the channel is closed and empty. An input iterator: each step is a receive().
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;  ///< one pass
    using value_type = T;                              ///< the channel's
    using difference_type = std::ptrdiff_t;            ///< as iterators must have one

    /// Receives the first item. \throws as receive().
    explicit iterator(channel& from, std::source_location where = std::source_location::current())
        : from_(&from), where_(where), item_(from.receive(where)) {}
    /// The item, which may be moved from. Not at the end (contract).
    [[nodiscard]] T& operator*() const noexcept { return *item_; }
    /// Receives the next item. \throws as receive().
    iterator& operator++() {
      item_.reset();
      if (auto following = from_->receive(where_)) item_.emplace(std::move(*following));
      return *this;
    }
    /// The same.
    void operator++(int) { ++*this; }
    /// Whether the channel was found closed and empty.
    friend bool operator==(const iterator& at, std::default_sentinel_t) noexcept { return !at.item_; }

   private:
    channel* from_;
    std::source_location where_;
    mutable std::optional<T> item_;
  };
  /// For range-based loops: receives the first item, and so may wait. \throws as receive().
  [[nodiscard]] iterator begin(std::source_location where = std::source_location::current()) {
    return iterator(*this, where);
  }
  /// The end of such a loop: the channel is closed and empty.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// A send as a case of select(): see on_send(). What a case does, detail::wait_for_any() says; select() calls it.
  class send_case {
   public:
    /// For on_send() and the channel. \param item  where it is until it is sent; it outlives the case.
    send_case(channel& to, T& item, detail::earlier_look earlier = {}) noexcept
        : to_(to), item_(item), earlier_(earlier) {}
    /// How the last attempt() ended.
    [[nodiscard]] send_result result() const noexcept { return result_; }

    /// Sends if that can be done now. \return whether it is done, or the channel closed.
    bool attempt() {
      sched::this_fiber::interleave();
      result_ = to_.put(item_, earlier_);
      return result_ != send_result::full;
    }
    /// See detail::patience.
    [[nodiscard]] int pauses() const noexcept { return earlier_.pauses; }
    /// \return false: there is room, or the channel is closed, so `me` is not queued.
    bool watch(detail::watcher& me) noexcept {
      return to_.received_.watch(me, [this](auto received) { return to_.room(received) > 0; });
    }
    /// \return false: `me` has been woken.
    bool unwatch(detail::watcher& me) noexcept { return to_.received_.unwatch(me); }
    /// Wakes another sender, if there is something for it.
    void pass_on() noexcept {
      held_end received(to_.received_);
      to_.wake_senders(received);
    }

   private:
    channel& to_;
    T& item_;
    send_result result_ = send_result::full;
    detail::earlier_look earlier_;
  };

  /// A receive as a case of select(): see on_receive(). As send_case.
  class receive_case {
   public:
    /// For on_receive() and the channel.
    explicit receive_case(channel& from, detail::earlier_look earlier = {}) noexcept : from_(from), earlier_(earlier) {}
    /// Once: the item; nothing: the channel is closed and empty, or the receive is not done.
    [[nodiscard]] std::optional<T> result() noexcept { return std::move(item_); }

    /// Receives if that can be done now. \return whether it is done.
    bool attempt() {
      sched::this_fiber::interleave();
      return from_.take(item_, earlier_);
    }
    /// See detail::patience.
    [[nodiscard]] int pauses() const noexcept { return earlier_.pauses; }
    /// \return false: there is something to receive, so `me` is not queued.
    bool watch(detail::watcher& me) noexcept {
      return from_.sent_.watch(me, [this](auto sent) { return from_.items(sent) > 0; });
    }
    /// \return false: `me` has been woken.
    bool unwatch(detail::watcher& me) noexcept { return from_.sent_.unwatch(me); }
    /// Wakes another receiver, if there is something for it.
    void pass_on() noexcept {
      held_end sent(from_.sent_);
      from_.wake_receivers(sent);
    }

   private:
    channel& from_;
    std::optional<T> item_;
    detail::earlier_look earlier_;
  };

 private:
  static constexpr std::uint64_t never_full = std::uint64_t{1} << 60;

  static std::uint64_t checked(std::size_t capacity, call_site call) {
    if (capacity > 0 && capacity <= never_full) return capacity;
    throw usage_error(error_number(402),
                      "channel: a capacity of " + std::to_string(capacity) +
                          "; 1 to 2^60 items are possible, or channel::unbounded" + call.place(),
                      call.where());
  }

  using held_end = detail::passage::holder;

  /// Waits for what one attempt did not find. \param earlier  what that attempt told.
  [[gnu::cold, gnu::noinline]] send_result send_later(T& item, detail::earlier_look earlier,
                                                      const std::stop_token& stop,
                                                      std::chrono::steady_clock::time_point deadline,
                                                      std::source_location where) {
    send_case one(*this, item, earlier);
    switch (detail::wait_for_any({stop, deadline, "a channel's room", {"channel::send", where}}, one)) {
      case detail::wait_timed_out: return send_result::timed_out;
      case detail::wait_stopped: return send_result::stopped;
      default: return one.result();
    }
  }
  [[gnu::cold, gnu::noinline]] std::optional<T> receive_later(detail::earlier_look earlier, const std::stop_token& stop,
                                                              std::chrono::steady_clock::time_point deadline,
                                                              std::source_location where) {
    receive_case one(*this, earlier);
    static_cast<void>(detail::wait_for_any({stop, deadline, "a channel's item", {"channel::receive", where}}, one));
    return one.result();
  }

  send_result put(T& item, detail::earlier_look& earlier) {
    held_end sent(sent_);
    if (sent.closed()) return send_result::closed;
    if (sent.count() == may_send_) {
      may_send_ = received_.look().count + capacity_;
      if (sent.count() == may_send_) {
        earlier = {.failed = true, .pauses = send_patience_.pauses()};
        return send_result::full;
      }
      if (earlier.failed) send_patience_.found(may_send_ - sent.count());
    }
    items_.put(sent.count(), std::move(item));
    sent.advance();
    if (sent.watched()) [[unlikely]]
      wake_receivers(sent);
    return send_result::sent;
  }
  /// \return whether a receive is done: `into` has an item, or has none and the channel is closed and empty.
  bool take(std::optional<T>& into, detail::earlier_look& earlier) {
    held_end received(received_);
    if (received.count() == may_receive_) {
      const auto sent = sent_.look();
      may_receive_ = sent.count;
      if (received.count() == may_receive_) {
        earlier = {.failed = true, .pauses = receive_patience_.pauses()};
        return sent.closed;
      }
      if (earlier.failed) receive_patience_.found(may_receive_ - received.count());
    }
    into.emplace(items_.take(received.count()));
    received.advance();
    if (received.watched()) [[unlikely]]
      wake_senders(received);
    return true;
  }

  /// How many receivers have something to do, at least: all of them once the channel is closed.
  [[nodiscard]] std::uint64_t items(detail::passage::seen sent) const noexcept {
    return sent.closed ? ~std::uint64_t{0} : sent.count - std::min(sent.count, received_.look().count);
  }
  [[nodiscard]] std::uint64_t room(detail::passage::seen received) const noexcept {
    const auto sent = sent_.look();
    const auto limit = received.count + capacity_;
    return sent.closed ? ~std::uint64_t{0} : limit - std::min(limit, sent.count);
  }
  void wake_receivers(held_end& sent) noexcept {
    sent.wake([this](auto seen) { return items(seen); });
  }
  void wake_senders(held_end& received) noexcept {
    received.wake([this](auto seen) { return room(seen); });
  }

  const std::uint64_t capacity_;
  detail::item_store<T> items_;
  alignas(quiet_distance) detail::passage sent_;
  std::uint64_t may_send_ = 0;  ///< under sent_: up to which count no look at the other end is needed
  detail::patience send_patience_;
  alignas(quiet_distance) detail::passage received_;
  std::uint64_t may_receive_ = 0;  ///< under received_: likewise
  detail::patience receive_patience_;
};

}  // namespace sync

using sync::channel;
using sync::send_result;

}  // namespace v1
}  // namespace shunt
