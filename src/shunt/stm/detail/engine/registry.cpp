#include <cstddef>
#include <new>
#include <shunt/stm/detail/engine/registry.hpp>
#include <shunt/stm/policies.hpp>
#include <shunt/stm/tx.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

registry& the_registry() noexcept {
  alignas(registry) static std::byte room[sizeof(registry)];  // never destroyed, and needs no memory from the heap
  static registry& r = *::new (room) registry;
  return r;
}

/// One that a thread has given back, if there is one: participants are never deleted, and every look visits them all.
tx* registry::take_participant() {
  const std::scoped_lock held(lock_);
  for (participant* p = first_.load(std::memory_order_relaxed); p != nullptr; p = p->next) {  // relaxed: under the lock
    if (p->in_use) continue;
    p->in_use = true;
    alive_.fetch_add(1, std::memory_order_relaxed);  // relaxed: policy
    return static_cast<tx*>(p);
  }
  tx* const made = new tx(made_++);
  participant* const p = made;
  p->next = first_.load(std::memory_order_relaxed);  // relaxed: under the lock
  first_.store(p, std::memory_order_release);        // edge `registered`
  alive_.fetch_add(1, std::memory_order_relaxed);    // relaxed: policy
  return made;
}

void registry::give_back(participant& p) noexcept {
  const std::scoped_lock held(lock_);
  alive_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: policy
  p.in_use = false;
}

std::uint64_t registry::commits_of(const class_record& c) const noexcept {
  std::uint64_t sum = 0;
  for_each([&](const attempt& a) {
    if (const counts* const n = a.counts.seen(c.id)) sum += n->committed([&] { return a.number(); });
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
