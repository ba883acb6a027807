/// Values on their way between fibers and threads, in order.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include <shunt/base/cache_line.hpp>
#include <shunt/base/error.hpp>
#include <shunt/base/spin_lock.hpp>
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
/// Cost: two exchanges and two or three moves for each send and each receive that does not wait; one end touches the
/// other's cache lines only when it has used up what it last saw there. Memory: what was written before a send is
/// visible after the receive of that item, and what was written before close() to a caller that finds the channel
/// closed.
template <channel_item T>
class channel {
 public:
  /// No capacity: the channel grows, and a send never waits.
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  /// \param capacity  how many items fit, or `unbounded`. Its ring has room for the next power of two.
  /// \throws std::bad_alloc; usage_error for 0, and for more than 2^60 items.
  explicit channel(std::size_t capacity)
      : capacity_(capacity == unbounded ? never_full : checked(capacity)),
        items_(capacity == unbounded ? 0 : capacity) {
    sending_.limit = capacity_;
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  /// A receiver may destroy it as soon as it has received the last item, and a sender as soon as it has sent it: the
  /// locks wait for a call of the other end that has done its work and is about to return.
  ~channel() {
    {
      const std::scoped_lock held(sending_.lock, receiving_.lock);
    }
    while (receiving_.count != sending_.count) static_cast<void>(items_.take(receiving_.count++));
  }

  /// Waits for a free place. \return false: the channel is closed.
  /// \throws what sched::this_fiber::park() throws, if it must wait; std::bad_alloc, if the channel is unbounded.
  [[nodiscard]] bool send(T item) { return send(std::move(item), std::stop_token()) == send_result::sent; }
  /// Waits until a place is free, stop is requested or `deadline` has passed. Unless the result is `sent`, `item` is as
  /// it was. \throws what send() throws; std::bad_alloc for a deadline.
  send_result send(T&& item, const std::stop_token& stop,
                   std::chrono::steady_clock::time_point deadline = detail::never) {
    send_case one(*this, item);
    if (one.attempt()) return one.result();
    switch (detail::wait_for_any({stop, deadline, "a channel's room", "channel::send"}, one)) {
      case detail::wait_timed_out: return send_result::timed_out;
      case detail::wait_stopped: return send_result::stopped;
      default: return one.result();
    }
  }
  /// Never waits. Unless the result is `sent`, `item` is as it was. \throws std::bad_alloc, if it is unbounded.
  send_result try_send(T&& item) {
    send_case one(*this, item);
    return one.attempt() ? one.result() : send_result::full;
  }

  /// Waits for an item. \return nothing: the channel is closed and empty.
  /// \throws what sched::this_fiber::park() throws, if it must wait.
  [[nodiscard]] std::optional<T> receive() { return receive(std::stop_token()); }
  /// \return nothing as well when stop is requested, or `deadline` has passed, before an item came.
  /// \throws what receive() throws; std::bad_alloc for a deadline.
  [[nodiscard]] std::optional<T> receive(const std::stop_token& stop,
                                         std::chrono::steady_clock::time_point deadline = detail::never) {
    std::optional<T> item;
    receive_by<std::optional<T>&> one(*this, item);
    if (!one.attempt()) {
      static_cast<void>(detail::wait_for_any({stop, deadline, "a channel's item", "channel::receive"}, one));
    }
    return item;
  }
  /// Never waits. \return nothing: no item is there now.
  [[nodiscard]] std::optional<T> try_receive() {
    std::optional<T> item;
    static_cast<void>(receive_by<std::optional<T>&>(*this, item).attempt());
    return item;
  }

  /// Any fiber or thread, any number of times. Ends sending, and wakes all that wait.
  void close() noexcept {
    const std::lock_guard held(sending_.lock);
    sending_.closed = true;
    sent_.close();
    wake_receivers();
    wake_senders();
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
    using iterator_concept = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    explicit iterator(channel& from) : from_(&from), item_(from.receive()) {}
    [[nodiscard]] T& operator*() const noexcept { return *item_; }
    iterator& operator++() {
      item_.reset();
      if (auto following = from_->receive()) item_.emplace(std::move(*following));
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t) noexcept { return !at.item_; }

   private:
    channel* from_;
    mutable std::optional<T> item_;
  };
  [[nodiscard]] iterator begin() { return iterator(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// A send as a case of select(): see on_send().
  class send_case {
   public:
    send_case(channel& to, T& item) noexcept : to_(to), item_(item) {}
    [[nodiscard]] send_result result() const noexcept { return result_; }

    bool attempt() {
      sched::this_fiber::interleave();
      result_ = to_.put(item_);
      return result_ != send_result::full;
    }
    bool watch(detail::watcher& me) noexcept {
      return to_.received_.watch(me, [this](auto received) { return to_.room(received) > 0; });
    }
    bool unwatch(detail::watcher& me) noexcept { return to_.received_.unwatch(me); }
    void pass_on() noexcept { to_.wake_senders(); }

   private:
    channel& to_;
    T& item_;
    send_result result_ = send_result::full;
  };

  /// A receive. \tparam Item  where the item goes: the case's own std::optional, or a reference to another.
  template <class Item>
  class receive_by {
   public:
    template <class... Into>
    explicit receive_by(channel& from, Into&... into) noexcept : from_(from), item_(into...) {}
    [[nodiscard]] std::optional<T> result() noexcept { return std::move(item_); }

    bool attempt() {
      sched::this_fiber::interleave();
      return from_.take(item_);
    }
    bool watch(detail::watcher& me) noexcept {
      return from_.sent_.watch(me, [this](auto sent) { return from_.items(sent) > 0; });
    }
    bool unwatch(detail::watcher& me) noexcept { return from_.sent_.unwatch(me); }
    void pass_on() noexcept { from_.wake_receivers(); }

   private:
    channel& from_;
    Item item_;
  };
  /// A receive as a case of select(): see on_receive().
  using receive_case = receive_by<std::optional<T>>;

 private:
  static constexpr std::uint64_t never_full = std::uint64_t{1} << 60;

  static std::uint64_t checked(std::size_t capacity) {
    if (capacity > 0 && capacity <= never_full) return capacity;
    throw usage_error("channel: a capacity of " + std::to_string(capacity) +
                      "; 1 to 2^60 items are possible, or channel::unbounded");
  }

  send_result put(T& item) {
    const std::lock_guard held(sending_.lock);
    if (sending_.closed) return send_result::closed;
    if (sending_.count == sending_.limit) {
      sending_.limit = received_.look().count + capacity_;
      if (sending_.count == sending_.limit) return send_result::full;
    }
    items_.put(sending_.count, std::move(item));
    if (sent_.advance(++sending_.count)) wake_receivers();
    return send_result::sent;
  }
  /// \return whether a receive is done: `into` has an item, or has none and the channel is closed and empty.
  bool take(std::optional<T>& into) {
    const std::lock_guard held(receiving_.lock);
    if (receiving_.count == receiving_.limit) {
      const auto sent = sent_.look();
      receiving_.limit = sent.count;
      if (receiving_.count == receiving_.limit) return sent.closed;
    }
    into.emplace(items_.take(receiving_.count));
    if (received_.advance(++receiving_.count)) wake_senders();
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
  void wake_receivers() noexcept {
    sent_.wake([this](auto sent) { return items(sent); });
  }
  void wake_senders() noexcept {
    received_.wake([this](auto received) { return room(received); });
  }

  /// What the threads of one end have under its lock.
  struct end_state {
    spin_lock lock;
    bool closed = false;      ///< of the sending end
    std::uint64_t count = 0;  ///< items that have passed
    std::uint64_t limit = 0;  ///< up to which count no look at the other end is needed
  };

  const std::uint64_t capacity_;
  detail::item_store<T> items_;
  alignas(quiet_distance) end_state sending_;
  detail::passage sent_;
  alignas(quiet_distance) end_state receiving_;
  detail::passage received_;
};

}  // namespace sync

using sync::channel;
using sync::send_result;

}  // namespace v1
}  // namespace shunt
