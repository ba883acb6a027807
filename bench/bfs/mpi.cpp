/// Question: what does breadth-first search cost as it is written for MPI without a library: level by level, a buffer a
/// destination?
///
/// Vertex v is rank v % ranks's. For each entry of a frontier's row a rank tells the neighbour's owner; what is its own
/// it does at once. A buffer is sent when it is full, while the next one fills, and receives are posted ahead. The
/// reference program of Graph500 (aml) has the same plan.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include <bale/place.hpp>
#include <graph/roots.hpp>

#include "../common/mpi.hpp"
#include "problems.hpp"

namespace {

using shunt::apps::dealt;
using shunt::graph::vertex;

/// Of an entry: the row of one end, at its owner, and the other end.
struct item {
  std::uint32_t row;
  vertex other;
};

constexpr std::size_t items_a_buffer = 500;  // 4,000 bytes, which Open MPI sends at once; the best of 256 to 16,384
constexpr std::size_t receives = 4;
constexpr int tag = 1;

/// Buffers to and from all other ranks; `Take` gets what arrives.
template <class Take>
class buffers {
 public:
  buffers(int me, int ranks, Take take) : to_(static_cast<std::size_t>(ranks)), me_(me), ranks_(ranks), take_(take) {
    for (std::size_t i = 0; i < receives && ranks > 1; ++i) post(i);
  }
  ~buffers() {
    for (std::size_t i = 0; i < receives && ranks_ > 1; ++i) {
      MPI_Cancel(&from_[i].request);
      MPI_Wait(&from_[i].request, MPI_STATUS_IGNORE);
    }
  }
  buffers(const buffers&) = delete;
  buffers& operator=(const buffers&) = delete;

  void send(int rank, const item& one) {
    if (rank == me_) return take_(one);
    auto& lane = to_[static_cast<std::size_t>(rank)];
    auto& filling = lane.pair[lane.now];
    filling.items[filling.count++] = one;
    if (filling.count == items_a_buffer) depart(rank);
  }
  /// Collective. Everything has been taken everywhere. An empty buffer is the end of a rank's.
  void finish() {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank == me_) continue;
      if (to_[static_cast<std::size_t>(rank)].filling().count != 0) depart(rank);
      depart(rank);
    }
    while (ended_ != ranks_ - 1) poll();
    ended_ = 0;
    for (auto& lane : to_) {
      for (auto& sent : lane.pair) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
    }
  }

 private:
  struct buffer {
    std::array<item, items_a_buffer> items;
    std::size_t count = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct line {
    std::vector<buffer> pair{2};
    std::size_t now = 0;
    buffer& filling() { return pair[now]; }
  };

  void post(std::size_t i) {
    MPI_Irecv(from_[i].items.data(), items_a_buffer * sizeof(item), MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
              &from_[i].request);
  }
  void depart(int rank) {
    auto& lane = to_[static_cast<std::size_t>(rank)];
    auto& full = lane.filling();
    MPI_Isend(full.items.data(), static_cast<int>(full.count * sizeof(item)), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
              &full.request);
    full.count = 0;
    lane.now ^= 1;
    for (int gone = 0;;) {
      MPI_Test(&lane.filling().request, &gone, MPI_STATUS_IGNORE);
      if (gone != 0) return;
      poll();
    }
  }
  /// Receives match in the order in which they were posted, so only the oldest is looked at.
  void poll() {
    for (int came = 0;;) {
      auto& oldest = from_[oldest_];
      MPI_Status status;
      MPI_Test(&oldest.request, &came, &status);
      if (came == 0) return;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      ended_ += bytes == 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(item); ++i) take_(oldest.items[i]);
      post(oldest_);
      oldest_ = (oldest_ + 1) % receives;
    }
  }

  std::vector<line> to_;
  std::vector<buffer> from_{receives};
  std::size_t oldest_ = 0;
  int me_, ranks_, ended_ = 0;
  Take take_;
};

class program {
 public:
  program(int me, int ranks, std::uint64_t vertices)
      : home_(me, ranks), me_(me), ranks_(ranks), rows_(home_.count(vertices)) {}

  /// Collective.
  void construct(const std::vector<shunt::graph::edge>& entries) {
    offsets_.assign(rows_ + std::size_t{1}, 0);
    std::vector<item> arrived;
    arrived.reserve(2 * entries.size() + entries.size() / 16);
    const auto take = [&](const item& one) { ++offsets_[one.row + std::size_t{1}], arrived.push_back(one); };
    buffers lanes(me_, ranks_, take);
    for (const auto [a, b] : entries) {
      if (a == b) continue;
      const auto at_a = home_.where(a), at_b = home_.where(b);
      lanes.send(at_a.pe, {at_a.spot, b});
      lanes.send(at_b.pe, {at_b.spot, a});
    }
    lanes.finish();
    for (std::size_t l = 1; l < offsets_.size(); ++l) offsets_[l] += offsets_[l - 1];
    columns_.resize(offsets_.back());
    for (const auto& one : arrived) columns_[offsets_[one.row]++] = one.other;
    std::copy_backward(offsets_.begin(), offsets_.end() - 1, offsets_.end());
    offsets_.front() = 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Collective. Leaves parents and levels.
  void search(vertex root) {
    parents_.assign(rows_, none);
    levels_.assign(rows_, none);
    std::uint32_t level = 0;
    std::vector<std::uint32_t> next, now;
    const auto take = [&](const item& one) {
      if (parents_[one.row] != none) return;
      parents_[one.row] = one.other;
      levels_[one.row] = level;
      next.push_back(one.row);
    };
    buffers lanes(me_, ranks_, take);
    if (const auto at = home_.where(root); at.pe == me_) take({at.spot, root});
    for (;;) {
      now = std::exchange(next, {});
      if (bench::mpi_sum(now.size()) == 0) return;
      ++level;
      for (const auto row : now) {
        const auto from = home_.global(row);
        for (auto i = offsets_[row]; i < offsets_[row + std::size_t{1}]; ++i) {
          const auto [rank, to] = home_.where(columns_[i]);
          lanes.send(rank, {to, from});
        }
      }
      lanes.finish();
    }
  }

  [[nodiscard]] std::uint64_t degree(std::uint32_t row) const { return offsets_[row + std::size_t{1}] - offsets_[row]; }
  [[nodiscard]] bool owns(vertex v) const {
    const auto at = home_.where(v);
    return at.pe == me_ && degree(at.spot) != 0;
  }
  /// Collective. Edges, and the sum, over what was reached.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> answer() const {
    std::uint64_t ends = 0, sum = 0;
    for (std::uint32_t l = 0; l < rows_; ++l) {
      if (parents_[l] == none) continue;
      ends += degree(l);
      sum += std::uint64_t{levels_[l]} * home_.global(l);
    }
    return {bench::mpi_sum(ends) / 2, bench::mpi_sum(sum)};
  }

 private:
  static constexpr vertex none = ~vertex{0};

  dealt home_;
  int me_, ranks_;
  std::uint32_t rows_;
  std::vector<std::uint64_t> offsets_;
  std::vector<vertex> columns_;
  std::vector<vertex> parents_;
  std::vector<std::uint32_t> levels_;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::mpi_start(&argc, &argv, options);
  int me = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bench::searches input(argv[0], options);
  {
    const auto entries = input.part(me, ranks);
    program run(me, ranks, input.vertices);
    std::vector<vertex> roots;
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      bench::rates all;
      if (input.constructs || round == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = bench_now();
        run.construct(entries);
        all.seconds = bench::mpi_max(bench_now() - start);
      }
      if (input.constructs) {
        if (me == 0 && round >= options.warmup) bench_report(all.seconds, "");
        continue;
      }
      all = {};
      if (roots.empty()) {
        roots = shunt::apps::draw_roots(
            input.vertices, static_cast<std::uint64_t>(options.rounds), BENCH_SEED,
            [&run](vertex v) { return run.owns(v); }, [](std::uint64_t n) { return bench::mpi_sum(n); });
      }
      for (const auto root : roots) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = bench_now();
        run.search(root);
        const double seconds = bench::mpi_max(bench_now() - start);
        const auto [edges, sum] = run.answer();
        all.add(seconds, edges, sum);
      }
      if (me == 0 && round >= options.warmup) all.print();
    }
  }
  MPI_Finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
