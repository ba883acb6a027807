/// A fiber's control block, the queues it stands in, and the pool it comes from.
///
/// Invariants
///   F1  Blocks are type-stable: they come from slabs that live as long as the process, so that a
///       waker may touch `state` at any time. Everything else belongs to the fiber's present life.
///   F2  A fiber stands in at most one queue, and `link` is that queue's if it needs one: its worker's
///       newcomers, an inbox, the pool; rings and deques hold pointers.
///   F3  Once started, it runs on its home worker only. One that migrates gets another home while it is ready, by
///       its home worker, which is in its loop then: so all its registers are saved. See DESIGN.md.
///   F4  Of a block that `home` says to be a worker's, `started` is written by that worker's thread only, and so
///       is everything else from then until it is false again: that thread may look at all its fibers at any time.
#pragma once

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
#include <shunt/sched/detail/inbox.hpp>
#include <shunt/sched/detail/parker.hpp>
#include <shunt/sched/waker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber;
struct fiber_locals;

/// A worker's address for others. Type-stable like fibers: a thread that woke a fiber may still
/// touch its worker's post when that fiber, and the runtime with it, has ended.
struct post {
  alignas(quiet_distance) inbox<fiber> mail;
  parker bed;
  post* next_free = nullptr;
  std::int32_t worker = -1;      // its number, for debuggers
  std::atomic<bool> fed{false};  // a thread that is no worker has woken a fiber here: others may do so again

  /// Any thread.
  void send(fiber* f) noexcept {
    if (mail.push(f) == after_push::wake) bed.unpark();
  }
  /// Any thread.
  void unpark() noexcept {
    if (mail.unpark() == after_push::wake) bed.unpark();
  }
};

struct alignas(cache_line) fiber {
  // What a switch touches comes first, in one line.
  context::execution run;
  fiber_state state;                    // the only member that a stale waker touches (F1)
  bool started = false;                 // has a stack; F3 holds from here on
  bool timed_out = false;               // its last park ended because its time was over
  bool migrates = false;                // spawn_options::migrates
  bool over : 1 = false;                // it migrated, and has ended: goes to its birthplace
  bool even_without_stack : 1 = false;  // spawn_options::even_without_stack

  // What a wait touches, in the next line.
  fiber* link = nullptr;  // F2

  /// Where it runs, or must start; nullptr: not decided yet, or nobody's. Atomic for F4's sake, who looks at all
  /// blocks; apart from that relaxed, like a plain word: what hands the fiber on is the queue it stands in.
  std::atomic<post*> home{nullptr};

  // What it waits for, for people; and what waits_for_end needs, which others read (deadlock.hpp).
  const char* waits_for = nullptr;  // text that lives while it is parked
  std::uint32_t since = 0;          // worker::now_ms_ when it parked last

  static constexpr std::uint32_t no_timer = ~std::uint32_t{0};
  std::uint32_t timer = no_timer;  // its place among its worker's deadlines

  std::atomic<fiber*> waits_on{nullptr};  // the fiber without whose end it never goes on
  std::atomic<std::uint32_t> on_life{0};  // and that one's `life`
  std::atomic<std::uint32_t> life{0};     // of this block: one higher when the fiber has ended

  void* scope = nullptr;        // this_fiber::scope()
  std::uint32_t pins = 0;       // while not 0 it stays where it is: see this_fiber::stay
  std::int32_t birthplace = 0;  // the worker whose stack it has; of one that migrates

  // From its start and for its end.
  context::stack_pool::stack stack;  // until it has one: .bytes is what was asked for, 0: the runtime's
  fiber_locals* locals = nullptr;    // fiber_local's; ended by end_locals()
  std::function<void()> body;
  std::unique_ptr<const std::string> name;  // null: none

  [[nodiscard]] post* where() const noexcept { return home.load(std::memory_order_relaxed); }  // see `home`
  void belongs_to(post* p) noexcept { home.store(p, std::memory_order_relaxed); }              // likewise
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
  /// Of one that waits to go on: where it parked, and the calls that led there, of which it will return from several.
  void prefetch_frames() const noexcept {
    constexpr std::size_t lines = 8;
    const auto* const innermost = static_cast<const char*>(run.sp);
    for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(innermost + i * cache_line);
  }

  static waker waker_of(fiber* f) noexcept { return waker(f); }
  /// This thread's, or one that cannot end meanwhile.
  static fiber_id id_of(fiber* f) noexcept {
    return {f, f->life.load(std::memory_order_relaxed)};  // relaxed: it changes at the end only
  }
  static fiber* behind(const fiber_id& id) noexcept { return id.fiber_; }
  static std::uint32_t life_of(const fiber_id& id) noexcept { return id.life_; }
  static fiber* behind(const waker& w) noexcept { return w.fiber_; }
};
// What a parked fiber costs beside its stack.
static_assert(sizeof(void*) != 8 || sizeof(fiber) == 3 * cache_line);

/// The running fiber's, at its end, on its own stack.
void end_locals(fiber& me) noexcept;

/// First in, first out; by F2 it needs no memory, so nothing here fails.
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

/// Blocks for one thread, taken from and given back to a common store in batches.
class fiber_cache {
 public:
  fiber_cache() = default;
  ~fiber_cache();
  fiber_cache(const fiber_cache&) = delete;
  fiber_cache& operator=(const fiber_cache&) = delete;

  /// \throws std::bad_alloc
  [[nodiscard]] fiber* take();
  void give(fiber* f) noexcept;

 private:
  fiber* free_ = nullptr;
  std::size_t count_ = 0;
};

/// Blocks that lie side by side, used or not.
using fiber_slab = std::span<fiber>;
/// Every one of the process: a fiber made before the call lies in one of them. \throws std::bad_alloc
[[nodiscard]] std::vector<fiber_slab> all_fibers();

/// \throws std::bad_alloc
[[nodiscard]] post* take_post();
void give_post(post* p) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
