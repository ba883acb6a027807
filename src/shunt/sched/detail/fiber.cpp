#include <shunt/sched/detail/fiber.hpp>

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

#include <shunt/base/block.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/sched/detail/compact_stacks.hpp>
#include <shunt/sched/detail/debug_layout.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constexpr std::size_t batch = fiber::blocks_a_slab;
constexpr std::size_t kept_at_most = 4 * batch;

struct slab {
  fiber blocks[batch];  // not new fiber[]: its address would be stored nowhere, only that of the first block
};

static_assert(sizeof(slab) == batch * sizeof(fiber));  // debuggers read it so

/// A multiple of its size is its address.
struct compact_slab {
  fiber blocks[batch];
  frames_aside frames[batch];
};
static_assert(sizeof(frames_aside) == fiber::frames_bytes() && sizeof(compact_slab) <= fiber::compact_slab_bytes);
static_assert(huge_page % fiber::compact_slab_bytes == 0);

/// Never destroyed: wakers may outlive static destructors. Reachable, so no leak checker complains.
struct fiber_store {
  /// Memory for slabs of one kind. Once there are many, they lie side by side in huge pages. A worker that goes from
  /// fiber to fiber then needs a handful of entries of the translation cache for the blocks, and leaves the rest to the
  /// stacks.
  struct of_a_kind {
    fiber* free_fibers = nullptr;
    std::size_t slabs = 0;
    std::vector<block> memory;
    std::size_t left = 0;  // slabs in the last huge page
  };

  std::mutex lock;
  std::array<of_a_kind, 3> kinds;   // by fiber_cache::kind
  std::vector<fiber*> fiber_slabs;  // of all kinds: their first blocks
};

/// \return its first block.
template <typename Slab>
fiber* new_slab(fiber_store::of_a_kind& of, std::size_t bytes, std::size_t alignment) {
  const std::size_t slabs_per_huge_page = huge_page / bytes;
  std::byte* at = nullptr;
  if (of.slabs < slabs_per_huge_page) {
    at = of.memory.emplace_back(bytes, alignment).data();
  } else {
    if (of.left == 0) {
      of.memory.emplace_back(huge_page, alignment);
      of.left = slabs_per_huge_page;
    }
    at = of.memory.back().data() + bytes * (slabs_per_huge_page - of.left--);
  }
  ++of.slabs;
  return (::new (at) Slab)->blocks;
}

/// Shows it to debuggers, too. \throws std::bad_alloc
void add_slab(fiber_store& s, fiber_cache::kind kind) {
  auto& of = s.kinds[static_cast<std::size_t>(kind)];
  if (s.fiber_slabs.size() == s.fiber_slabs.capacity()) s.fiber_slabs.reserve(2 * s.fiber_slabs.size() + batch);
  const bool compact = kind == fiber_cache::kind::compact;
  fiber* const blocks = compact ? new_slab<compact_slab>(of, fiber::compact_slab_bytes, fiber::compact_slab_bytes)
                                : new_slab<slab>(of, sizeof(slab), cache_line);
  s.fiber_slabs.push_back(blocks);
  for (fiber& f : fiber_slab(blocks, batch)) {
    f.compact = compact;
    f.through_loop = kind != fiber_cache::kind::usual;
    if (kind == fiber_cache::kind::migrating) {
      f.migrates = true;
      f.moves = {};
    }
    f.link = of.free_fibers;
    of.free_fibers = &f;
  }
  show_slabs(s.fiber_slabs.data(), s.fiber_slabs.size(), batch);
}

fiber_store& the_fiber_store() {
  static fiber_store& s = *new fiber_store;
  return s;
}

}  // namespace

/// Without a block of its own it takes a batch from the store; an empty store first makes a slab of blocks.
fiber* fiber_cache::take() {
  if (free_ == nullptr) {
    auto& s = the_fiber_store();
    const std::scoped_lock held(s.lock);
    auto& of = s.kinds[static_cast<std::size_t>(kind_)];
    if (of.free_fibers == nullptr) add_slab(s, kind_);
    while (of.free_fibers != nullptr && count_ < batch) {
      fiber* const f = of.free_fibers;
      of.free_fibers = f->link;
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
  fiber*& free_fibers = s.kinds[static_cast<std::size_t>(kind_)].free_fibers;
  while (count_ > kept_at_most / 2) {
    fiber* const old = free_;
    free_ = old->link;
    old->link = free_fibers;
    free_fibers = old;
    --count_;
  }
}

fiber_cache::~fiber_cache() {
  if (free_ == nullptr) return;
  auto& s = the_fiber_store();
  const std::scoped_lock held(s.lock);
  fiber*& free_fibers = s.kinds[static_cast<std::size_t>(kind_)].free_fibers;
  while (free_ != nullptr) {
    fiber* const f = free_;
    free_ = f->link;
    f->link = free_fibers;
    free_fibers = f;
  }
}

fiber* fiber_caches::take(fiber_cache::kind of) { return all_[static_cast<std::size_t>(of)].take(); }

void fiber_caches::give(fiber* f) noexcept {
  all_[static_cast<std::size_t>(fiber_cache::kind_of(f->compact, f->migrates))].give(f);
}

std::vector<fiber_slab> all_fibers() {
  auto& s = the_fiber_store();
  const std::scoped_lock held(s.lock);
  std::vector<fiber_slab> all;
  all.reserve(s.fiber_slabs.size());
  for (fiber* const blocks : s.fiber_slabs) all.emplace_back(blocks, batch);
  return all;
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
