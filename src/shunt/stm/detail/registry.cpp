#include <cstddef>
#include <new>
#include <shunt/stm/detail/registry.hpp>
#include <shunt/stm/tx.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

registry& the_registry() noexcept {
  alignas(registry) static std::byte room[sizeof(registry)];  // never destroyed, and no memory to be found for it
  static registry& r = *::new (room) registry;
  return r;
}

tx* registry::take_participant() {
  const std::scoped_lock held(lock_);
  for (participant* p = first_.load(std::memory_order_relaxed); p != nullptr; p = p->next) {  // relaxed: under the lock
    if (p->in_use) continue;
    p->in_use = true;
    alive_.fetch_add(1, std::memory_order_relaxed);  // relaxed: policy
    return static_cast<tx*>(p);
  }
  tx* const made = new tx(made_++);
  made->next = first_.load(std::memory_order_relaxed);
  first_.store(made, std::memory_order_release);   // edge: it was made
  alive_.fetch_add(1, std::memory_order_relaxed);  // relaxed: policy
  return made;
}

void registry::give_back(tx* t) noexcept {
  const std::scoped_lock held(lock_);
  alive_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: policy
  t->in_use = false;
}

std::uint64_t registry::commits_of(const class_record& c) const noexcept {
  std::uint64_t sum = 0;
  for_each([&](const tx& t) {
    if (const counts* const n = t.counts_seen(c)) sum += n->committed([&] { return t.number(); });
  });
  return sum;
}

class_record& registry::record_named(const std::string& name) {
  const std::scoped_lock held(lock_);
  for (class_record* c : classes_) {
    if (c->name == name) return *c;
  }
  if (classes_.size() == most_classes) return *classes_.back();
  const bool last = classes_.size() + 1 == most_classes;
  classes_.reserve(classes_.size() + 1);
  auto* const made = new class_record(static_cast<std::uint32_t>(classes_.size()), last ? "all others" : name);
  made->reset(current_policies());
  classes_.push_back(made);
  return *made;
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
