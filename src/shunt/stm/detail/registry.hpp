/// Everybody who takes part, and every class.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <shunt/stm/detail/class_record.hpp>
#include <shunt/stm/detail/participant.hpp>
#include <shunt/stm/statistics.hpp>
#include <shunt/stm/tx.hpp>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

class registry {
 public:
  /// For the calling thread, until given back; one that was given back before, or a new one. \throws std::bad_alloc
  [[nodiscard]] tx* take_participant();
  void give_back(tx* t) noexcept;

  /// For each that ever was: they live as long as the process. `visit` takes a const tx&.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const participant* p = first(); p != nullptr; p = p->next) visit(static_cast<const tx&>(*p));
  }
  [[nodiscard]] participant* first() const noexcept {
    return first_.load(std::memory_order_acquire);  // edge: it was made
  }
  [[nodiscard]] int alive() const noexcept { return alive_.load(std::memory_order_relaxed); }  // relaxed: policy

  /// Made at the first call. \throws std::bad_alloc
  [[nodiscard]] class_record& record_named(const std::string& name);
  [[nodiscard]] stm::statistics statistics();
  [[nodiscard]] std::uint64_t commits_of(const class_record& c) const noexcept;
  template <typename Visit>
  void for_each_class(const Visit& visit) {
    const std::scoped_lock held(lock_);
    for (class_record* c : classes_) visit(*c);
  }

  static constexpr std::size_t most_classes = 4096;  // further ones are counted together

 private:
  std::mutex lock_;
  std::atomic<participant*> first_{nullptr};
  std::atomic<int> alive_{0};
  std::uint32_t made_ = 0;
  std::vector<class_record*> classes_;  // never deleted: callers keep references as long as the process lives
};

/// Lives as long as the process: threads may end after static destructors.
[[nodiscard]] registry& the_registry() noexcept;

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
