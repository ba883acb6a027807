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
    looks_for_tokens_ = shared_token() != nullptr && descriptor() >= 0;
  }
  [[nodiscard]] poller* find(const std::type_info& kind) const noexcept {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const poller* one) { return typeid(*one) == kind; });
    return at == all_.end() ? nullptr : *at;
  }

  bool poll() override {
    bool moved = false;
    for (poller* const one : all_) moved |= one->poll();
    if (moved && looks_for_tokens_) last_moved_ = std::chrono::steady_clock::now();
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
    if (looks_for_tokens_) least = std::min(least, token_delay(std::chrono::steady_clock::now() - last_moved_));
    return least;
  }
  /// A token of another process does not end a sleep on descriptors. So such a sleep ends by itself, after an eighth of
  /// the time that nothing has moved: it makes no wait longer than by that.
  /// \param quiet  that time
  [[nodiscard]] static std::chrono::nanoseconds token_delay(std::chrono::nanoseconds quiet) noexcept {
    return std::clamp<std::chrono::nanoseconds>(quiet / 8, shortest_delay, longest_delay);
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
  static constexpr std::chrono::microseconds shortest_delay{20};  // about what a wake-up costs
  static constexpr std::chrono::milliseconds longest_delay{1};

  bool looks_for_tokens_ = false;  // other processes leave tokens, and the worker sleeps on a descriptor
  std::chrono::steady_clock::time_point last_moved_{};
  std::vector<poller*> all_;
  std::vector<std::unique_ptr<poller>> kept_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
