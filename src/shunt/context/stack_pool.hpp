/// Stacks with guard pages, carved from slabs, reused last in first out.
///
///   slab   | gap | stack 0 ......... | gap | stack 1 ......... | gap | ...
///                ^ low               ^ low + bytes: where the stack begins to grow down
///
/// Invariants
///   stack_pool.P1  Below every stack that was handed out lies a gap that faults on any access: 17 pages; below a stack
///                  of less than 256 KiB an eighth of that stack; one page where the process's address space is limited
///                  (RLIMIT_AS) or used up.
///   stack_pool.P2  Only the destructor unmaps a slab. A stack given back keeps its pages, so that the next user finds
///                  them in cache. Memory held: the peak number of stacks in use, less the memory that trim() gave back
///                  to the system.
///   stack_pool.P3  Of the stacks given back, those that have been free for longest lie at the bottom: take() reuses
///                  them last, trim() empties them first.
///
/// A guard by mprotect splits a mapping in two; the kernel allows 65,530 mappings (vm.max_map_count), which is enough
/// for some 32,000 stacks. Linux 6.13 and later install guards inside a mapping (MADV_GUARD_INSTALL): the pool tries
/// that first, at run time. An emulator may take the advice and not follow it, so the pool proves its first such guard:
/// it asks the system to read there.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shunt {
inline namespace v1 {
namespace context {

/// One thread at a time uses a pool, its owner. Each worker has its own.
class stack_pool {
 public:
  /// How the guard below a stack is made.
  enum class guards { best, by_mprotect };  ///< by_mprotect: for tests of the way that older kernels take

  /// A stack that the pool has lent.
  struct stack {
    void* low = nullptr;    ///< lowest usable byte; the guard lies below
    std::size_t bytes = 0;  ///< usable bytes: the size that was asked for, rounded up to pages
  };

  /// Takes no memory yet.
  explicit stack_pool(guards how = guards::best) noexcept : how_(how) {}
  ~stack_pool();
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  /// The largest stack that can be asked for: more than any system has address space for.
  static constexpr std::size_t largest = std::size_t{1} << (sizeof(std::size_t) > 4 ? 48 : 31);
  /// Any thread, also in a signal handler. Bytes of the gap below a stack, where there is address space for it.
  [[nodiscard]] static std::size_t wide_gap(std::size_t stack_bytes) noexcept;
  /// Any thread. States `largest`, as the end of an error message.
  [[nodiscard]] static std::string bounds();

  /// Owner only.
  /// \param bytes  usable size; rounded up to whole pages and to 16 KiB, at most `largest`
  /// Cost: O(1) when a stack of that size was given back; else a share of one mmap, one madvise.
  /// \throws shunt::error with errno if the system gives no memory or no guard; the message names the limit that is
  ///         at its bound, and what raises it. usage_error for a stack that is too large.
  [[nodiscard]] stack take(std::size_t bytes);

  /// Owner only. \param s  taken from this pool; nothing runs on it any more. Cost: O(1), no system call.
  void give(stack s) noexcept;

  /// Owner only, when it is idle, as a worker that goes to sleep. Gives the system the memory of stacks that were not
  /// needed during the last 64 calls; the stacks stay, with their guards. Of each size 4 MiB, and no more than 64
  /// stacks, keep their memory, so that the next users find warm ones.
  /// \param most  stacks whose memory goes back in this call
  /// \return whether there is more to give back: an idle caller calls again, after some time
  /// Cost: some 4 ns if there is nothing to do; else a system call for each run of neighbours, 1 us a stack in long
  /// runs, 2 us alone. The next user of such a stack pays for fresh pages.
  bool trim(std::size_t most = 64) noexcept;

  /// Any thread; for tests. Of all pools: while `when` is not null, take() fails as if there were no memory whenever
  /// `when` returns true.
  static void refuse_for_tests(bool (*when)() noexcept) noexcept;

  /// Owner only. Stacks in use.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  struct size_class {
    std::size_t bytes = 0;
    std::vector<void*> free;  // reserve() keeps room for every stack carved: give() never grows
    // Each holds for free[0, n) (stack_pool.P3). take() lowers `untouched`, and trim() lowers the others by it.
    std::size_t untouched = 0;   // since trim() last looked
    std::size_t idle = 0;        // during the last so many calls of trim()
    std::size_t cold = 0;        // their memory was given back
    std::size_t carved = 0;      // stacks of this class that exist
    char* fresh = nullptr;       // rest of the newest slab
    std::size_t fresh_left = 0;  // stacks in it
    std::size_t fresh_gap = 0;   // below each of them
  };
  struct slab {
    void* start;
    std::size_t bytes;
  };

  size_class& class_of(std::size_t bytes);
  void* carve(size_class& c);
  void new_slab(size_class& c);
  /// The gap below each stack of the next slab.
  [[nodiscard]] std::size_t gap_below(std::size_t stack_bytes) const noexcept;
  void install_guard(char* at, std::size_t gap, std::size_t of_stack);

  guards how_;
  bool guards_by_madvise_ = true;  // until the kernel says that it cannot
  bool guards_proven_ = false;     // the first one has been checked
  std::vector<unsigned> watched_;  // Valgrind's numbers of the stacks; empty without it
  bool narrow_ = false;  // gaps of new slabs are one page; never false again, so later slabs have no wider gap
  std::size_t taken_ = 0;
  int trims_ = 0;                    // calls since untouched stacks were last called idle
  std::vector<size_class> classes_;  // few: one for each size in use
  std::vector<slab> slabs_;
};

}  // namespace context
}  // namespace v1
}  // namespace shunt
