/// Question: what do the programs of bale cost when nothing but the data movement is left?
///
/// Every PE is a pinned thread, and arrays are read and written in place: there is no message. What one thread may not
/// write for another, it puts into a list for that thread; a barrier stands between filling and reading. (The ceilings
/// of the other tables move messages. Here plain loops over shared arrays are what messages compete with.)
///
/// Invariants
///   B1  Between two barriers each place is written by one thread, and then read by none but that thread.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <bale/order.hpp>
#include <bale/place.hpp>
#include <bale/upper_triangle.hpp>

#include "../common/program.h"
#include "../common/team.hpp"
#include "problems.hpp"

namespace {

using namespace shunt::apps;

using bench::seed;

/// What one thread has: its parts of the arrays, and its lists for each other thread.
struct part {
  matrix a, result;
  permutation r, c, renamed;
  std::vector<std::vector<entry>> entries_for;  // by thread
  std::vector<std::vector<drawn>> drawn_for;
  std::vector<drawn> here;
  std::vector<std::uint32_t> ready;
  std::uint64_t count = 0;  // of what it has just placed

  part(const dealt& home, int pes, ordinal rows)
      : a(home, rows, rows), result(a), entries_for(static_cast<std::size_t>(pes)), drawn_for(entries_for.size()) {}
};

class program {
 public:
  program(int me, int pes, ordinal rows, std::vector<std::unique_ptr<part>>& all, bench::barrier& together)
      : me_(me), pes_(pes), rows_(rows), all_(all), together_(together), home_(me, pes) {}

  part& mine() { return of(me_); }

  void random_permutation(permutation part::* to, std::uint64_t seed_of) {
    const random_keys keys(me_, pes_, rows_, seed_of);
    for (auto& list : mine().drawn_for) list.clear();
    keys.each([this](int pe, drawn one) { mine().drawn_for[static_cast<std::size_t>(pe)].push_back(one); });
    (mine().*to).resize(home_.count(rows_));
    together_.arrive_and_wait();
    mine().here.clear();
    for (int from = 0; from < pes_; ++from) {
      const auto& list = of(from).drawn_for[static_cast<std::size_t>(me_)];
      mine().here.insert(mine().here.end(), list.begin(), list.end());
    }
    keys.sort(mine().here);
    together_.arrive_and_wait();
    std::uint64_t first = 0;
    for (int pe = 0; pe < me_; ++pe) first += of(pe).here.size();
    deal_out(mine().here, first, pes_, mine().here.size() + 1, [&](const place& at, auto indices) {
      std::copy(indices.begin(), indices.end(), (of(at.pe).*to).begin() + at.spot);
    });
    together_.arrive_and_wait();
  }

  void transpose() {
    auto& lists = mine().entries_for;
    for (auto& list : lists) list.clear();
    const matrix& a = mine().a;
    for (ordinal l = 0; l < a.count(); ++l) {
      for (const auto column : a.row(l)) {
        const auto [pe, spot] = home_.where(column);
        lists[static_cast<std::size_t>(pe)].push_back({spot, home_.global(l)});
      }
    }
    together_.arrive_and_wait();
    matrix& t = mine().result;
    t.offsets.assign(home_.count(rows_) + std::size_t{1}, 0);
    each_list([&t](const std::vector<entry>& list) {
      for (const auto& e : list) ++t.offsets[e.row + 1];
    });
    t.make_room();
    each_list([&t](const std::vector<entry>& list) {
      for (const auto& e : list) t.columns[t.offsets[e.row]++] = e.column;
    });
    std::copy_backward(t.offsets.begin(), t.offsets.end() - 1, t.offsets.end());
    t.offsets.front() = 0;
    together_.arrive_and_wait();
  }

  void permute_matrix() {
    const matrix& a = mine().a;
    auto& renamed = mine().renamed;
    renamed.resize(a.columns.size());
    for (std::size_t i = 0; i < renamed.size(); ++i) {
      const auto [pe, spot] = home_.where(a.columns[i]);
      renamed[i] = of(pe).c[spot];
    }
    for (ordinal l = 0; l < a.count(); ++l) {
      const auto [pe, spot] = home_.where(mine().r[l]);
      of(pe).result.offsets[spot + 1] = a.length(l);
    }
    together_.arrive_and_wait();
    mine().result.offsets.front() = 0;
    mine().result.make_room();
    together_.arrive_and_wait();
    for (ordinal l = 0; l < a.count(); ++l) {
      const auto [pe, spot] = home_.where(mine().r[l]);
      matrix& to = of(pe).result;
      const auto row = a.in_row(l, renamed);
      std::copy(row.begin(), row.end(), to.columns.data() + to.offsets[spot]);
    }
    together_.arrive_and_wait();
  }

  /// \return levels. The transpose of `a` is in `result`.
  std::uint64_t topological_sort() {
    rows_left left(mine().a);
    order found(mine().a);
    std::uint64_t placed = 0;
    for (std::uint64_t levels = 0;; ++levels) {
      const auto now = left.take();
      mine().count = now.size();
      for (auto& list : mine().entries_for) list.clear();
      together_.arrive_and_wait();
      std::uint64_t before = 0, more = 0;
      for (int pe = 0; pe < pes_; ++pe) {
        more += of(pe).count;
        if (pe < me_) before += of(pe).count;
      }
      if (more == 0) {
        if (placed != rows_) throw std::logic_error("a matrix without a topological sort");
        return levels;
      }
      auto position = static_cast<ordinal>(rows_ - placed - before);
      placed += more;
      for (const auto row : now) {
        found.rows[row] = --position;
        const ordinal column = left.only_column(row);
        const auto [pe, spot] = home_.where(column);
        of(pe).c[spot] = position;
        for (const auto its_row : of(pe).result.row(spot)) {
          const auto [owner, local] = home_.where(its_row);
          mine().entries_for[static_cast<std::size_t>(owner)].push_back({local, column});
        }
      }
      together_.arrive_and_wait();
      each_list([&left](const std::vector<entry>& list) {
        for (const auto& e : list) left.drop(e.row, e.column);
      });
      together_.arrive_and_wait();
    }
  }

 private:
  part& of(int pe) { return *all_[static_cast<std::size_t>(pe)]; }
  /// Calls f for each thread's list for this one.
  template <class F>
  void each_list(F f) {
    for (int from = 0; from < pes_; ++from) f(of(from).entries_for[static_cast<std::size_t>(me_)]);
  }

  const int me_;
  const int pes_;
  const ordinal rows_;
  std::vector<std::unique_ptr<part>>& all_;
  bench::barrier& together_;
  const dealt home_;
};

}  // namespace

int main(int argc, char** argv) try {
  const auto options = bench_parse(argc, argv);
  const int pes = options.pes > 0 ? static_cast<int>(options.pes) : 2;
  const auto rows = static_cast<ordinal>(options.rows * pes);
  const bench::wanted asked(options.what);
  if (!asked.known() || asked.darts) bench_bad_option(argv[0], "--what", options.what);
  std::vector<std::unique_ptr<part>> all(static_cast<std::size_t>(pes));
  std::vector<std::uint64_t> sums(all.size());
  bench::barrier together(pes);
  double start = 0;
  bench::run_team(pes, [&](int me) {
    const auto mine = static_cast<std::size_t>(me);
    const dealt home(me, pes);
    all[mine] = std::make_unique<part>(home, pes, rows);
    part& here = *all[mine];
    together.arrive_and_wait();
    program run(me, pes, rows, all, together);
    if (!asked.permutes) {
      const auto nonzeros = static_cast<double>(options.row_nonzeros);
      asked.sorts ? fill_upper_triangle(here.a, nonzeros, seed) : bench::fill_random(here.a, nonzeros);
      run.random_permutation(&part::r, seed);
      run.random_permutation(&part::c, seed + 1);
      if (asked.sorts) {
        run.permute_matrix();
        here.a = here.result;
        together.arrive_and_wait();
        run.transpose();
      }
    }
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      std::uint64_t levels = 0;
      together.arrive_and_wait();
      if (me == 0) start = bench_now();
      together.arrive_and_wait();
      if (asked.permutes) run.random_permutation(&part::r, seed);
      if (asked.transposes) run.transpose();
      if (asked.permutes_matrix) run.permute_matrix();
      if (asked.sorts) levels = run.topological_sort();
      together.arrive_and_wait();
      const double seconds = bench_now() - start;
      sums[mine] = asked.permutes ? bench::sum_of(home, here.r) : bench::sum_of(here.result);
      together.arrive_and_wait();
      if (me != 0 || round < options.warmup) continue;
      std::uint64_t sum = 0;
      for (const auto s : sums) sum += s;
      bench_report(seconds, (asked.sorts ? bench::report_levels(levels) : bench::report_sum(sum)).c_str());
    }
  });
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
  return 1;
}
