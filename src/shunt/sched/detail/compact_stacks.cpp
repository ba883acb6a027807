#include <shunt/sched/detail/compact_stacks.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <shunt/context/switch.hpp>
#include <shunt/sched/detail/fiber.hpp>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {
namespace {

constexpr bool copies = context::places_suffice;

char* lowest(const fiber& f) noexcept { return static_cast<char*>(f.run.sp) - context::red_zone; }
char* top_of(const shared_stack& s) noexcept { return static_cast<char*>(s.memory.low) + s.used; }

[[noreturn]] void end_process(const fiber& f, const char* what) noexcept {
  std::fprintf(stderr, "shunt: compact fiber%s%.*s: %s\n", f.called().empty() ? "" : " ",
               static_cast<int>(f.called().size()), f.called().data(), what);
  std::abort();
}

/// Of all words from the stack pointer up. Reads what a sanitizer may call no variable's.
[[maybe_unused]] __attribute__((no_sanitize("address", "thread"))) std::uint64_t sum_of(const fiber& f) noexcept {
  std::uint64_t sum = 1;
  const auto* const end = reinterpret_cast<const volatile std::uint64_t*>(top_of(*f.frames()->stack));
  const auto begin = (reinterpret_cast<std::uintptr_t>(f.run.sp) + 7) / 8 * 8;
  for (const auto* at = reinterpret_cast<const volatile std::uint64_t*>(begin); at < end; ++at) {
    sum = (sum ^ *at) * 0x9E3779B97F4A7C15U;  // each step is a bijection: a single word that differs is always seen
  }
  return sum;
}

}  // namespace

compact_stacks::size_class& compact_stacks::class_of(std::size_t bytes) {
  for (auto& c : classes_) {
    if (c.bytes == bytes) return c;
  }
  classes_.emplace_back().bytes = bytes;
  return classes_.back();
}

/// In turn. Tops begin at different lines of a page, as those of other stacks do.
shared_stack& compact_stacks::stack_of(size_class& c, context::stack_pool& from) {
  const std::size_t at = c.next++ % stacks_of_a_size;
  if (at < c.stacks.size()) return *c.stacks[at];
  c.next = c.stacks.size() + 1;
  c.stacks.reserve(c.stacks.size() + 1);
  auto made = std::make_unique<shared_stack>();
  made->memory = from.take(c.bytes);
  made->asked = c.bytes;
  made->used = made->memory.bytes - (copies ? c.stacks.size() * cache_line : 0);
  return *c.stacks.emplace_back(std::move(made));
}

void compact_stacks::begin(fiber& f, std::size_t bytes, context::stack_pool& from) {
  frames_aside* const frames = f.frames();
  if constexpr (copies) {
    size_class& c = class_of(bytes);
    frames->stack = &stack_of(c, from);
    ++c.users;
  } else {
    auto own = std::make_unique<shared_stack>();
    own->memory = from.take(bytes);
    own->used = own->memory.bytes;
    frames->stack = own.release();
  }
  frames->bytes = 0;
  frames->copy = frames->own;
  frames->capacity = sizeof frames->own;
  frames->sum = 0;
  shared_stack& s = *frames->stack;
  f.stack = s.memory;
  if (s.occupant != nullptr) put_aside(*s.occupant);
  s.occupant = &f;
}

void compact_stacks::end(fiber& f, context::stack_pool& to) noexcept {
  frames_aside* const frames = f.frames();
  frames->stack->occupant = nullptr;  // it ran last
  if constexpr (copies) {
    for (auto& c : classes_) {
      if (c.bytes != frames->stack->asked || --c.users > 0) continue;
      for (const auto& s : c.stacks) to.give(s->memory);
      c.stacks.clear();
      c.next = 0;
    }
  } else {
    to.give(frames->stack->memory);
    delete frames->stack;
  }
  if (frames->copy != frames->own) std::free(frames->copy);
}

void compact_stacks::put_aside(fiber& f) noexcept {
  frames_aside& to = *f.frames();
  char* const from = lowest(f);
  const auto bytes = static_cast<std::size_t>(top_of(*to.stack) - from);
  if (bytes > to.capacity) [[unlikely]] {
    const std::size_t wanted = bytes + bytes / 4;
    auto* const more = static_cast<char*>(std::malloc(wanted));
    if (more == nullptr) end_process(f, "no memory to put its frames aside (see ulimit -v, and the group's memory)");
    if (to.copy != to.own) std::free(to.copy);
    to.copy = more;
    to.capacity = wanted;
  }
  std::memcpy(to.copy, from, bytes);
  to.bytes = bytes;
}

void compact_stacks::bring_in(fiber& f) noexcept {
  frames_aside& mine = *f.frames();
  if constexpr (copies) {
    shared_stack& s = *mine.stack;
    if (s.occupant == &f) return;
    if (s.occupant != nullptr) put_aside(*s.occupant);
    std::memcpy(lowest(f), mine.copy, mine.bytes);
    mine.bytes = 0;
    s.occupant = &f;
  } else if (mine.sum != 0 && mine.sum != sum_of(f)) {
    end_process(f, "its stack was written to while it was parked: another fiber or thread has an address of it");
  }
}

bool compact_stacks::share_a_stack(const fiber& one, const fiber& other) noexcept {
  return one.compact && other.compact && one.frames()->stack == other.frames()->stack;
}

bool compact_stacks::has_place(const fiber& f) noexcept { return f.frames()->bytes == 0; }

void compact_stacks::has_stopped(fiber& f) noexcept {
  if constexpr (!copies) f.frames()->sum = sum_of(f);
}

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
