#include <algorithm>
#include <functional>
#include <mutex>
#include <shunt/base/cache_line.hpp>
#include <shunt/stm/detail/waiters.hpp>

namespace shunt {
inline namespace v1 {
namespace stm::detail {

struct alignas(cache_line) reading_waiter::bucket {
  std::mutex lock;  // held for some ns, by nobody who waits
  link* first = nullptr;
  link* last = nullptr;
};

reading_waiter::bucket& reading_waiter::bucket_of(const variable* v) noexcept {
  constexpr std::size_t buckets = 256;
  static bucket all[buckets];
  return all[(reinterpret_cast<std::uintptr_t>(v) >> 4) * 0x9E3779B97F4A7C15U >> 56];
}

reading_waiter::reading_waiter(std::vector<const variable*>& read) {
  std::sort(read.begin(), read.end(), std::less<>());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  links_.reserve(read.size());
  for (const variable* const v : read) links_.push_back({v, this});
}

void reading_waiter::take_out(bucket& b, link& l) noexcept {
  if (!l.in) return;
  (l.before == nullptr ? b.first : l.before->after) = l.after;
  (l.after == nullptr ? b.last : l.after->before) = l.before;
  l.in = false;
}

bool reading_waiter::stand_in(word limit) noexcept {
  for (link& l : links_) {
    {
      bucket& b = bucket_of(l.of);
      const std::scoped_lock held(b.lock);
      l.before = b.last;
      (b.last == nullptr ? b.first : b.last->after) = &l;
      b.last = &l;
      l.in = true;
    }
    ++stands_;
    test_point();
    auto seen = l.of->lock.load(std::memory_order_acquire);
    for (;;) {
      if (seen > limit) {  // locked, or newer
        if (has(flaw::hasty_park)) break;
        return false;
      }
      if ((seen & waiters_bit) != 0) break;
      // release: the link, for who commits. acquire on failure: edge `word`.
      if (l.of->lock.compare_exchange_weak(seen, seen | waiters_bit, std::memory_order_acq_rel,
                                           std::memory_order_acquire))
        break;
    }
  }
  return true;
}

/// Every bucket's lock is taken, also where the link has been taken out: who did so still held it when it woke us.
reading_waiter::~reading_waiter() {
  for (std::size_t i = 0; i < stands_; ++i) {
    bucket& b = bucket_of(links_[i].of);
    const std::scoped_lock held(b.lock);
    take_out(b, links_[i]);
  }
}

void wake_readers_of(const variable* v) noexcept {
  using waiter = reading_waiter;
  auto& b = waiter::bucket_of(v);
  const std::scoped_lock held(b.lock);
  for (auto* l = b.first; l != nullptr;) {
    auto* const next = l->after;
    if (l->of == v) {
      waiter::take_out(b, *l);
      l->who->sleeps.wake();
    }
    l = next;
  }
}

}  // namespace stm::detail
}  // namespace v1
}  // namespace shunt
