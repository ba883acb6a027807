/// A look at every fiber of a runtime, from any thread, while it runs.
///
/// The requesting thread gives each worker a snapshot to fill, and the worker writes down its own fibers (fiber.F4): in
/// its loop; or, if a fiber keeps it from there, in a signal handler on its thread. So no other thread ever reads what
/// a fiber consists of, and without a request a worker pays one load a round.
///
///   word        requester: request()   worker: take()      worker: finished()   requester: withdraw()
///   idle        -> requested
///   requested                          -> answering                             -> idle, "not filled"
///   answering                          nothing             -> answered          waits for answered
///   answered                                                                    -> idle, "filled"
///
/// Edges
///   asked     request() -> take()           what is wanted
///   answered  finished() -> withdraw()      the records
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <shunt/sched/detail/fiber.hpp>
#include <shunt/sched/observe/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

class worker;

struct fiber_record {
  enum class state : std::uint8_t { running, ready, parked };
  static constexpr std::size_t most_frames = 24;

  const detail::fiber* fiber = nullptr;
  std::uint32_t generation = 0;  // of that block: with it, which fiber this is
  const void* scope = nullptr;   // this_fiber::scope()
  state doing = state::parked;
  bool has_deadline = false;
  std::array<char, 48> name{};        // cut off if it is longer
  std::array<char, 120> waits_for{};  // of a parked fiber; cut off likewise
  const detail::fiber* waits_on = nullptr;
  const note_text* work = nullptr;  // what the fiber works on; lies in the same snapshot
  std::uint32_t parked_ms = 0;      // for so long; about
  std::size_t stack_bytes = 0;
  std::size_t stack_used = 0;  // down to the innermost frame; 0: not known
  std::uint8_t frame_count = 0;
  std::array<const void*, most_frames> frames{};
};

class snapshot {
 public:
  enum class scope : std::uint8_t { all, running_only };

  // The requester. One at a time (registry's lock).

  /// Makes room. \throws std::bad_alloc
  void reserve(std::size_t records) {
    records_.resize(records);
    notes_.resize(std::min(records, most_notes));
  }
  void release() noexcept {
    records_ = {};
    notes_ = {};
  }
  void request(std::span<const fiber_slab> of, scope what) noexcept {
    of_ = of;
    what_ = what;
    used_ = 0;
    notes_used_ = 0;
    stacks_left_out_ = false;
    word_.store(requested, std::memory_order_release);  // edge `asked` out
  }
  /// Waits if the worker is just answering. \return whether it has been filled.
  [[nodiscard]] bool withdraw() noexcept {
    auto seen = requested;
    // acquire: edge `answered` in, on failure; on success nothing was handed over.
    if (word_.compare_exchange_strong(seen, idle, std::memory_order_acquire, std::memory_order_acquire)) return false;
    while (seen == answering) {
      std::this_thread::yield();
      seen = word_.load(std::memory_order_acquire);  // edge `answered` in
    }
    word_.store(idle, std::memory_order_relaxed);  // relaxed: only the requester looks at it from here on
    return seen == answered;
  }
  /// A look; withdraw() decides.
  [[nodiscard]] bool is_answered() const noexcept {
    return word_.load(std::memory_order_relaxed) == answered;  // relaxed: a hint
  }
  [[nodiscard]] std::span<const fiber_record> records() const noexcept { return {records_.data(), used_}; }
  [[nodiscard]] bool stacks_left_out() const noexcept { return stacks_left_out_; }

  // The worker's thread.

  /// A look; take() decides.
  [[nodiscard]] bool wanted() const noexcept {
    return word_.load(std::memory_order_relaxed) == requested;  // relaxed: a hint
  }
  /// \return whether the caller must fill it now, and then call finished().
  [[nodiscard]] bool take() noexcept {
    auto seen = requested;
    // acquire: edge `asked` in. relaxed on failure: there is nothing to do.
    return word_.compare_exchange_strong(seen, answering, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void finished() noexcept { word_.store(answered, std::memory_order_release); }  // edge `answered` out
  [[nodiscard]] std::span<const fiber_slab> of() const noexcept { return of_; }
  [[nodiscard]] scope what() const noexcept { return what_; }
  /// A record to fill; nullptr: there is no room for more.
  [[nodiscard]] fiber_record* next() noexcept { return used_ < records_.size() ? &records_[used_++] : nullptr; }
  /// Likewise.
  [[nodiscard]] note_text* next_note() noexcept {
    if (notes_used_ == notes_.size()) return nullptr;
    note_text& fresh = notes_[notes_used_++];
    fresh = {};
    return &fresh;
  }
  void leave_stacks_out() noexcept { stacks_left_out_ = true; }

 private:
  static constexpr std::size_t most_notes = 4096;  // the report of more fibers has no notes for the rest
  static constexpr std::uint32_t idle = 0;
  static constexpr std::uint32_t requested = 1;
  static constexpr std::uint32_t answering = 2;
  static constexpr std::uint32_t answered = 3;

  std::atomic<std::uint32_t> word_{idle};
  std::span<const fiber_slab> of_;
  scope what_ = scope::all;
  bool stacks_left_out_ = false;
  std::size_t used_ = 0;
  std::vector<fiber_record> records_;
  std::size_t notes_used_ = 0;
  std::vector<note_text> notes_;
};

/// The worker's thread, in its loop: fills the snapshot if one is requested.
void answer_snapshot(worker& w) noexcept;
/// In a signal handler on the worker's thread. \param sp  the stack pointer of what was interrupted.
void answer_snapshot(worker& w, std::uintptr_t sp) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
