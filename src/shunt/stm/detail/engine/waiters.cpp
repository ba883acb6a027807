#include <algorithm>
#include <functional>
#include <mutex>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/detail/engine/waiters.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

struct alignas(cache_line) retry_waiter::bucket {
  std::mutex lock;  // held for some ns; no thread waits for anything else while it holds it
  link* first = nullptr;
  link* last = nullptr;
};

retry_waiter::bucket& retry_waiter::bucket_of(const variable* v) noexcept {
  constexpr int bits = 8;
  static bucket all[1 << bits];
  return all[hash_of<bits>(v)];
}

retry_waiter::retry_waiter(std::vector<const variable*>& read) {
  std::sort(read.begin(), read.end(), std::less<>());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  links_.reserve(read.size());
  for (const variable* const v : read) links_.push_back({v, this});
}

void retry_waiter::unlink(bucket& b, link& l) noexcept {
  if (!l.in) return;
  (l.before == nullptr ? b.first : l.before->after) = l.after;
  (l.after == nullptr ? b.last : l.after->before) = l.before;
  l.in = false;
}

/// The link first, then WAITERS: a transaction that sees WAITERS must find the link.
bool retry_waiter::enlist(word limit) noexcept {
  for (link& l : links_) {
    {
      bucket& b = bucket_of(l.of);
      const std::scoped_lock held(b.lock);
      l.before = b.last;
      (b.last == nullptr ? b.first : b.last->after) = &l;
      b.last = &l;
      l.in = true;
    }
    ++enlisted_;
    test_point();
    auto seen = l.of->lock.load(std::memory_order_acquire);  // edge `word`
    for (;;) {
      if (seen > limit) {  // locked, or newer
        if (has(flaw::hasty_park)) break;
        return false;
      }
      if ((seen & waiters_bit) != 0) break;
      // release: the link, for the committing transaction. acquire on failure: edge `word`.
      if (l.of->lock.compare_exchange_weak(seen, seen | waiters_bit, std::memory_order_acq_rel,
                                           std::memory_order_acquire))
        break;
    }
  }
  return true;
}

/// Takes every bucket's lock, also where the link is out already: the thread that took it out holds the lock until it
/// has woken this waiter.
retry_waiter::~retry_waiter() {
  for (std::size_t i = 0; i < enlisted_; ++i) {
    bucket& b = bucket_of(links_[i].of);
    const std::scoped_lock held(b.lock);
    unlink(b, links_[i]);
  }
}

void wake_retrying(const variable* v) noexcept {
  auto& b = retry_waiter::bucket_of(v);
  const std::scoped_lock held(b.lock);
  for (auto* l = b.first; l != nullptr;) {
    auto* const next = l->after;
    if (l->of == v) {
      retry_waiter::unlink(b, *l);
      l->owner->wake();
    }
    l = next;
  }
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
