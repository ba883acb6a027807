#include <shunt/base/call_site.hpp>
#include <shunt/base/error.hpp>
#include <shunt/stm/detail/engine/registry.hpp>
#include <shunt/stm/detail/policy/policies.hpp>
#include <shunt/stm/policies.hpp>
#include <string>

namespace shunt {
inline namespace v1 {
namespace stm {

/// relaxed, all: policy; each word stands alone, and no other data depends on it. A class that is made meanwhile has
/// the new words: it is made under the registry's lock, which is also held where classes are reset.
void set_policies(const policies& wanted, std::source_location where) {
  if (wanted.workers < 0) {
    const call_site call("set_policies", where);
    throw usage_error(error_number(706),
                      "set_policies: workers: " + std::to_string(wanted.workers) + " is less than 0" + call.place(),
                      call.where());
  }
  auto& now = detail::the_policies;
  now.adapt.store(wanted.adapt, std::memory_order_relaxed);
  now.workers.store(wanted.workers, std::memory_order_relaxed);
  now.exclusive.store(wanted.exclusive, std::memory_order_relaxed);
  now.queue_losers.store(wanted.queue_losers, std::memory_order_relaxed);
  now.oldest_first.store(wanted.oldest_first, std::memory_order_relaxed);
  detail::the_registry().for_each_class([&](detail::class_record& c) { c.reset(wanted); });
}

policies current_policies() noexcept {
  // relaxed, all: policy; each word stands alone
  const auto& now = detail::the_policies;
  return {now.adapt.load(std::memory_order_relaxed), now.workers.load(std::memory_order_relaxed),
          now.exclusive.load(std::memory_order_relaxed), now.queue_losers.load(std::memory_order_relaxed),
          now.oldest_first.load(std::memory_order_relaxed)};
}

}  // namespace stm
}  // namespace v1
}  // namespace shunt
