/// Question: what does the triangle count cost when nothing but the data movement is left?
///
/// Every PE is a pinned thread. For each non-zero (i, j) of a local row i, the owner of row j is
/// asked about every k < j of row i. All these questions lie in one record, written in place into a
/// buffer of the owner:
///
///    | local row of j | n | k0 | k1 | ... | k(n-1) |        4 bytes each
///
/// A message a wedge would repeat j each time, and let the owner search row j anew for each k. The
/// lanes and their invariants are those of the histogram's ceiling, see there; only, records vary in
/// length, so the room is checked for each, and a buffer holds the longest row at least.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "../common/team.hpp"
#include "input.hpp"

namespace {

using word = std::uint32_t;

constexpr std::uint32_t free_buffer = 0;
constexpr std::uint32_t last_mark = 1u << 31;  // in a state: no further buffer follows
constexpr std::size_t best_capacity = 4096;    // words in a buffer
constexpr std::size_t best_depth = 64;         // buffers in a lane
constexpr int most_pes = 64;

/// State of one buffer: `free_buffer`, or its count of words plus one, perhaps with `last_mark`.
struct alignas(bench::line) slot {
  std::atomic<std::uint32_t> state{free_buffer};
};

struct lane {
  std::unique_ptr<slot[]> slots;
  std::unique_ptr<word[]> words;  // `capacity` for each slot
  alignas(bench::line) std::size_t filling = 0;
  alignas(bench::line) std::size_t emptying = 0;
  bool ended = false;
};

class pe_program {
 public:
  pe_program(int me, int pes, std::size_t capacity, std::size_t depth, std::vector<lane>& lanes,
             const bench::local_rows& rows)
      : me_(me), pes_(pes), capacity_(capacity), depth_(depth), lanes_(lanes), rows_(rows) {}

  /// Asks everything; returns the number of questions to here whose answer was yes.
  std::uint64_t run() {
    for (int pe = 0; pe < pes_; ++pe) {
      open_buffer(pe);
      inbound(pe).ended = pe == me_;
    }
    const auto pes = static_cast<word>(pes_);
    for (std::size_t i = 0; i < rows_.count(); ++i) {
      const auto row = rows_.row(i);
      for (std::size_t n = 1; n < row.size(); ++n) {  // the first column has no k below it
        const word j = row[n];
        const int pe = static_cast<int>(j % pes);
        if (static_cast<std::size_t>(end_[pe] - cursor_[pe]) < n + 2) hand_over(pe, 0);
        *cursor_[pe]++ = j / pes;
        *cursor_[pe]++ = static_cast<word>(n);
        cursor_[pe] = std::copy_n(row.data(), n, cursor_[pe]);
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
    return found_;
  }

 private:
  lane& outbound(int pe) { return lanes_[static_cast<std::size_t>(me_ * pes_ + pe)]; }
  lane& inbound(int pe) { return lanes_[static_cast<std::size_t>(pe * pes_ + me_)]; }

  void open_buffer(int pe) {
    lane& out = outbound(pe);
    start_[pe] = cursor_[pe] = out.words.get() + out.filling * capacity_;
    end_[pe] = start_[pe] + capacity_;
  }

  void unload(const word* from, std::size_t count) {
    for (const word* const end = from + count; from != end;) {
      const word row = *from++;
      const std::size_t n = *from++;
      found_ += bench::row_contains_of(rows_.row(row), {from, n});
      from += n;
    }
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
    open_buffer(pe);
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
      unload(in.words.get() + in.emptying * capacity_, (seen & ~last_mark) - 1);
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
  const bench::local_rows& rows_;
  std::uint64_t found_ = 0;
  word* cursor_[most_pes] = {};
  word* start_[most_pes] = {};
  word* end_[most_pes] = {};
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int pes = options.pes > 0 ? static_cast<int>(options.pes) : 2;
  const auto count = static_cast<std::size_t>(pes);
  if (pes > most_pes) bench_bad_option(argv[0], "--pes", "(64 at most)");
  const auto graph = bench::make_graph(argv[0], options, count);
  const auto expected = bench::expected_answer(graph);

  std::size_t longest = 0;
  for (shunt::graph::vertex v = 0; v < graph.vertices(); ++v) {
    longest = std::max(longest, graph.row(v).size());
  }
  const auto capacity =
      std::max(longest + 2, options.buffer > 0 ? static_cast<std::size_t>(options.buffer) : best_capacity);
  const auto depth = options.depth > 0 ? static_cast<std::size_t>(options.depth) : best_depth;
  std::vector<lane> lanes(count * count);
  for (auto& l : lanes) {
    l.slots = std::make_unique<slot[]>(depth);
    l.words = std::make_unique<word[]>(depth * capacity);
  }
  std::vector<std::uint64_t> found(count);
  bench::barrier together(pes);
  double start = 0;

  bench::run_team(pes, [&](int me) {
    const auto mine = static_cast<std::size_t>(me);
    const bench::local_rows rows(graph, mine, count);
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      pe_program program(me, pes, capacity, depth, lanes, rows);
      together.arrive_and_wait();
      if (me == 0) start = bench_now();
      together.arrive_and_wait();
      found[mine] = program.run();
      together.arrive_and_wait();
      if (me != 0) continue;
      const double seconds = bench_now() - start;
      std::uint64_t total = 0;
      for (const auto part : found) total += part;
      if (total != expected.triangles) {
        bench_wrong(argv[0], "number of triangles", total, expected.triangles);
      }
      if (round >= options.warmup) bench_report(seconds, expected.members().c_str());
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
