/// When handlers would run on so many cores. One thread calls all of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
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

  /// A message has been sent, by the handler that runs, or outside of all.
  void sent(const message& m, const actor& to);
  /// An actor has messages.
  void queue(actor& a);
  /// The actor that can begin first; null: none has messages.
  [[nodiscard]] actor* next() noexcept;
  void begins(const message& m, const actor& a);
  void ends(const message& m, const actor& a);
  [[nodiscard]] const simulated& found() const noexcept { return found_; }

 private:
  using time = std::chrono::nanoseconds;
  /// A point of virtual time, and the longest chain of handlers that ends there.
  struct moment {
    time at{}, chain{};
  };
  [[nodiscard]] time since_begin() const noexcept { return std::chrono::steady_clock::now() - began_; }
  [[nodiscard]] static moment take(std::unordered_map<const void*, moment>& from, const void* key);

  simulate on_;
  std::priority_queue<time, std::vector<time>, std::greater<>> cores_;  // when each is free
  std::unordered_map<const void*, moment> sent_;                        // by message
  std::unordered_map<const void*, moment> free_;                        // by actor: its last handler's end
  std::unordered_map<const void*, time> first_;                         // by actor: when its oldest message was sent
  std::multimap<time, actor*> ready_;
  bool running_ = false;
  moment now_;  // the running handler's beginning
  std::chrono::steady_clock::time_point began_;
  simulated found_;
};

}  // namespace detail
}  // namespace templet
}  // namespace v1
}  // namespace shunt
