// What tools/gdb/shunt.py relies on, read as it reads it: through the table of words alone.
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include <shunt/sched.hpp>
#include <shunt/sched/detail/debug_layout.hpp>

#include <catch2/catch.hpp>

namespace sched = shunt::sched;
using sched::detail::debug_layout;

extern "C" debug_layout shunt_debug_fibers_v2;

namespace {

template <class Word>
Word word_at(const char* base, debug_layout::word offset) {
  Word w;
  std::memcpy(&w, base + offset, sizeof w);
  return w;
}

/// Blocks in use that have a name.
std::map<std::string, const char*> named_blocks() {
  const debug_layout& all = shunt_debug_fibers_v2;
  std::map<std::string, const char*> found;
  for (debug_layout::word i = 0; i < all.slab_count; ++i) {
    const auto* const slab = static_cast<const char* const*>(all.slabs)[i];
    for (debug_layout::word j = 0; j < all.blocks_a_slab; ++j) {
      const char* const block = slab + j * all.block_bytes;
      const bool used = block[all.started] != 0 || word_at<std::uintptr_t>(block, all.body) != 0;
      const auto* const text = used ? word_at<const char*>(block, all.name) : nullptr;
      if (text == nullptr) continue;
      found.emplace(std::string(word_at<const char*>(text, 0), word_at<std::size_t>(text, sizeof(void*))), block);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("debug_layout: the table leads to every fiber, and says what it does") {
  const debug_layout& all = shunt_debug_fibers_v2;
  CHECK(all.words == static_cast<debug_layout::word>(sizeof all / sizeof(debug_layout::word)));
  if (all.name == debug_layout::none) return;  // another C++ library
  sched::runtime one({.workers = 1});
  std::map<std::string, const char*> seen;
  const std::string long_name(100, 'x');
  bool open = false;
  int parked = 0;
  std::map<std::string, sched::waker> wakers;
  one.run([&] {
    // More than one slab holds.
    for (int i = 0; i < 200; ++i) {
      const auto name = i == 7 ? long_name : "waits_" + std::to_string(i);
      one.spawn(
          [&, name] {
            wakers[name] = sched::this_fiber::self();
            ++parked;
            while (!open) sched::this_fiber::park();
          },
          {.worker = 0, .name = name, .stack_bytes = 64 * 1024});
    }
    while (parked < 200) sched::this_fiber::yield();
    one.spawn([] {}, {.worker = 0, .name = "late"});

    seen = named_blocks();
    CHECK(seen.size() == 202);  // root too
    for (const auto& [name, block] : seen) {
      INFO(name);
      const bool waits = name == long_name || name.rfind("waits_", 0) == 0;
      CHECK((block[all.started] != 0) == (name != "late"));
      CHECK((word_at<std::uint32_t>(block, all.state) == 2) == waits);
      if (!waits) continue;
      const auto low = word_at<std::uintptr_t>(block, all.stack_low);
      CHECK(word_at<std::size_t>(block, all.stack_bytes) == 64 * 1024);
      CHECK(word_at<std::int32_t>(word_at<const char*>(block, all.home), all.worker) == 0);
#if !defined(SHUNT_CONTEXT_BOOST)
      CHECK(word_at<std::uintptr_t>(block, all.sp) > low);
      CHECK(word_at<std::uintptr_t>(block, all.sp) < low + 64 * 1024);
      CHECK(word_at<std::uintptr_t>(block, all.pc) != 0);
#endif
    }
    if (all.worker_state != debug_layout::none) {
      const auto* const thread = static_cast<const char*>(__builtin_thread_pointer());
      const auto* const state = word_at<const char*>(thread, all.worker_state);
      const auto* const slot = word_at<const char*>(state, all.current);
      CHECK((slot != nullptr ? word_at<const char*>(slot, all.slot_fiber) : word_at<const char*>(state, all.running)) ==
            seen["root"]);
    }
    open = true;
    for (const auto& [name, waker] : wakers) waker.wake();
  });
  CHECK(named_blocks().count("late") == 0);  // ended ones are not taken for living
  CHECK(named_blocks().count("root") == 0);
}
