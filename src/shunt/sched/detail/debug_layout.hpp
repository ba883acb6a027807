/// What a debugger needs to find every fiber of the process: live or in a core file, in any build, without debug
/// information. tools/gdb/shunt.py reads it.
///
/// One symbol, `shunt_debug_fibers_v2`, a table of words. Words are only ever added, at the end; another meaning gets
/// another symbol.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shunt {
inline namespace v1 {
namespace sched {
namespace detail {

struct debug_layout {
  using word = std::intptr_t;
  static constexpr word none = -1;  // this build has no such thing

  word words = sizeof(debug_layout) / sizeof(word);

  // Every block, of a fiber or free: slabs[i][j], i < slab_count, j < blocks_a_slab.
  const void* slabs = nullptr;
  word slab_count = 0;
  word blocks_a_slab = 0;
  word block_bytes = none;

  // Offsets in a block. The first four are words that hold where a fiber stopped, if it does not run. Every other
  // register is where the unwind tables of pc say (context/switch.hpp).
  word sp = none;
  word fp = none;
  word pc = none;
  word kept = none;         // rbx, or x19
  word started = none;      // a byte; 0: no stack, and nothing stopped
  word state = none;        // four bytes; 2: parked (detail/fiber_state.hpp)
  word stack_low = none;    // an address
  word stack_bytes = none;  // a word
  word home = none;         // an address that tells workers apart
  word name = none;         // an address of: an address of bytes, then how many; or 0
  word body = none;         // a word; 0: nothing to start
  word waits_for = none;    // an address of text that ends with 0; or 0
  word since = none;        // four bytes: milliseconds of the steady clock, modulo 2^32

  // A thread that works for a runtime: at its thread pointer plus `worker_state` lies the address of its worker's
  // state. `current` bytes into the state lies the address of the slot (below) of the fiber that runs. If that is 0,
  // the address of that fiber's block lies `running` bytes into the state.
  word worker_state = none;
  word current = none;
  word running = none;

  word worker = none;  // in what `home` leads to: four bytes, the worker's number in its runtime

  // Where a fiber that is ready and has yielded stopped may be in a slot of its worker's ring instead. In the worker's
  // state, at `slots`, lies the address of all of its slots; at `slot_count`, in four bytes, their number. A slot whose
  // first word is not 0 holds what the first four words of a block do, in the same order, and at `slot_fiber` the
  // address of the block. The slot of the running fiber holds old words.
  word slots = none;
  word slot_count = none;
  word slot_bytes = none;
  word slot_fiber = none;

  // A compact block has a byte that is not 0 at `compact`. It is number (address % compact_slab_bytes) / block_bytes of
  // its slab, which begins at the multiple of compact_slab_bytes below it. Behind the slab's blocks_a_slab blocks lie
  // as many pieces of frames_bytes, in the same order. If the word at `frames_used` of its piece is not 0, the fiber's
  // frames were put aside: so many bytes lie at the address that the word at `frames_copy` says, and the first of them
  // was `red_zone` below the stack pointer.
  word compact = none;
  word compact_slab_bytes = none;
  word frames_bytes = none;
  word frames_used = none;
  word frames_copy = none;
  word red_zone = none;
};

/// The caller holds the lock of the slabs.
void show_slabs(const void* slabs, std::size_t count, std::size_t blocks_a_slab) noexcept;

}  // namespace detail
}  // namespace sched
}  // namespace v1
}  // namespace shunt
