#include <shunt/sched/observe/detail/dump_text.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

#include <shunt/sched/detail/worker.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

std::string name_of(const fiber_record& r) {
  const std::string_view text(r.name.data());
  if (text.empty()) return {};
  return " `" + std::string(text) + (text.size() + 1 == r.name.size() ? "...`" : "`");
}

/// As programs write it: without the inline namespace.
std::string plain(std::string function) {
  constexpr std::string_view inner = "shunt::v1::";
  for (auto at = function.find(inner); at != std::string::npos; at = function.find(inner, at))
    function.erase(at + 7, 4);
  return function;
}

std::string as_seconds(std::uint32_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", ms / 1000.0);
  return text;
}

}  // namespace

dump_text::dump_text(std::span<const fiber_slab> all, std::size_t most, const fiber_filter* only)
    : most_(most), only_(only) {
  for (std::size_t i = 0; i < all.size(); ++i) numbers_[all[i].data()] = i * all[i].size();
  ask_note_sources(notes_);
}

void dump_text::add(const worker& of, const fiber_record& r) {
  if (only_ != nullptr && !only_->takes(r)) return;
  ++listed_;
  if (r.doing != fiber_record::state::running && not_running_++ >= most_) return;
  if (r.doing == fiber_record::state::running && most_ != ~std::size_t{0}) {
    std::string before = std::exchange(text_, {});
    write(of, r);
    text_ += before;
  } else {
    write(of, r);
  }
}

std::string dump_text::take() {
  if (not_running_ > most_) say("... and " + std::to_string(not_running_ - most_) + " more fibers");
  return std::move(text_);
}

void dump_text::write(const worker& of, const fiber_record& r) {
  text_ += "fiber " + number(r.fiber) + name_of(r) + ", worker " + std::to_string(of.index) + ", ";
  write_state(r);
  if (r.work != nullptr) text_ += "; " + std::string(r.work->text());
  text_ += "; stack ";
  if (r.stack_used != 0) text_ += std::to_string((r.stack_used + 1023) / 1024) + " of ";
  text_ += std::to_string(r.stack_bytes / 1024) + " KiB";
  write_frames(r);
}

void dump_text::write_state(const fiber_record& r) {
  switch (r.doing) {
    case fiber_record::state::running: text_ += "running"; break;
    case fiber_record::state::ready: text_ += "ready"; break;
    case fiber_record::state::parked:
      text_ += "parked for " + as_seconds(r.parked_ms) + ": waits for " + r.waits_for.data();
      if (const auto note = notes_.find(r.fiber); note != notes_.end()) text_ += note->second;
      if (r.waits_on != nullptr) text_ += ", of fiber " + number(r.waits_on);
      if (r.has_deadline) text_ += ", until a time";
      break;
  }
}

/// Frames that many fibers share are written once. What every stack has in common tells nothing and is left out: how
/// the fiber parked, and what called its body.
void dump_text::write_frames(const fiber_record& r) {
  const std::vector<const void*> frames(r.frames.begin(), r.frames.begin() + r.frame_count);
  if (frames.empty()) {
    text_ += '\n';
    return;
  }
  const auto [known, is_new] = stacks_written_.try_emplace(frames, r.fiber);
  if (!is_new) {
    text_ += ", as fiber " + number(known->second) + '\n';
    return;
  }
  text_ += '\n';
  bool begun = false;
  for (const void* at : frames) {
    const auto function = plain(names_.name(at));
    if (function.find("shunt::sched::detail::worker::fiber_main(") == 0) return;
    begun = begun || function.find("shunt::sched::detail::worker::") != 0;
    if (begun) text_ += "    " + function + '\n';
  }
  if (frames.size() == fiber_record::most_frames) text_ += "    ...\n";
}

std::string dump_text::number(const fiber* f) const {
  auto slab = numbers_.upper_bound(f);
  if (slab == numbers_.begin()) return "?";
  --slab;
  return std::to_string(slab->second + static_cast<std::size_t>(f - slab->first));
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
