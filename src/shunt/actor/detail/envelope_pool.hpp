/// A dispatcher's free envelopes.
///
///   envelope_pool   spare_  the envelope that was freed last: taken and given back without touching the list
///                   free_   a list of others
///   envelope_store  chains_ lists of envelopes that left a mailbox together, and the memory of all
///
/// The pool is the part that every message touches: two pointers at the front of the dispatcher. The store is the rest.
/// The owner's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <shunt/actor/detail/envelope.hpp>

namespace shunt {
inline namespace v1 {
namespace actor::detail {

/// Free envelopes that are linked to each other as a mailbox has left them. Kept whole for a mailbox that needs as
/// many: the end of a list is far to find, and its order in memory is the one that the prefetcher knows. The note lies
/// in the first of them.
struct envelope_chain {
  static constexpr int shortest = 8;
  envelope* last;
  envelope* next_chain;
  std::int64_t length;

  [[nodiscard]] static envelope_chain& of(envelope& first) noexcept {
    return *std::launder(reinterpret_cast<envelope_chain*>(first.arguments));
  }
};
static_assert(sizeof(envelope_chain) <= envelope::capacity && alignof(envelope_chain) <= envelope::alignment);

class envelope_pool;

/// Chains of free envelopes, and the memory of all envelopes.
class envelope_store {
 public:
  static constexpr std::size_t envelopes_a_block = 64;

 private:
  friend class envelope_pool;
  envelope* chains_ = nullptr;  // by envelope_chain::next_chain
  std::vector<std::unique_ptr<envelope[]>> blocks_;
};

class envelope_pool {
 public:
  /// Linked envelopes, the last of which is followed by no other one of them.
  struct run {
    envelope* first;
    envelope* last;
    std::int64_t length;
  };

  /// nullptr: none is at hand, take() has some.
  [[nodiscard, gnu::always_inline]] envelope* try_take() noexcept {
    envelope* e = spare_;
    if (e != nullptr) {
      spare_ = nullptr;
    } else {
      e = free_;
      if (e != nullptr) [[likely]]
        free_ = e->next;
    }
    return e;
  }

  /// \throws std::bad_alloc
  [[nodiscard]] envelope* take(envelope_store& more) {
    if (spare_ != nullptr) return std::exchange(spare_, nullptr);
    if (free_ == nullptr) refill(more);
    return std::exchange(free_, free_->next);
  }

  /// A chain, if one of at most `most` envelopes is at hand; else up to `some` envelopes from the list.
  /// \return at least one. \throws std::bad_alloc
  [[nodiscard]] run take_run(std::int64_t some, std::int64_t most, envelope_store& more) {
    if (envelope* const first = more.chains_; first != nullptr && envelope_chain::of(*first).length <= most) {
      const auto& whole = envelope_chain::of(*first);
      more.chains_ = whole.next_chain;
      return {first, whole.last, whole.length};
    }
    if (free_ == nullptr) refill(more);
    run taken{free_, free_, 1};
    for (; taken.length < some && taken.last->next != nullptr; ++taken.length) taken.last = taken.last->next;
    free_ = taken.last->next;
    return taken;
  }

  [[gnu::always_inline]] void give_back(envelope& e) noexcept {
    if (spare_ == nullptr) [[likely]] {
      spare_ = &e;
    } else {
      give_back(&e, &e);
    }
  }
  /// Linked ones.
  void give_back(envelope* first, envelope* last) noexcept {
    last->next = free_;
    free_ = first;
  }
  /// The same; a chain that is long enough is kept whole.
  void give_back(const run& r, envelope_store& to) noexcept {
    if (r.length < envelope_chain::shortest) return give_back(r.first, r.last);
    ::new (static_cast<void*>(r.first->arguments)) envelope_chain{r.last, to.chains_, r.length};
    to.chains_ = r.first;
  }

 private:
  [[gnu::noinline]] void refill(envelope_store& more);
  [[gnu::noinline, gnu::cold]] void buy(envelope_store& more);

  envelope* spare_ = nullptr;
  envelope* free_ = nullptr;
};

}  // namespace actor::detail
}  // namespace v1
}  // namespace shunt
