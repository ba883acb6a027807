/// A worker's jobs: its fibers push and take back at the tail, thieves steal at the head.
///
///        head_                    tail_        limit_
///          v                        v            v
///   ....   | oldest | gap | newest  |   free     |  spare       slot = position & (Slots - 1)
///          ^ steal          take ^    ^ push
///
/// The fiber that pushed a job takes it back. Fibers of one worker share its ring, so a fiber that returns from a wait
/// may find jobs of other fibers above its own. Its take then leaves a gap (a null slot).
///
/// Invariants
///   job_ring.J1  Only the owner's thread stores tail_ and the slots.
///   job_ring.J2  head_ is stored under lock_ only. Outside of the lock it may be one too large for a moment, while a
///                thief tries; under the lock it is exact.
///   job_ring.J3  Slots [head_, tail_) hold jobs and gaps, at most Slots of them: limit_ <= head_ + Slots-2, a push
///                may overshoot limit_ by one, and job_ring.J2 takes the other spare slot.
///   job_ring.J4  A job stands in one slot, under the position that push() gave. Positions are given again only after
///                the job that had them was taken back.
///   job_ring.J5  limit_ is 0 while a sleeper wants to hear of the next push, and in the beginning.
///
/// Edges
///   pushed   push -> steal    the jobs' contents. Every store of tail_ that leaves a job below it releases, also a
///                             take's: a thief may find an older job through it, and it continues no release sequence
///                             of the pushes before it. Since C++20 only read-modify-writes do.
///   wanted   want -> push     a sleeper's announcement (seq_cst RMWs of limit_, by their order: the owner's own zeros
///                             may come between)
///
/// The two pairs that must not miss each other, each a store and then a load on either side:
///   last     take: tail_ = at, reads head_     steal: head_ + 1, reads tail_
///   asleep   push: tail_ + 1, reads limit_     want: limit_ = 0, then looks_empty() reads tail_
/// With asymmetric fences the owner's side is plain, and the other side has the heavy fence between its two accesses.
/// Without them all eight accesses are sequentially consistent. See sched/JOBS.md for the proof.
///
/// Source: Frigo, Leiserson, Randall: The implementation of the Cilk-5 multithreaded language (protocol THE). PLDI
/// 1998, doi:10.1145/277650.277725. The ring's endless positions: Chase, Lev, SPAA 2005, doi:10.1145/1073970.1073974.
/// How a thief tells the owner that it waits: van Dijk, van de Pol: Lace. Euro-Par 2014 workshops,
/// doi:10.1007/978-3-319-14313-2_18.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <shunt/base/asymmetric_fence.hpp>
#include <shunt/base/cache_line.hpp>
#include <shunt/base/spin_lock.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

/// How the owner of a ring and the other threads keep from missing each other. The other threads of a process all use
/// the same way. The owner may be symmetric where they are not: its operations are then stronger than their heavy fence
/// needs.
enum class fences : bool { symmetric, asymmetric };

/// What the owner owes after push(): `tell` is listen().
enum class [[nodiscard]] after_push_job : bool { nothing, tell };
/// What take() says.
enum class [[nodiscard]] whose : bool { mine, thiefs };

template <typename Job, std::size_t Slots>
class job_ring {
  static_assert(std::has_single_bit(Slots) && Slots >= 4, "job_ring.J3 takes two slots");

 public:
  using position = std::int64_t;
  static constexpr position nowhere = -1;  ///< of a job that was not pushed; take() says `mine`

  /// Owner's thread. The position that the next push uses.
  [[nodiscard]] position next() const noexcept {
    return tail_.load(std::memory_order_relaxed);  // relaxed: job_ring.J1
  }

  /// Owner's thread. Pushes `item` at next(). On `tell` it is pushed as well, and the owner must call listen() before
  /// it pushes again.
  template <fences How>
  after_push_job push(Job* item, position at) noexcept {
    slot(at).store(item, std::memory_order_relaxed);  // relaxed: edge `pushed` follows
    if constexpr (How == fences::asymmetric) {
      tail_.store(at + 1, std::memory_order_release);  // edge `pushed` out
      asymmetric_fence::light();                       // pair `asleep`
      // relaxed: the fence orders pair `asleep`; listen() takes edge `wanted`
      return limit_.load(std::memory_order_relaxed) > at ? after_push_job::nothing : after_push_job::tell;
    } else {
      tail_.exchange(at + 1, std::memory_order_seq_cst);  // edge `pushed` out; pair `asleep`
      return limit_.load(std::memory_order_seq_cst) > at ? after_push_job::nothing : after_push_job::tell;
    }
  }

  /// Owner's thread, after a push that said `tell`. What want() announced is visible afterwards.
  /// \return whether the ring is full: then the owner must take the job at `at` back.
  [[nodiscard]] bool listen(position at) noexcept {
    const auto room = head_.load(std::memory_order_relaxed) + spare_limit;  // relaxed: job_ring.J3
    limit_.exchange(room, std::memory_order_seq_cst);                       // edge `wanted` in
    return at >= room;
  }

  /// Owner's thread. The next push says `tell`.
  void keep_listening() noexcept {
    limit_.store(0, std::memory_order_relaxed);  // relaxed: only this thread's next push must see it
  }

  /// Owner's thread, once for each push: takes the job that was pushed at `at` out again.
  /// \return `thiefs`: it was stolen, and the thief has taken edge `pushed`.
  template <fences How>
  whose take(position at) noexcept {
    // relaxed: job_ring.J1. On top? And not `== at + 1`, which compilers keep in a register since push().
    if (tail_.load(std::memory_order_relaxed) - 1 == at) [[likely]] {
      if constexpr (How == fences::asymmetric) {
        tail_.store(at, std::memory_order_release);  // edge `pushed` out, of the jobs below
        asymmetric_fence::light();                   // pair `last`
        // relaxed: the fence orders pair `last`; a job that was not stolen needs nothing from a thief
        if (head_.load(std::memory_order_relaxed) <= at) [[likely]]
          return whose::mine;
      } else {
        tail_.exchange(at, std::memory_order_seq_cst);  // edge `pushed` out, of the jobs below; pair `last`
        if (head_.load(std::memory_order_seq_cst) <= at) return whose::mine;
      }
    }
    return take_surely(at);
  }

  /// Any thread, with the process's `How`; the owner with `symmetric`, as it cannot miss itself.
  /// \return the oldest job; nullptr if there is none, or another thief is at it.
  template <fences How>
  [[nodiscard]] Job* steal() noexcept {
    if (looks_empty()) return nullptr;
    const std::unique_lock held(lock_, std::try_to_lock);
    if (!held.owns_lock()) return nullptr;
    auto head = head_.load(std::memory_order_relaxed);  // relaxed: job_ring.J2
    for (;; ++head) {
      head_.store(head + 1, std::memory_order_seq_cst);  // pair `last`
      if constexpr (How == fences::asymmetric) asymmetric_fence::heavy();
      if (tail_.load(std::memory_order_seq_cst) <= head) {  // pair `last`; edge `pushed` in
        head_.store(head, std::memory_order_relaxed);       // relaxed: job_ring.J2; take_surely() locks
        return nullptr;
      }
      // relaxed: edge `pushed`
      if (Job* const found = slot(head).load(std::memory_order_relaxed)) return found;
    }
  }

  /// Any thread. A look: see pair `asleep` for when it is exact.
  [[nodiscard]] bool looks_empty() const noexcept {
    return tail_.load(std::memory_order_seq_cst) <= head_.load(std::memory_order_seq_cst);
  }

  /// Owner's thread. A look without a fence: a thief may be about to empty the ring.
  [[nodiscard]] bool looks_empty_here() const noexcept { return looks_empty_below(next()); }
  /// The same, one load cheaper, for an owner that has kept next().
  [[nodiscard]] bool looks_empty_below(position at) const noexcept {
    return at <= head_.load(std::memory_order_relaxed);  // relaxed: a look
  }

  /// Any thread that will sleep, after it has announced itself by a seq_cst operation. The owner's next push says
  /// `tell`.
  /// \return whether the caller owes a heavy fence (where they are usable) before it asks looks_empty(); one fence
  /// serves for many rings.
  [[nodiscard]] bool want() noexcept {
    // 0 already: then the owner's next push tells anyway, or another sleeper is between want() and its own look, and
    // will see what this one might miss. seq_cst, both: edge `wanted`.
    if (limit_.load(std::memory_order_seq_cst) == 0) return false;
    limit_.exchange(0, std::memory_order_seq_cst);  // edge `wanted` out
    return true;
  }

 private:
  static constexpr position spare_limit = static_cast<position>(Slots) - 2;

  std::atomic<Job*>& slot(position at) noexcept { return slots_[static_cast<std::size_t>(at) & (Slots - 1)]; }

  /// The rest of take(), under the lock: a thief is near, or jobs of other fibers lie above.
  [[gnu::noinline]] whose take_surely(position at) noexcept {
    if (at == nowhere) return whose::mine;
    const std::scoped_lock held(lock_);
    const auto head = head_.load(std::memory_order_relaxed);  // relaxed: job_ring.J2
    auto tail = tail_.load(std::memory_order_relaxed);        // relaxed: job_ring.J1
    if (at < head) {
      // Stolen. If it was on top, take() has moved tail_ below head_.
      // relaxed: no job lies below it. A thief that reads it holds the lock later, so its head is no less.
      if (tail < head) tail_.store(head, std::memory_order_relaxed);
      return whose::thiefs;
    }
    // relaxed: job_ring.J1, and thieves are locked out. If take() has moved tail_, the slot is free already.
    if (at < tail) slot(at).store(nullptr, std::memory_order_relaxed);
    // No gap stays on top. release: `pushed` for the jobs below, which a thief may find by this.
    while (tail > head && slot(tail - 1).load(std::memory_order_relaxed) == nullptr) --tail;
    tail_.store(tail, std::memory_order_release);
    return whose::mine;
  }

  // Stored by the owner.
  alignas(quiet_distance) std::atomic<position> tail_{1};  // 0 is no job's position
  // Stored by other threads, seldom.
  alignas(quiet_distance) std::atomic<position> head_{1};
  std::atomic<position> limit_{0};
  spin_lock lock_;  // a thief holds it for a heavy fence: less than it takes to sleep and to be woken
  alignas(quiet_distance) std::atomic<Job*> slots_[Slots] = {};
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
