/// Question: what does the histogram cost when nothing but the data movement is left?
///
/// The shortest program that does the table's work on shared memory: every PE is a pinned thread,
/// every update a 4-byte spot written in place into a buffer of its destination, and the handler
/// `++table[spot]` is inlined into the loop that unloads a buffer.
///
///        sender (fills)                     receiver (empties)
///    lane: | buffer 0 | buffer 1 | ...        a ring for each (sender, receiver)
///          state: free -> full -> free
///
/// Invariants
///   C1  A buffer with `state == free` is its sender's, any other state is its receiver's.
///   C2  Buffers of a lane are filled and emptied in turn, so a lane keeps order.
///   C3  A sender that waits for a free buffer unloads its own inbound lanes meanwhile.
///   C4  A lane's last buffer is marked; a PE is done when it has unloaded the mark of every lane.
///
/// Two buffers a lane would do, but a deep ring is 1.5 times as fast with near cores and twice with
/// far ones: when a buffer comes round again, its lines have left both cores' own caches for the
/// shared one, which answers sooner than another core's cache.
///
/// Edges
///   filled   state.store(release) in hand_over -> state.load(acquire) in unload   the spots
///   emptied  state.store(release) in unload -> state.load(acquire) in hand_over   the free space
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "../common/program.h"
#include "../common/random.h"
#include "../common/team.hpp"

namespace {

using spot = std::uint32_t;

constexpr std::uint32_t free_buffer = 0;
constexpr std::uint32_t last_mark = 1u << 31;  // in a state: no further buffer follows
constexpr std::size_t best_capacity = 2048;    // spots in a buffer
constexpr std::size_t best_depth = 256;        // buffers in a lane: 2 MiB
constexpr int most_pes = 64;

/// Spots from one buffer to the next: fill_two writes one past the end of a buffer that is exactly
/// full, and that place must not lie in another buffer, nor on its cache line.
constexpr std::size_t stride(std::size_t capacity) { return capacity + bench::line / sizeof(spot); }

/// State of one buffer: `free_buffer`, or its count plus one, perhaps with `last_mark`.
struct alignas(bench::line) slot {
  std::atomic<std::uint32_t> state{free_buffer};
};

struct lane {
  std::unique_ptr<slot[]> slots;
  std::unique_ptr<spot[]> spots;  // for each slot, stride() of them
  // The sender's and the receiver's places, each on a line of its own.
  alignas(bench::line) std::size_t filling = 0;
  alignas(bench::line) std::size_t emptying = 0;
  bool ended = false;
};

class pe_program {
 public:
  pe_program(int me, int pes, std::size_t capacity, std::size_t depth, std::vector<lane>& lanes,
             std::vector<std::int64_t>& table)
      : me_(me), pes_(pes), capacity_(capacity), depth_(depth), lanes_(lanes), table_(table.data()) {}

  /// Sends every update and returns when every update sent here has been done.
  void run(const std::vector<std::int64_t>& packed) {
    for (int pe = 0; pe < pes_; ++pe) {
      lane& out = outbound(pe);
      start_[pe] = cursor_[pe] = out.spots.get() + out.filling * stride(capacity_);
      inbound(pe).ended = pe == me_;
    }
    // While the fullest buffer has room for n items, n updates need no check: hence the loop in
    // runs, and buffers handed over when too little room is left for a long run.
    const auto enough = static_cast<std::ptrdiff_t>(std::max<std::size_t>(capacity_ / 8, 1));
    const std::int64_t* next = packed.data();
    const std::int64_t* const end = next + packed.size();
    while (next != end) {
      std::ptrdiff_t room = end - next;
      for (int pe = 0; pe < pes_; ++pe) room = std::min(room, room_for(pe));
      next = pes_ == 2 ? fill_two(next, room) : fill_any(next, room);
      for (int pe = 0; pe < pes_; ++pe) {
        if (room_for(pe) < enough) hand_over(pe, 0);
      }
    }
    for (int pe = 0; pe < pes_; ++pe) hand_over(pe, last_mark);
    bench::wait_until([&] {
      unload_all();
      for (int pe = 0; pe < pes_; ++pe) {
        if (!inbound(pe).ended) return false;
      }
      return true;
    });
  }

 private:
  lane& outbound(int pe) { return lanes_[static_cast<std::size_t>(me_ * pes_ + pe)]; }
  lane& inbound(int pe) { return lanes_[static_cast<std::size_t>(pe * pes_ + me_)]; }

  std::ptrdiff_t room_for(int pe) const { return static_cast<std::ptrdiff_t>(capacity_) - (cursor_[pe] - start_[pe]); }

  const std::int64_t* fill_any(const std::int64_t* next, std::ptrdiff_t n) {
    for (const auto* const end = next + n; next != end; ++next) {
      *cursor_[*next & 0xffff]++ = static_cast<spot>(*next >> 16);
    }
    return next;
  }

  // Two destinations: both cursors stay in registers, each spot is written to both buffers and kept
  // in one. A cursor in memory would cost a store-to-load forward for each update.
  const std::int64_t* fill_two(const std::int64_t* next, std::ptrdiff_t n) {
    spot* zero = cursor_[0];
    spot* one = cursor_[1];
    for (const auto* const end = next + n; next != end; ++next) {
      const auto to_one = *next & 1;
      *zero = *one = static_cast<spot>(*next >> 16);
      one += to_one;
      zero += 1 - to_one;
    }
    cursor_[0] = zero;
    cursor_[1] = one;
    return next;
  }

  void unload(const spot* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ++table_[from[i]];
  }

  void hand_over(int pe, std::uint32_t mark) {
    const auto count = static_cast<std::uint32_t>(cursor_[pe] - start_[pe]);
    if (pe == me_) {
      unload(start_[pe], count);
      cursor_[pe] = start_[pe];
      return;
    }
    lane& out = outbound(pe);
    out.slots[out.filling].state.store((count + 1) | mark, std::memory_order_release);  // filled
    out.filling = (out.filling + 1) % depth_;
    start_[pe] = cursor_[pe] = out.spots.get() + out.filling * stride(capacity_);
    bench::wait_until([&] {
      unload_all();
      return out.slots[out.filling].state.load(std::memory_order_acquire) == free_buffer;  // emptied
    });
  }

  void unload_all() {
    for (int pe = 0; pe < pes_; ++pe) {
      if (pe == me_) continue;
      lane& in = inbound(pe);
      auto& state = in.slots[in.emptying].state;
      const auto seen = state.load(std::memory_order_acquire);  // filled
      if (seen == free_buffer) continue;
      unload(in.spots.get() + in.emptying * stride(capacity_), (seen & ~last_mark) - 1);
      state.store(free_buffer, std::memory_order_release);  // emptied
      in.ended = (seen & last_mark) != 0;
      in.emptying = (in.emptying + 1) % depth_;
    }
  }

  const int me_;
  const int pes_;
  const std::size_t capacity_;
  const std::size_t depth_;
  std::vector<lane>& lanes_;
  std::int64_t* const table_;
  spot* cursor_[most_pes] = {};
  spot* start_[most_pes] = {};
};

/// Ends the program when an update was lost, doubled or went to the wrong spot.
void check(const char* program, const std::vector<std::vector<std::int64_t>>& tables,
           const std::vector<std::uint64_t>& expected, std::uint64_t updates) {
  std::uint64_t sum = 0, weighted = 0, expected_weighted = 0;
  for (std::size_t pe = 0; pe < tables.size(); ++pe) {
    expected_weighted += expected[pe];
    for (std::size_t s = 0; s < tables[pe].size(); ++s) {
      sum += static_cast<std::uint64_t>(tables[pe][s]);
      weighted += static_cast<std::uint64_t>(tables[pe][s]) * bench_weight(pe, s);
    }
  }
  if (sum != updates) bench_wrong(program, "sum", sum, updates);
  if (weighted != expected_weighted) {
    bench_wrong(program, "weighted sum", weighted, expected_weighted);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int pes = options.pes > 0 ? static_cast<int>(options.pes) : 2;
  const auto count = static_cast<std::size_t>(pes);
  const auto capacity = options.buffer > 0 ? static_cast<std::size_t>(options.buffer) : best_capacity;
  const auto depth = options.depth > 0 ? static_cast<std::size_t>(options.depth) : best_depth;
  if (pes > most_pes) bench_bad_option(argv[0], "--pes", "(64 at most)");

  std::vector<lane> lanes(count * count);
  for (auto& l : lanes) {
    l.slots = std::make_unique<slot[]>(depth);
    l.spots = std::make_unique<spot[]>(depth * stride(capacity));
  }
  std::vector<std::vector<std::int64_t>> tables(count);
  std::vector<std::uint64_t> expected(count);
  bench::barrier together(pes);
  double start = 0;

  bench::run_team(pes, [&](int me) {
    const auto mine = static_cast<std::size_t>(me);
    const auto table_size = static_cast<std::uint64_t>(options.table);
    tables[mine].assign(table_size, 0);
    std::vector<std::int64_t> packed(static_cast<std::size_t>(options.updates));
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] = bench_packed_index(mine, i, count, table_size);
      expected[mine] += bench_weight(packed[i] & 0xffff, static_cast<std::uint64_t>(packed[i]) >> 16);
    }
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      std::fill(tables[mine].begin(), tables[mine].end(), 0);
      pe_program program(me, pes, capacity, depth, lanes, tables[mine]);
      together.arrive_and_wait();
      if (me == 0) start = bench_now();
      together.arrive_and_wait();
      program.run(packed);
      together.arrive_and_wait();
      if (me == 0) {
        const double seconds = bench_now() - start;
        check(argv[0], tables, expected, count * packed.size());
        if (round >= options.warmup) bench_report(seconds, "");
      }
      together.arrive_and_wait();  // no thread clears a table that is still being checked
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
