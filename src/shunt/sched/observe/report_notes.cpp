#include <shunt/sched/observe/report_notes.hpp>

#include <array>
#include <atomic>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

// Only grows: null behind the last one.
constinit std::array<std::atomic<note_source>, 8> note_sources{};

}  // namespace

void add_note_source(note_source source) noexcept {
  for (auto& each : note_sources) {
    note_source seen = nullptr;
    // release: edge `source` out, what the source reads. relaxed on failure: the place is taken.
    if (each.compare_exchange_strong(seen, source, std::memory_order_release, std::memory_order_relaxed) ||
        seen == source)
      return;
  }
}

void ask_note_sources(wait_notes& to) {
  for (const auto& each : note_sources) {
    if (const auto source = each.load(std::memory_order_acquire)) source(to);  // edge `source` in
  }
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
