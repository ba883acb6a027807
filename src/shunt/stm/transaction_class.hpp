/// Which transactions are alike.
#pragma once

#include <atomic>
#include <source_location>

namespace shunt {
inline namespace v1 {
namespace stm {

namespace detail {
struct class_record;
struct stm_access;
}  // namespace detail

/// Transactions that are scheduled and counted together. Transactions without an explicit class form a class for each
/// type of body: each lambda expression has its own type, so such a class is a place in the source.
///
/// ```cpp
/// shunt::transaction_class transfers("transfers");
/// shunt::atomically(transfers, [&](shunt::tx& t) { t.write(mine, t.read(mine) - 1); });
/// ```
///
/// Classes of the same name are one class. Any number of threads may use one object.
class transaction_class {
 public:
  /// \param name  static text.
  explicit constexpr transaction_class(const char* name) noexcept : name_(name) {}
  transaction_class(const transaction_class&) = delete;
  transaction_class& operator=(const transaction_class&) = delete;

 private:
  friend struct detail::stm_access;
  /// Null: the record was not asked for yet.
  [[nodiscard]] detail::class_record* known() const noexcept {
    return record_.load(std::memory_order_acquire);  // edge `class`
  }
  [[nodiscard]] detail::class_record& record(const std::source_location& where) const {
    auto* const before = known();
    return before != nullptr ? *before : registered(where);
  }
  [[nodiscard, gnu::noinline]] detail::class_record& registered(const std::source_location& where) const;

  const char* name_;  // null: the place's
  /// Edge `class`: registered() (release) -> known() (acquire): the record.
  mutable std::atomic<detail::class_record*> record_{nullptr};
};

}  // namespace stm

using stm::transaction_class;

}  // namespace v1
}  // namespace shunt
