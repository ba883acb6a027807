/// Question: what do the programs of bale cost as they are written for MPI without a library: a list a destination, and
/// one MPI_Alltoallv a step?
///
/// The steps are those of the ceiling. Where that one writes in place, this one sends what is to be written, and where
/// it reads in place, this one asks and is answered. Lists keep their memory from round to round.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <bale/order.hpp>
#include <bale/place.hpp>
#include <bale/upper_triangle.hpp>

#include "../common/mpi.hpp"
#include "problems.hpp"

namespace {

using namespace shunt::apps;

using bench::seed;

/// What one rank sends to each other one in one step, and what it gets.
template <class T>
class exchange {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit exchange(int ranks)
      : lists_(static_cast<std::size_t>(ranks)), to_(lists_.size()), from_(to_), to_at_(to_), from_at_(to_) {
    MPI_Type_contiguous(static_cast<int>(sizeof(T)), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~exchange() { MPI_Type_free(&type_); }
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  void begin() {
    for (auto& list : lists_) list.clear();
  }
  std::vector<T>& to(int rank) { return lists_[static_cast<std::size_t>(rank)]; }

  /// Collective.
  void send() {
    for (std::size_t r = 0; r < lists_.size(); ++r) to_[r] = static_cast<int>(lists_[r].size());
    MPI_Alltoall(to_.data(), 1, MPI_INT, from_.data(), 1, MPI_INT, MPI_COMM_WORLD);
    sent_.clear();
    int sent = 0, got = 0;
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      to_at_[r] = std::exchange(sent, sent + to_[r]);
      from_at_[r] = std::exchange(got, got + from_[r]);
      sent_.insert(sent_.end(), lists_[r].begin(), lists_[r].end());
    }
    got_.resize(static_cast<std::size_t>(got));
    MPI_Alltoallv(sent_.data(), to_.data(), to_at_.data(), type_, got_.data(), from_.data(), from_at_.data(), type_,
                  MPI_COMM_WORLD);
  }
  /// After send(): what came, by rank. It may be answered in place.
  std::vector<T>& got() { return got_; }
  /// Collective, after send(): each rank gets back what it sent, as the others have changed it. \return by rank
  std::vector<T>& answer() {
    MPI_Alltoallv(got_.data(), from_.data(), from_at_.data(), type_, sent_.data(), to_.data(), to_at_.data(), type_,
                  MPI_COMM_WORLD);
    return sent_;
  }
  /// After send(): where what went to that rank begins in answer().
  std::size_t began(int rank) const { return static_cast<std::size_t>(to_at_[static_cast<std::size_t>(rank)]); }

 private:
  std::vector<std::vector<T>> lists_;
  std::vector<int> to_, from_, to_at_, from_at_;
  std::vector<T> sent_, got_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

class program {
 public:
  program(int me, int ranks, ordinal rows)
      : a(dealt(me, ranks), rows, rows),
        result(a),
        me_(me),
        ranks_(ranks),
        rows_(rows),
        home_(me, ranks),
        entries_(ranks),
        drawn_(ranks),
        numbers_(ranks) {}

  // kernel: random_permutation
  void random_permutation(permutation& to, std::uint64_t seed_of) {
    const random_keys keys(me_, ranks_, rows_, seed_of);
    drawn_.begin();
    keys.each([this](int rank, drawn one) { drawn_.to(rank).push_back(one); });
    drawn_.send();
    auto& here = drawn_.got();
    keys.sort(here);
    std::uint64_t count = here.size(), first = 0;
    MPI_Exscan(&count, &first, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (me_ == 0) first = 0;
    entries_.begin();
    deal_out(here, first, ranks_, here.size() + 1, [this](const place& at, auto indices) {
      auto spot = at.spot;
      for (const auto index : indices) entries_.to(at.pe).push_back({spot++, index});
    });
    entries_.send();
    to.resize(home_.count(rows_));
    for (const auto& e : entries_.got()) to[e.row] = e.column;
  }
  // end of kernel

  // kernel: transpose
  void transpose() {
    entries_.begin();
    for (ordinal l = 0; l < a.count(); ++l) {
      for (const auto column : a.row(l)) {
        const auto [rank, spot] = home_.where(column);
        entries_.to(rank).push_back({spot, home_.global(l)});
      }
    }
    entries_.send();
    result.offsets.assign(home_.count(rows_) + std::size_t{1}, 0);
    for (const auto& e : entries_.got()) ++result.offsets[e.row + 1];
    result.make_room();
    for (const auto& e : entries_.got()) result.columns[result.offsets[e.row]++] = e.column;
    std::copy_backward(result.offsets.begin(), result.offsets.end() - 1, result.offsets.end());
    result.offsets.front() = 0;
  }
  // end of kernel

  /// Asks for the columns' new names; then each row travels as its place, its length and its columns.
  // kernel: permute_matrix
  void permute_matrix() {
    numbers_.begin();
    for (const auto column : a.columns) {
      const auto [rank, spot] = home_.where(column);
      numbers_.to(rank).push_back(spot);
    }
    numbers_.send();
    for (auto& spot : numbers_.got()) spot = c[spot];
    const auto& answers = numbers_.answer();
    next_.resize(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) next_[static_cast<std::size_t>(rank)] = numbers_.began(rank);
    renamed_.clear();
    for (const auto column : a.columns) {
      renamed_.push_back(answers[next_[static_cast<std::size_t>(home_.where(column).pe)]++]);
    }
    numbers_.begin();
    for (ordinal l = 0; l < a.count(); ++l) {
      const auto [rank, spot] = home_.where(r[l]);
      auto& list = numbers_.to(rank);
      const auto row = a.in_row(l, renamed_);
      list.push_back(spot);
      list.push_back(a.length(l));
      list.insert(list.end(), row.begin(), row.end());
    }
    numbers_.send();
    const auto& got = numbers_.got();
    for (std::size_t i = 0; i < got.size(); i += 2 + got[i + 1]) result.offsets[got[i] + 1] = got[i + 1];
    result.offsets.front() = 0;
    result.make_room();
    for (std::size_t i = 0; i < got.size(); i += 2 + got[i + 1]) {
      const auto* const first = got.data() + i + 2;
      std::copy(first, first + got[i + 1], result.columns.data() + result.offsets[got[i]]);
    }
  }
  // end of kernel

  /// Two exchanges a level. \return levels. The transpose of `a` is in `result`.
  // kernel: topological_sort
  std::uint64_t topological_sort() {
    rows_left left(a);
    order found(a);
    std::uint64_t placed = 0;
    for (std::uint64_t levels = 0;; ++levels) {
      const auto now = left.take();
      std::uint64_t count = now.size(), before = 0, more = 0;
      MPI_Exscan(&count, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      if (me_ == 0) before = 0;
      MPI_Allreduce(&count, &more, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      if (more == 0) {
        if (placed != rows_) throw std::logic_error("a matrix without a topological sort");
        return levels;
      }
      auto position = static_cast<ordinal>(rows_ - placed - before);
      placed += more;
      entries_.begin();
      for (const auto row : now) {
        found.rows[row] = --position;
        const auto [rank, spot] = home_.where(left.only_column(row));
        entries_.to(rank).push_back({spot, position});
      }
      entries_.send();
      const auto columns = entries_.got();  // a copy: the next exchange needs the lists
      entries_.begin();
      for (const auto& e : columns) {
        found.columns[e.row] = e.column;
        for (const auto row : result.row(e.row)) {
          const auto [rank, local] = home_.where(row);
          entries_.to(rank).push_back({local, home_.global(e.row)});
        }
      }
      entries_.send();
      for (const auto& e : entries_.got()) left.drop(e.row, e.column);
    }
  }
  // end of kernel

  matrix a, result;
  permutation r, c;

 private:
  const int me_;
  const int ranks_;
  const ordinal rows_;
  const dealt home_;
  exchange<entry> entries_;
  exchange<drawn> drawn_;
  exchange<std::uint32_t> numbers_;
  permutation renamed_;
  std::vector<std::size_t> next_;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  bench::mpi_start(&argc, &argv, options);
  int me = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto rows = static_cast<ordinal>(options.rows * ranks);
  const bench::wanted asked(options.what);
  if (!asked.known() || asked.darts) bench_bad_option(argv[0], "--what", options.what);
  {
    const dealt home(me, ranks);
    program run(me, ranks, rows);
    if (!asked.permutes) {
      const auto nonzeros = static_cast<double>(options.row_nonzeros);
      asked.sorts ? fill_upper_triangle(run.a, nonzeros, seed) : bench::fill_random(run.a, nonzeros);
      run.random_permutation(run.r, seed);
      run.random_permutation(run.c, seed + 1);
      if (asked.sorts) {
        run.permute_matrix();
        run.a = run.result;
        run.transpose();
      }
    }
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      std::uint64_t levels = 0;
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = bench_now();
      if (asked.permutes) run.random_permutation(run.r, seed);
      if (asked.transposes) run.transpose();
      if (asked.permutes_matrix) run.permute_matrix();
      if (asked.sorts) levels = run.topological_sort();
      MPI_Barrier(MPI_COMM_WORLD);
      const double seconds = bench::mpi_max(bench_now() - start);
      const auto sum = bench::mpi_sum(asked.permutes ? bench::sum_of(home, run.r) : bench::sum_of(run.result));
      if (me != 0 || round < options.warmup) continue;
      bench_report(seconds, (asked.sorts ? bench::report_levels(levels) : bench::report_sum(sum)).c_str());
    }
  }
  MPI_Finalize();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
