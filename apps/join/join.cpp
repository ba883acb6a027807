/// `shunt run join`: joins two tables by their keys.
#include <fmt/core.h>

#include <unordered_map>

#include <shunt/base/random.hpp>

#include "app.hpp"
#include "bale/job.hpp"
#include "join/join.hpp"
#include "option.hpp"
#include "text/text_file.hpp"

using namespace shunt;

namespace {

/// Rows begin..end-1 of a table; a table's number is its random numbers' stream.
std::vector<apps::row> rows_of(std::uint64_t seed, std::uint64_t table, std::uint64_t begin, std::uint64_t end,
                               std::uint64_t keys) {
  const counter_random random(seed, table);
  std::vector<apps::row> rows;
  rows.reserve(end - begin);
  for (std::uint64_t i = begin; i != end; ++i) rows.push_back({random.below(i, keys), i});
  return rows;
}

/// This PE's part of the rows of a table.
std::vector<apps::row> part_of(const pgas::pe& me, std::uint64_t seed, std::uint64_t table, std::uint64_t rows,
                               std::uint64_t keys) {
  return rows_of(seed, table, apps::part_begin(rows, me.index(), me.count()),
                 apps::part_begin(rows, me.index() + 1, me.count()), keys);
}

struct answer {
  std::uint64_t pairs = 0;
  std::uint64_t sum = 0;
  bool operator==(const answer&) const = default;
};

answer serial_join(std::span<const apps::row> first, std::span<const apps::row> second) {
  std::unordered_multimap<std::uint64_t, std::uint64_t> by_key;
  for (const auto& r : first) by_key.emplace(r.key, r.value);
  answer all;
  for (const auto& r : second) {
    for (auto [at, end] = by_key.equal_range(r.key); at != end; ++at) {
      ++all.pairs;
      all.sum += apps::pair_sum(r.key, at->second, r.value);
    }
  }
  return all;
}

}  // namespace

int join_main(int argc, char** argv) {
  apps::command_line options("Joins two tables by their keys.", "shunt run join");
  apps::job job(options, "join", true, apps::forms::none);
  std::uint64_t first = 1'000'000, second = 2'000'000, keys = 1'000'000;
  bool check = false;
  constexpr std::uint64_t most = std::uint64_t{1} << 40U;
  apps::count_option(options, "--first", first, "rows of the first table, which builds", 0, most)
      ->capture_default_str();
  apps::count_option(options, "--second", second, "rows of the second table, which probes", 0, most)
      ->capture_default_str();
  apps::count_option(options, "--keys", keys, "different keys that the rows' are drawn from", 1, most)
      ->capture_default_str();
  options.add_flag("--check", check, "join them once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  bool right = true;
  pgas::run(job.wanted(), [&](pgas::pe& me) {
    apps::require_memory(me, fmt::format("--first {} --second {} on {} PEs", first, second, me.count()),
                         (120. * static_cast<double>(first) + 16. * static_cast<double>(second)) / me.count());
    const auto mine = part_of(me, job.seed(), 1, first, keys);
    const auto others = part_of(me, job.seed(), 2, second, keys);
    pgas::map<std::uint64_t, apps::joined> by_key(me);
    const apps::measurement timing(me);
    {
      apps::progress line("joining", mine.size() + others.size(), me.index() == 0);
      apps::join(me, mine, others, by_key, [&line](std::uint64_t done) { line(done); });
    }
    const auto [seconds, moved] = timing.end();
    answer here;
    for (const auto& [key, j] : by_key.local()) {
      here.pairs += j.pairs;
      here.sum += j.sum;
    }
    const answer all{me.sum(here.pairs), me.sum(here.sum)};
    const auto different = by_key.size();
    if (me.index() != 0) return;
    right =
        !check || serial_join(rows_of(job.seed(), 1, 0, first, keys), rows_of(job.seed(), 2, 0, second, keys)) == all;
    const double rate = static_cast<double>(first + second) / seconds;
    std::vector<apps::fact> facts{
        {"application", "join", "join"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"first", first, apps::with_commas(first) + " rows"},
        {"second", second, apps::with_commas(second) + " rows"},
        {"keys", different, apps::with_commas(different) + " in the first table"},
        {"pairs", all.pairs, apps::with_commas(all.pairs)},
        {"fingerprint", fmt::format("{:016x}", all.sum), fmt::format("{:016x}", all.sum)},
        {"checked", check && right,
         !check  ? "no (--check compares with a serial join)"
         : right ? "a serial join made the same"
                 : "NO: a serial join made others"},
        {"rows_per_s", rate, apps::with_unit(rate) + "/s"},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
