/// When handlers would run on so many cores. One thread calls all of it.
///
/// The run makes the calls of handlers in the order of their beginnings, so what is sent is sent at or after the
/// beginning of the call that is made: the message which could begin first is among those that have arrived.
///
/// Invariants
///   virtual_time.V1  A mailbox has its messages in the order in which they were sent, in virtual time.
///   virtual_time.V2  An actor that has messages is in `ready_`, at the time when its first one could begin, unless its
///                    handler runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include <shunt/templet/simulate.hpp>

namespace shunt {
inline namespace v1 {
namespace templet {
namespace detail {

class virtual_time {
 public:
  explicit virtual_time(const simulate& on);

  /// The handler that runs has sent a message.
  void sent(const message& m);
  /// A message has come out of its actor's inbox. One of which sent() has not told was sent before the run.
  void arrived(message& m, actor& a);
  struct call {
    message* arrived;  // null: no actor has messages
    actor* to;
  };
  /// Takes the message whose handler can begin first.
  [[nodiscard]] call next();
  /// The handler of that one.
  void begins(const message& m, const actor& a);
  void ends(const actor& a);
  /// When the handler has ended, or was not called: what is left for the actor can begin.
  void queue(actor& a);
  [[nodiscard]] const simulated& found() const noexcept { return found_; }

 private:
  using time = std::chrono::nanoseconds;
  /// A point of virtual time, and the longest chain of handlers that ends there.
  struct moment {
    time at{}, chain{};
  };
  [[nodiscard]] time since_begin() const noexcept { return std::chrono::steady_clock::now() - began_; }
  struct sent_message {
    message* m;
    moment sent;
  };
  struct mailbox {
    std::multimap<time, sent_message> waiting;  // by when they were sent, then in the order of sends
    moment free;                                // its last handler's end
    std::optional<std::multimap<time, actor*>::iterator> ready;
  };

  simulate on_;
  std::priority_queue<time, std::vector<time>, std::greater<>> cores_;  // when each is free
  std::unordered_map<const message*, moment> sent_;                     // those that have not arrived
  std::unordered_map<const actor*, mailbox> mailboxes_;
  std::multimap<time, actor*> ready_;  // by when the first message could begin
  moment now_;                         // the running handler's beginning
  std::chrono::steady_clock::time_point began_;
  simulated found_;
};

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
