/// A look at every fiber of a runtime, from any thread, while it runs.
///
/// Who asks gives each worker a sheet, and the worker fills in its own fibers (F4): in its loop; or, if a
/// fiber keeps it from there, in a signal handler on its thread. So nothing that a fiber consists of is
/// ever read by another thread, and workers that nobody asks pay a load a round.
///
///   sheet     asker: give()   worker: take()      worker: finished()   asker: withdraw()
///   blank     -> given
///   given                     -> taken, fill it                        -> blank, "nobody looked"
///   taken                     nothing             -> full              waits for full
///   full                                                               -> blank, "filled"
///
/// Edge `filled`, finished() -> withdraw(): the records.
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
#include <shunt/sched/report_notes.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber_record {
  enum class state : std::uint8_t { running, ready, parked };
  static constexpr std::size_t most_frames = 24;

  const fiber* who = nullptr;
  state doing = state::parked;
  bool has_deadline = false;
  std::array<char, 48> name{};        // cut off if it is longer
  std::array<char, 120> waits_for{};  // of one that is parked; cut off likewise
  const fiber* waits_on = nullptr;
  const note_text* work = nullptr;  // what the fiber works on; of the same sheet
  std::uint32_t parked_ms = 0;      // for so long; about
  std::size_t stack_bytes = 0;
  std::size_t stack_used = 0;  // of the deepest frame; 0: not known
  std::uint8_t frame_count = 0;
  std::array<const void*, most_frames> frames{};
};

class sheet {
 public:
  enum class wish : std::uint8_t { all, running_only };

  /// The asker's. \throws std::bad_alloc
  void reserve(std::size_t records) {
    records_.resize(records);
    notes_.resize(std::min(records, most_notes));
  }
  void release() noexcept {
    records_ = {};
    notes_ = {};
  }
  void give(std::span<const fiber_slab> of, wish what) noexcept {
    of_ = of;
    what_ = what;
    used_ = 0;
    notes_used_ = 0;
    stacks_left_out_ = false;
    word_.store(given, std::memory_order_release);  // pairs with take(): the fields above
  }
  /// \return whether it has been filled. If it is being filled now, waits for that.
  [[nodiscard]] bool withdraw() noexcept {
    auto seen = given;
    if (word_.compare_exchange_strong(seen, blank, std::memory_order_acquire, std::memory_order_acquire)) return false;
    while (seen == taken) {  // the worker writes records now
      std::this_thread::yield();
      seen = word_.load(std::memory_order_acquire);  // edge `filled` in
    }
    word_.store(blank, std::memory_order_relaxed);  // relaxed: the asker's own again
    return seen == full;
  }
  /// A look; withdraw() decides.
  [[nodiscard]] bool answered() const noexcept {
    return word_.load(std::memory_order_relaxed) == full;  // relaxed: a hint
  }

  /// The worker's thread. \return whether it is the caller's to fill.
  [[nodiscard]] bool wanted() const noexcept {
    return word_.load(std::memory_order_relaxed) == given;  // relaxed: a hint
  }
  [[nodiscard]] bool take() noexcept {
    auto seen = given;
    return word_.compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void finished() noexcept { word_.store(full, std::memory_order_release); }  // edge `filled` out
  [[nodiscard]] std::span<const fiber_slab> of() const noexcept { return of_; }
  [[nodiscard]] wish what() const noexcept { return what_; }
  [[nodiscard]] fiber_record* next() noexcept { return used_ < records_.size() ? &records_[used_++] : nullptr; }
  [[nodiscard]] note_text* next_note() noexcept {
    if (notes_used_ == notes_.size()) return nullptr;
    note_text& fresh = notes_[notes_used_++];
    fresh = {};
    return &fresh;
  }
  void leave_stacks_out() noexcept { stacks_left_out_ = true; }

  [[nodiscard]] std::span<const fiber_record> records() const noexcept { return {records_.data(), used_}; }
  [[nodiscard]] bool stacks_left_out() const noexcept { return stacks_left_out_; }

 private:
  static constexpr std::size_t most_notes = 4096;  // fibers beyond that are told of without
  static constexpr std::uint32_t blank = 0;
  static constexpr std::uint32_t given = 1;
  static constexpr std::uint32_t taken = 2;
  static constexpr std::uint32_t full = 3;

  std::atomic<std::uint32_t> word_{blank};
  std::span<const fiber_slab> of_;
  wish what_ = wish::all;
  bool stacks_left_out_ = false;
  std::size_t used_ = 0;
  std::vector<fiber_record> records_;
  std::size_t notes_used_ = 0;
  std::vector<note_text> notes_;
};

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
