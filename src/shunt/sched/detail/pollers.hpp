/// Several pollers of one worker, as one. All of it is that worker's thread's, or nobody runs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <typeinfo>
#include <vector>

#include <shunt/sched/poller.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class pollers final : public poller {
 public:
  /// \throws std::bad_alloc
  void add(poller& one) { all_.push_back(&one); }
  void remove(const poller& one) noexcept { std::erase(all_, &one); }

  /// What stands for them all; nullptr: there is none.
  [[nodiscard]] poller* together() noexcept {
    if (all_.empty()) return nullptr;
    return all_.size() == 1 ? all_.front() : this;
  }
  [[nodiscard]] poller* find(const std::type_info& kind) const noexcept {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const poller* one) { return typeid(*one) == kind; });
    return at == all_.end() ? nullptr : *at;
  }

  bool poll() override {
    bool moved = false;
    for (poller* const one : all_) moved |= one->poll();
    return moved;
  }
  /// All of them, or none.
  bool arm() override {
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      if ((*at)->arm()) continue;
      std::for_each(all_.begin(), at, [](poller* armed) { armed->disarm(); });
      return false;
    }
    return true;
  }
  void disarm() override {
    for (poller* const one : all_) one->disarm();
  }
  std::chrono::nanoseconds patience() override {
    auto least = std::chrono::nanoseconds::max();
    for (poller* const one : all_) least = std::min(least, one->patience());
    return least;
  }
  /// There is one at most: see runtime::attach().
  [[nodiscard]] int descriptor() const noexcept override {
    for (const poller* const one : all_) {
      if (one->descriptor() >= 0) return one->descriptor();
    }
    return -1;
  }
  /// Likewise.
  [[nodiscard]] std::uint32_t mark() const noexcept override {
    for (const poller* const one : all_) {
      if (const auto its = one->mark()) return its;
    }
    return 0;
  }

 private:
  std::vector<poller*> all_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
