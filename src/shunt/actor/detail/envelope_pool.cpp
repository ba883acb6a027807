#include <shunt/actor/detail/envelope_pool.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Puts more into the list of free envelopes, which has none: a chain that is too long for the mailbox that asks, or a
/// new block.
void envelope_pool::refill(envelope_store& more) {
  if (more.chains_ == nullptr) return buy(more);
  envelope* const first = more.chains_;
  const envelope_chain whole = envelope_chain::of(*first);
  more.chains_ = whole.next_chain;
  give_back(first, whole.last);
}

void envelope_pool::buy(envelope_store& more) {
  more.blocks_.push_back(nullptr);
  try {
    more.blocks_.back() = std::make_unique_for_overwrite<envelope[]>(envelope_store::envelopes_a_block);
  } catch (...) {
    more.blocks_.pop_back();
    throw;
  }
  for (std::size_t i = envelope_store::envelopes_a_block; i > 0; --i) {
    envelope& fresh = more.blocks_.back()[i - 1];
    fresh.next = nullptr;  // a report may follow a list amid a change: each link is null, or another of our envelopes
    fresh.ops = nullptr;
    give_back(fresh);
  }
}

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
