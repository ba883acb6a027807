/// What other modules know of fibers, for reports: which descriptor a fiber waits for, and its peer's address; which
/// handler a fiber runs. It is asked for when a report is made, and costs nothing before.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct fiber;

/// For a fiber that waits: a text that begins with a comma. It follows what the fiber waits for.
using wait_notes = std::map<const fiber*, std::string>;
/// Adds its module's notes. Called on the thread that makes the report; must not wait for a worker.
/// \throws std::bad_alloc
using note_source = void (*)(wait_notes& to);

/// Any thread. From now on `source` is asked. At most 8 are kept.
void add_note_source(note_source source) noexcept;
/// The thread that makes the report: asks them all. \throws std::bad_alloc
void ask_note_sources(wait_notes& to);

/// A text of bounded length that is written in a signal handler: it takes no memory. What does not fit is cut off.
class note_text {
 public:
  note_text& operator<<(std::string_view more) noexcept {
    const auto count = std::min(more.size(), room_.size() - 1 - used_);
    std::copy_n(more.data(), count, room_.data() + used_);
    used_ += count;
    return *this;
  }
  note_text& operator<<(std::int64_t number) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  /// "1.2 s"
  note_text& seconds(std::int64_t ms) noexcept { return *this << ms / 1000 << "." << ms % 1000 / 100 << " s"; }
  [[nodiscard]] std::string_view text() const noexcept { return {room_.data(), used_}; }

 private:
  std::array<char, 256> room_{};
  std::size_t used_ = 0;
};

/// What a fiber works on, told by the module that the fiber belongs to.
struct work_note {
  /// Called on the thread of the fiber's worker: between two fibers; or, if the fiber keeps its worker, in a signal
  /// handler that interrupts whatever the fiber does. So it reads what that thread alone writes, takes no lock and no
  /// memory, and is prepared for a list that is being changed.
  /// \param now_ms  CLOCK_MONOTONIC_COARSE, modulo 2^32; the run's own time where a strategy decides
  void (*write)(const work_note& self, std::uint32_t now_ms, note_text& to) noexcept = nullptr;
};
/// Sets the running fiber's note; null: none. It must be null again when the fiber ends. \throws std::bad_alloc at a
/// fiber's first call; usage_error outside a fiber.
void set_work_of_this_fiber(const work_note* note);
/// The running fiber's note; null: it has none.
[[nodiscard]] const work_note* work_of_this_fiber();
/// That of `f`. The thread of the fiber's worker.
[[nodiscard]] const work_note* work_of(const fiber& f) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
