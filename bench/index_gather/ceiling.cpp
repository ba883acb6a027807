/// Question: what does the index-gather cost when nothing but the data movement is left?
///
/// The shortest program that does the table's work by messages in shared memory: every PE is a
/// pinned thread; a request is a 4-byte spot written in place into a buffer of its destination, a
/// reply is the 8-byte value at the same place of the same buffer. A buffer keeps its order on the
/// way there and back, so the slot of target[] stays at home, in a list beside the buffer.
///
///        requester                          server
///    lane: | spots | values | ...             a ring for each (requester, server)
///          state: count -> answered           (slots: the requester's alone)
///
/// (Reading the other thread's table in place may well be faster on one machine; that is not a
/// message, so this is not its ceiling. It was not tried.)
///
/// Invariants
///   C1  Buffers of a lane are published, answered and collected in turn; the requester never
///       publishes a buffer that it has not collected. Hence the state needs no "free".
///   C2  A requester that waits answers its own inbound lanes meanwhile.
///   C3  A lane's last buffer is marked; a PE is done when it has answered the mark of every lane,
///       and collected all that it asked for.
///
/// Edges
///   asked     state.store(release) in hand_over -> state.load(acquire) in answer_all   the spots
///   answered  state.store(release) in answer_all -> state.load(acquire) in collect     the values
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

constexpr std::uint32_t answered = 0;          // else: the count plus one, perhaps with the mark
constexpr std::uint32_t last_mark = 1u << 31;  // in a state: no further buffer follows
constexpr std::size_t best_capacity = 2048;    // requests in a buffer
constexpr std::size_t best_depth = 64;         // buffers in a lane
constexpr int most_pes = 64;

/// Items from one buffer to the next: fill_two writes one past the end of a buffer that is exactly
/// full, and that place must not lie in another buffer, nor on its cache line.
constexpr std::size_t stride(std::size_t capacity) { return capacity + bench::line / sizeof(spot); }

struct alignas(bench::line) buffer_state {
  std::atomic<std::uint32_t> word{answered};
};

struct lane {
  std::unique_ptr<buffer_state[]> states;
  std::unique_ptr<spot[]> spots;           // stride() for each state
  std::unique_ptr<std::int64_t[]> values;  // likewise
  // The requester's: buffers published and collected so far (counts, not places).
  alignas(bench::line) std::unique_ptr<std::uint32_t[]> slots;
  std::unique_ptr<std::uint32_t[]> counts;
  std::size_t published = 0;
  std::size_t collected = 0;
  // The server's.
  alignas(bench::line) std::size_t served = 0;
  bool ended = false;
};

class pe_program {
 public:
  pe_program(int me, int pes, std::size_t capacity, std::size_t depth, std::vector<lane>& lanes,
             const std::vector<std::int64_t>& table, std::vector<std::int64_t>& target)
      : me_(me),
        pes_(pes),
        capacity_(capacity),
        depth_(depth),
        lanes_(lanes),
        table_(table.data()),
        target_(target.data()) {}

  /// Reads every packed index; returns when all replies are in, and all requests to here answered.
  void run(const std::vector<std::int64_t>& packed) {
    for (int pe = 0; pe < pes_; ++pe) {
      open_buffer(pe);
      inbound(pe).ended = pe == me_;
    }
    // In runs, without a check for each read, as in the histogram's ceiling.
    const auto enough = std::max<std::size_t>(capacity_ / 8, 1);
    for (std::size_t i = 0; i != packed.size();) {
      std::size_t room = packed.size() - i;
      for (int pe = 0; pe < pes_; ++pe) room = std::min(room, capacity_ - fill_[pe]);
      if (pes_ == 2) {
        fill_two(packed.data(), i, i + room);
      } else {
        fill_any(packed.data(), i, i + room);
      }
      i += room;
      for (int pe = 0; pe < pes_; ++pe) {
        if (capacity_ - fill_[pe] < enough) hand_over(pe, 0);
      }
    }
    for (int pe = 0; pe < pes_; ++pe) hand_over(pe, last_mark);
    bench::wait_until([&] {
      answer_all();
      bool done = true;
      for (int pe = 0; pe < pes_; ++pe) {
        if (pe == me_) continue;
        collect(pe);
        done = done && inbound(pe).ended && outbound(pe).collected == outbound(pe).published;
      }
      return done;
    });
  }

 private:
  lane& outbound(int pe) { return lanes_[static_cast<std::size_t>(me_ * pes_ + pe)]; }
  lane& inbound(int pe) { return lanes_[static_cast<std::size_t>(pe * pes_ + me_)]; }

  void open_buffer(int pe) {
    lane& out = outbound(pe);
    const auto at = out.published % depth_ * stride(capacity_);
    spots_[pe] = out.spots.get() + at;
    slots_[pe] = out.slots.get() + at;
    fill_[pe] = 0;
  }

  void fill_any(const std::int64_t* packed, std::size_t i, std::size_t end) {
    for (; i != end; ++i) {
      const auto pe = packed[i] & 0xffff;
      const auto at = fill_[pe]++;
      spots_[pe][at] = static_cast<spot>(packed[i] >> 16);
      slots_[pe][at] = static_cast<std::uint32_t>(i);
    }
  }

  // Two destinations: both places stay in registers, as in the histogram's ceiling.
  void fill_two(const std::int64_t* packed, std::size_t i, std::size_t end) {
    spot* const spots_zero = spots_[0];
    spot* const spots_one = spots_[1];
    std::uint32_t* const slots_zero = slots_[0];
    std::uint32_t* const slots_one = slots_[1];
    std::size_t zero = fill_[0];
    std::size_t one = fill_[1];
    for (; i != end; ++i) {
      const auto to_one = static_cast<std::size_t>(packed[i] & 1);
      spots_zero[zero] = spots_one[one] = static_cast<spot>(packed[i] >> 16);
      slots_zero[zero] = slots_one[one] = static_cast<std::uint32_t>(i);
      one += to_one;
      zero += 1 - to_one;
    }
    fill_[0] = zero;
    fill_[1] = one;
  }

  void hand_over(int pe, std::uint32_t mark) {
    const auto count = fill_[pe];
    lane& out = outbound(pe);
    if (pe == me_) {
      for (std::size_t i = 0; i < count; ++i) target_[slots_[pe][i]] = table_[spots_[pe][i]];
      fill_[pe] = 0;
      return;
    }
    const auto at = out.published % depth_;
    out.counts[at] = static_cast<std::uint32_t>(count);
    out.states[at].word.store(static_cast<std::uint32_t>(count + 1) | mark,
                              std::memory_order_release);  // asked
    ++out.published;
    bench::wait_until([&] {
      answer_all();
      collect(pe);
      return out.published - out.collected < depth_;
    });
    open_buffer(pe);
  }

  void answer_all() {
    for (int pe = 0; pe < pes_; ++pe) {
      if (pe == me_) continue;
      lane& in = inbound(pe);
      auto& state = in.states[in.served % depth_].word;
      const auto seen = state.load(std::memory_order_acquire);  // asked
      if (seen == answered) continue;
      const auto at = in.served % depth_ * stride(capacity_);
      const spot* const spots = in.spots.get() + at;
      std::int64_t* const values = in.values.get() + at;
      const std::size_t count = (seen & ~last_mark) - 1;
      for (std::size_t i = 0; i < count; ++i) values[i] = table_[spots[i]];
      state.store(answered, std::memory_order_release);  // answered
      in.ended = (seen & last_mark) != 0;
      ++in.served;
    }
  }

  void collect(int pe) {
    lane& out = outbound(pe);
    while (out.collected != out.published) {
      const auto at = out.collected % depth_;
      if (out.states[at].word.load(std::memory_order_acquire) != answered) return;  // answered
      const std::uint32_t* const slots = out.slots.get() + at * stride(capacity_);
      const std::int64_t* const values = out.values.get() + at * stride(capacity_);
      for (std::size_t i = 0; i < out.counts[at]; ++i) target_[slots[i]] = values[i];
      ++out.collected;
    }
  }

  const int me_;
  const int pes_;
  const std::size_t capacity_;
  const std::size_t depth_;
  std::vector<lane>& lanes_;
  const std::int64_t* const table_;
  std::int64_t* const target_;
  std::size_t fill_[most_pes] = {};
  spot* spots_[most_pes] = {};
  std::uint32_t* slots_[most_pes] = {};
};

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
    l.states = std::make_unique<buffer_state[]>(depth);
    l.spots = std::make_unique<spot[]>(depth * stride(capacity));
    l.values = std::make_unique<std::int64_t[]>(depth * stride(capacity));
    l.slots = std::make_unique<std::uint32_t[]>(depth * stride(capacity));
    l.counts = std::make_unique<std::uint32_t[]>(depth);
  }
  bench::barrier together(pes);
  double start = 0;

  bench::run_team(pes, [&](int me) {
    const auto mine = static_cast<std::size_t>(me);
    const auto table_size = static_cast<std::uint64_t>(options.table);
    std::vector<std::int64_t> table(table_size);
    for (std::size_t s = 0; s < table.size(); ++s) table[s] = bench_table_value(mine, s);
    std::vector<std::int64_t> packed(static_cast<std::size_t>(options.updates));
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i] = bench_packed_index(mine, i, count, table_size);
    }
    std::vector<std::int64_t> target(packed.size());
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      std::fill(target.begin(), target.end(), 0);
      pe_program program(me, pes, capacity, depth, lanes, table, target);
      together.arrive_and_wait();
      if (me == 0) start = bench_now();
      together.arrive_and_wait();
      program.run(packed);
      together.arrive_and_wait();
      const double seconds = bench_now() - start;
      for (std::size_t i = 0; i < packed.size(); ++i) {
        const auto global = static_cast<std::uint64_t>(packed[i]);
        const auto expected = bench_table_value(global & 0xffff, global >> 16);
        if (target[i] != expected) {
          bench_wrong(argv[0], "a value read", static_cast<std::uint64_t>(target[i]),
                      static_cast<std::uint64_t>(expected));
        }
      }
      together.arrive_and_wait();  // the sample is printed when every PE's answers are right
      if (me == 0 && round >= options.warmup) bench_report(seconds, "");
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
