#include <shunt/sched/detail/fiber.hpp>

#include <mutex>
#include <new>
#include <vector>

#include <shunt/base/block.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/sched/detail/debug_layout.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constexpr std::size_t batch = 64;
constexpr std::size_t kept_at_most = 4 * batch;

struct slab {
  fiber blocks[batch];  // not new fiber[]: its address would be stored nowhere, only that of the first block
};

constexpr std::size_t slabs_per_huge_page = huge_page / sizeof(slab);

/// Never destroyed: wakers may outlive static destructors. Reachable, so no leak checker complains.
struct fiber_store {
  std::mutex lock;
  fiber* free_fibers = nullptr;
  std::vector<slab*> fiber_slabs;
  // Once there are many slabs, they lie side by side in huge pages. A worker that goes from fiber to fiber then needs a
  // handful of entries of the translation cache for the blocks, and leaves the rest to the stacks.
  std::vector<block> huge_pages;
  std::size_t slabs_left = 0;  // in the last huge page
};

slab* new_slab(fiber_store& s) {
  if (s.fiber_slabs.size() < slabs_per_huge_page) return new slab;
  if (s.slabs_left == 0) {
    s.huge_pages.emplace_back(huge_page, cache_line);
    s.slabs_left = slabs_per_huge_page;
  }
  return ::new (s.huge_pages.back().data() + sizeof(slab) * (slabs_per_huge_page - s.slabs_left--)) slab;
}

fiber_store& the_fiber_store() {
  static fiber_store& s = *new fiber_store;
  return s;
}

}  // namespace

/// Without a block of its own it takes a batch from the store; an empty store first makes a slab of blocks, and shows
/// it to debuggers.
fiber* fiber_cache::take() {
  if (free_ == nullptr) {
    auto& s = the_fiber_store();
    const std::scoped_lock held(s.lock);
    if (s.free_fibers == nullptr) {
      if (s.fiber_slabs.size() == s.fiber_slabs.capacity()) s.fiber_slabs.reserve(2 * s.fiber_slabs.size() + batch);
      s.fiber_slabs.push_back(new_slab(s));
      for (fiber& f : s.fiber_slabs.back()->blocks) {
        f.link = s.free_fibers;
        s.free_fibers = &f;
      }
      static_assert(sizeof(s.fiber_slabs[0]) == sizeof(slab*) && sizeof(slab) == batch * sizeof(fiber));
      show_slabs(s.fiber_slabs.data(), s.fiber_slabs.size(), batch);
    }
    while (s.free_fibers != nullptr && count_ < batch) {
      fiber* const f = s.free_fibers;
      s.free_fibers = f->link;
      f->link = free_;
      free_ = f;
      ++count_;
    }
  }
  fiber* const f = free_;
  free_ = f->link;
  --count_;
  return f;
}

/// Keeps the block. Half of what is too many goes back to the store, so that a worker that only ends fibers locks
/// seldom.
void fiber_cache::give(fiber* f) noexcept {
  f->link = free_;
  free_ = f;
  if (++count_ <= kept_at_most) return;
  auto& s = the_fiber_store();
  const std::scoped_lock held(s.lock);
  while (count_ > kept_at_most / 2) {
    fiber* const old = free_;
    free_ = old->link;
    old->link = s.free_fibers;
    s.free_fibers = old;
    --count_;
  }
}

fiber_cache::~fiber_cache() {
  if (free_ == nullptr) return;
  auto& s = the_fiber_store();
  const std::scoped_lock held(s.lock);
  while (free_ != nullptr) {
    fiber* const f = free_;
    free_ = f->link;
    f->link = s.free_fibers;
    s.free_fibers = f;
  }
}

std::vector<fiber_slab> all_fibers() {
  auto& s = the_fiber_store();
  const std::scoped_lock held(s.lock);
  std::vector<fiber_slab> all;
  all.reserve(s.fiber_slabs.size());
  for (const auto& each : s.fiber_slabs) all.emplace_back(each->blocks);
  return all;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
