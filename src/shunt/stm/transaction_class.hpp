/// Which transactions are alike.
#pragma once

#include <atomic>
#include <source_location>

namespace shunt {
inline namespace v1 {

namespace stm::detail {
struct class_record;
}

/// Transactions that are scheduled, and counted, together. Without one, those of one body's type are: each lambda
/// expression is a type of its own, so that is the place in the source where it stands.
///
/// ```cpp
/// shunt::transaction_class transfers("transfers");
/// shunt::atomically(transfers, [&](shunt::tx& t) { ... });
/// ```
///
/// Classes of the same name are one. Any number of threads may use one object.
class transaction_class {
 public:
  /// \param name  static text.
  explicit constexpr transaction_class(const char* name) noexcept : name_(name) {}
  transaction_class(const transaction_class&) = delete;
  transaction_class& operator=(const transaction_class&) = delete;

 private:
  friend struct stm_access;
  /// Null: nobody has asked for its record yet.
  [[nodiscard]] stm::detail::class_record* known() const noexcept {
    return record_.load(std::memory_order_acquire);  // acquire: pairs with the store in registered()
  }
  [[nodiscard]] stm::detail::class_record& record(const std::source_location& where) const {
    auto* const before = known();
    return before != nullptr ? *before : registered(where);
  }
  [[nodiscard, gnu::noinline]] stm::detail::class_record& registered(const std::source_location& where) const;

  const char* name_;  // null: the place's
  mutable std::atomic<stm::detail::class_record*> record_{nullptr};
};

}  // namespace v1
}  // namespace shunt
