/// What happens next.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "picoseconds.hpp"

namespace shunt::simulate {

struct event {
  enum class kind : std::uint8_t { worker_goes_on, train_arrives, credit_returns, transfer_begins, transfers_change };
  picoseconds at = 0;
  std::int32_t worker = 0;     ///< whose event it is
  std::uint64_t sequence = 0;  ///< in which it was added
  kind what{};
  std::uint32_t about = 0;  ///< a train's number
};

/// Events by time; of one time by worker, and then as they were added: so the same input gives the same order.
class event_queue {
 public:
  void add(picoseconds at, std::int32_t worker, event::kind what, std::uint32_t about = 0) {
    heap_.push({at, worker, added_++, what, about});
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  event next() {
    const event e = heap_.top();
    heap_.pop();
    return e;
  }
  /// So far.
  [[nodiscard]] std::uint64_t added() const noexcept { return added_; }

 private:
  struct later {
    bool operator()(const event& a, const event& b) const noexcept {
      return std::tie(a.at, a.worker, a.sequence) > std::tie(b.at, b.worker, b.sequence);
    }
  };
  std::priority_queue<event, std::vector<event>, later> heap_;
  std::uint64_t added_ = 0;
};

}  // namespace shunt::simulate
