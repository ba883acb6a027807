/// The pollers of one worker, which together look like one poller. Owner only: the worker's thread, or any thread while
/// run() does not run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include <shunt/sched/detail/worker_state.hpp>
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

  /// Room for one more: the next keep() cannot fail. \throws std::bad_alloc
  void reserve_kept() { kept_.reserve(kept_.size() + 1); }
  /// Destroys `one` with this object.
  void keep(std::unique_ptr<poller> one) noexcept { kept_.push_back(std::move(one)); }

  /// The worker's loop asks, from now on, the one poller that stands for them all.
  void show_in(worker_state& state) noexcept {
    state.outside = all_.empty() ? nullptr : all_.size() == 1 ? all_.front() : this;
    state.mark = mark();
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
  /// Arms all of them, or none.
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
    // A token of another process does not end a sleep on descriptors.
    if (shared_token() != nullptr && descriptor() >= 0) least = std::min<std::chrono::nanoseconds>(least, token_delay);
    return least;
  }
  /// At most one of them has a descriptor: see runtime::attach().
  [[nodiscard]] int descriptor() const noexcept override {
    for (const poller* const one : all_) {
      if (one->descriptor() >= 0) return one->descriptor();
    }
    return -1;
  }
  [[nodiscard]] bool fed_from_outside() const noexcept override {
    return std::any_of(all_.begin(), all_.end(), [](const poller* one) { return one->fed_from_outside(); });
  }
  /// At most one of them has one.
  [[nodiscard]] std::atomic<std::uint32_t>* shared_token() const noexcept override {
    for (const poller* const one : all_) {
      if (auto* const its = one->shared_token()) return its;
    }
    return nullptr;
  }
  /// At most one of them has a mark.
  [[nodiscard]] std::uint32_t mark() const noexcept override {
    for (const poller* const one : all_) {
      if (const auto its = one->mark()) return its;
    }
    return 0;
  }

 private:
  static constexpr std::chrono::milliseconds token_delay{1};

  std::vector<poller*> all_;
  std::vector<std::unique_ptr<poller>> kept_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
