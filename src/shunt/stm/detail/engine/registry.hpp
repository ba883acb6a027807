/// All participants, and all classes of transactions, of the process.
#pragma once

#include <atomic>
#include <mutex>
#include <shunt/stm/detail/engine/attempt.hpp>
#include <shunt/stm/detail/engine/participant.hpp>
#include <shunt/stm/detail/policy/class_record.hpp>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace stm {

class tx;

namespace detail {

class registry {
 public:
  /// The participant of the calling thread, until it is given back: one that was given back before, or a new one.
  /// \throws std::bad_alloc
  [[nodiscard]] tx* take_participant();
  void give_back(participant& p) noexcept;

  /// Calls visit(const attempt&) for each participant that there ever was: they live as long as the process.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const participant* p = first(); p != nullptr; p = p->next) visit(static_cast<const attempt&>(*p));
  }
  [[nodiscard]] participant* first() const noexcept {
    return first_.load(std::memory_order_acquire);  // edge `registered`
  }
  /// Participants of threads that live.
  [[nodiscard]] int alive() const noexcept { return alive_.load(std::memory_order_relaxed); }  // relaxed: policy

  /// Made at the first call with that name. \throws std::bad_alloc
  [[nodiscard]] class_record& record_named(const std::string& name);
  /// Calls visit(class_record&) for each class, under the registry's lock.
  template <typename Visit>
  void for_each_class(const Visit& visit) {
    const std::scoped_lock held(lock_);
    for (class_record* c : classes_) visit(*c);
  }
  /// Commits of all threads.
  [[nodiscard]] std::uint64_t commits_of(const class_record& c) const noexcept;

  /// Further classes are counted together.
  static constexpr std::size_t most_classes = counts_table::chunks * counts_table::chunk_size;

 private:
  std::mutex lock_;
  /// Edge `registered`: take_participant() (release) -> first() (acquire): a new participant.
  std::atomic<participant*> first_{nullptr};
  std::atomic<int> alive_{0};
  std::uint32_t made_ = 0;
  std::vector<class_record*> classes_;  // never deleted: callers keep references as long as the process lives
};

/// Lives as long as the process: threads may end after static destructors.
[[nodiscard]] registry& the_registry() noexcept;

}  // namespace detail
}  // namespace stm
}  // namespace v1
}  // namespace shunt
