/// A fiber's control block, the queues it stands in, and the pool it comes from.
///
/// Invariants
///   fiber.F1  Blocks are type-stable: they come from slabs that live as long as the process, so that a waker may
///             touch `state`, `posted`, `home` and `wake_link` at any time. `compact` and `migrates` never change, so
///             a waker carries them. Everything else belongs to the fiber's present generation.
///   fiber.F2  A fiber stands in at most one queue, which uses `link` if it needs one: its worker's list of unstarted
///             or of migratable fibers, an inbox, the pool. Rings and deques hold pointers.
///   fiber.F3  Once started, a fiber runs on its home worker only. A fiber that migrates gets another home while it
///             is ready. Its home worker does that in its loop, where all registers of the fiber are saved. See
///             DESIGN.md.
///   fiber.F4  If `home` names a worker, only that worker's thread writes `started`; and from then until `started` is
///             false again, only that thread writes the rest. So that thread may look at all its fibers at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shunt/base/cache_line.hpp>
#include <shunt/context/stack_pool.hpp>
#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/fiber_state.hpp>
#include <shunt/sched/detail/posted_wake.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber_locals;
struct frames_aside;
struct remote;

/// A fiber's control block.
struct alignas(cache_line) fiber {
  // What a switch touches comes first, in one line.
  context::execution run;
  fiber_state state;
  bool started = false;                 // has a stack; fiber.F3 holds from here on
  bool compact = false;                 // spawn_options::compact; of the block, for ever
  posted_wake posted;                   // of a fiber that does not migrate
  bool through_loop : 1 = false;        // it migrates or is compact: each of its switches leads through the loop
  bool timed_out : 1 = false;           // its last park ended at its deadline
  bool migrates : 1 = false;            // spawn_options::migrates; of the block, for ever
  bool ended_away : 1 = false;          // it migrated, and has ended: goes back to first_worker
  bool even_without_stack : 1 = false;  // spawn_options::even_without_stack

  // What a wait touches, in the next line.
  fiber* link = nullptr;  // fiber.F2

  /// The worker where it runs, or must start; nullptr: not decided yet, or on the way between two workers. Atomic since
  /// a snapshot reads it in all blocks (fiber.F4). Relaxed: the queue that the fiber stands in hands it on.
  std::atomic<remote*> home{nullptr};

  // What it waits for, for reports; and what waits_for_end needs, which other threads read (deadlock.hpp).
  const char* waits_for = nullptr;  // text that lives while it is parked
  std::uint32_t since = 0;          // worker::now_ms_ when it parked last

  static constexpr std::uint32_t no_timer = ~std::uint32_t{0};
  std::uint32_t timer = no_timer;  // its place among its worker's deadlines

  std::atomic<fiber*> waits_on{nullptr};              // the fiber without whose end it never continues
  std::atomic<std::uint32_t> waits_on_generation{0};  // and the `generation` of that one
  std::atomic<std::uint32_t> generation{0};           // of this block: one higher when the fiber has ended

  void* scope = nullptr;  // this_fiber::scope()
  struct itinerary {
    std::uint32_t pins;         // while not 0 the fiber stays where it is: see this_fiber::stay
    std::int32_t first_worker;  // the worker that its stack comes from
  };
  union {
    fiber* wake_link = nullptr;  // of a fiber that does not migrate: the inbox's, for a posted wake
    itinerary moves;             // of one that does
  };

  // From its start and for its end.
  context::stack_pool::stack stack;  // until it has one: .bytes is what was asked for, 0: the runtime's
  fiber_locals* locals = nullptr;    // fiber_local's; ended by end_locals()
  std::function<void()> body;
  std::unique_ptr<const std::string> name;  // null: none

  [[nodiscard]] remote* where() const noexcept { return home.load(std::memory_order_relaxed); }  // relaxed: see `home`
  void set_home(remote* r) noexcept { home.store(r, std::memory_order_relaxed); }                // relaxed: see `home`
  [[nodiscard]] std::string_view called() const noexcept { return name ? std::string_view(*name) : std::string_view{}; }
  /// For `name`. \throws std::bad_alloc
  [[nodiscard]] static std::unique_ptr<const std::string> named(std::string text) {
    return text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text));
  }

  /// What a switch, a wait and a wake touch.
  void prefetch() const noexcept {
    __builtin_prefetch(this);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + cache_line);
  }
  /// For a ready fiber: where it parked, and the calls that led there. It will return from several of them.
  void prefetch_frames(std::size_t lines = 8) const noexcept {
    const auto* const innermost = static_cast<const char*>(run.sp);
    for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(innermost + i * cache_line);
  }

  // A compact block lies in a slab of 64 such blocks, and the places for their frames, in the same order. So their
  // address follows from the block's, and a wake fetches both at once.
  static constexpr std::size_t compact_slab_bytes = std::size_t{64} * 1024;  // and its alignment
  static constexpr std::size_t blocks_a_slab = 64;
  static inline constexpr std::size_t frames_bytes();
  /// Of a compact fiber: where its frames are put aside.
  [[nodiscard]] inline frames_aside* frames() const noexcept;
  /// For a compact fiber: fetches them. Any waker.
  inline void prefetch_aside() const noexcept;

  static waker waker_of(fiber* f) noexcept {
    return waker(f, (f->compact ? waker::compact : 0) | (f->migrates ? waker::migrates : 0));
  }
  /// The fiber itself, and its worker when a deadline has passed: fiber_state.hpp, in the way that this block takes.
  after_park commit_park() noexcept { return migrates ? state.commit_park() : state.commit_park_at_home(); }
  after_wake expire() noexcept { return migrates ? state.expire() : state.expire_at_home(); }
  [[nodiscard]] bool pinned() const noexcept { return migrates && moves.pins != 0; }
  /// The running fiber stays on this worker until unpin() was called as often.
  void pin() noexcept {
    if (migrates) ++moves.pins;
  }
  void unpin() noexcept {
    if (migrates) --moves.pins;
  }
  /// \param f  a fiber of this thread, or one that cannot end meanwhile.
  static fiber_id id_of(fiber* f) noexcept {
    return {f, f->generation.load(std::memory_order_relaxed)};  // relaxed: it changes at the fiber's end only
  }
  static fiber* behind(const fiber_id& id) noexcept { return id.fiber_; }
  static std::uint32_t generation_of(const fiber_id& id) noexcept { return id.generation_; }
  static fiber* behind(const waker& w) noexcept { return w.fiber(); }
};
// What a parked fiber costs beside its stack.
static_assert(sizeof(void*) != 8 || sizeof(fiber) == 3 * cache_line);

constexpr std::size_t fiber::frames_bytes() {
  return (compact_slab_bytes / blocks_a_slab - sizeof(fiber)) / cache_line * cache_line;
}
inline frames_aside* fiber::frames() const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(this);
  const auto slab = at / compact_slab_bytes * compact_slab_bytes;
  const auto number = (at - slab) / sizeof(fiber);
  return reinterpret_cast<frames_aside*>(slab + blocks_a_slab * sizeof(fiber) + number * frames_bytes());
}
inline void fiber::prefetch_aside() const noexcept {
  constexpr std::size_t lines_of_most_waits = 8;
  const auto* const at = reinterpret_cast<const char*>(frames());
  for (std::size_t i = 0; i < lines_of_most_waits; ++i) __builtin_prefetch(at + i * cache_line);
}

/// Destroys the fiber_local values of `me`: the running fiber, at its end, on its own stack.
void end_locals(fiber& me) noexcept;

/// First in, first out. It needs no memory (fiber.F2), so nothing here fails. One thread.
class fiber_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push(fiber* f) noexcept {
    f->link = nullptr;
    (head_ == nullptr ? head_ : tail_->link) = f;
    tail_ = f;
    ++size_;
  }
  void push_front(fiber* f) noexcept {
    if (head_ == nullptr) tail_ = f;
    f->link = std::exchange(head_, f);
    ++size_;
  }

  [[nodiscard]] const fiber* front() const noexcept { return head_; }  ///< null: none
  [[nodiscard]] fiber* pop() noexcept {
    fiber* const f = head_;
    head_ = f->link;
    --size_;
    return f;
  }

 private:
  fiber* head_ = nullptr;
  fiber* tail_ = nullptr;  // meaningless while empty
  std::size_t size_ = 0;
};

/// Blocks for one thread, which takes them from a common store and gives them back, in batches.
class fiber_cache {
 public:
  enum class kind : std::uint8_t { usual, compact, migrating };
  /// Of a fiber's block; both are never true.
  [[nodiscard]] static constexpr kind kind_of(bool compact, bool migrates) noexcept {
    return compact ? kind::compact : migrates ? kind::migrating : kind::usual;
  }

  explicit fiber_cache(kind of = kind::usual) noexcept : kind_(of) {}
  ~fiber_cache();
  fiber_cache(const fiber_cache&) = delete;
  fiber_cache& operator=(const fiber_cache&) = delete;

  /// \throws std::bad_alloc
  [[nodiscard]] fiber* take();
  void give(fiber* f) noexcept;

 private:
  fiber* free_ = nullptr;
  std::size_t count_ = 0;
  const kind kind_;
};

/// A cache for each kind.
class fiber_caches {
 public:
  /// \throws std::bad_alloc
  [[nodiscard]] fiber* take(fiber_cache::kind of);
  void give(fiber* f) noexcept;

 private:
  std::array<fiber_cache, 3> all_{fiber_cache(fiber_cache::kind::usual), fiber_cache(fiber_cache::kind::compact),
                                  fiber_cache(fiber_cache::kind::migrating)};
};

/// Blocks that lie side by side, used or not.
using fiber_slab = std::span<fiber>;
/// Any thread. Every slab of the process: a fiber made before the call lies in one of them. \throws std::bad_alloc
[[nodiscard]] std::vector<fiber_slab> all_fibers();

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
