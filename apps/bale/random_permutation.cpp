/// `shunt run random_permutation`: draws a permutation that does not depend on the number of PEs.
#include <fmt/core.h>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/matrix_job.hpp"
#include "bale/random_permutation_class.hpp"
#include "bale/random_permutation_lambda.hpp"
#include "bale/random_permutation_natural.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

constexpr std::uint64_t entries_a_pe = 1'000'000;
constexpr std::uint64_t most_entries = (std::uint64_t{1} << 32) - 1;

/// The same order, found by sorting all keys.
apps::permutation serial_permutation(std::uint64_t total, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keyed;
  keyed.reserve(total);
  for (std::uint64_t i = 0; i < total; ++i) {
    keyed.emplace_back(apps::random_keys::key(seed, i), static_cast<std::uint32_t>(i));
  }
  std::sort(keyed.begin(), keyed.end());
  apps::permutation p;
  p.reserve(total);
  for (const auto& one : keyed) p.push_back(one.second);
  return p;
}

/// Of the whole permutation. Collective.
std::uint64_t fingerprint_of(pgas::pe& me, const apps::permutation& mine) {
  std::uint64_t sum = 0;
  const apps::dealt home(me.index(), me.count());
  for (std::uint32_t s = 0; s < mine.size(); ++s) {
    const std::uint64_t both[] = {home.global(s), mine[s]};
    sum += apps::fingerprint(1, std::span<const std::uint64_t>(both));
  }
  return me.sum(sum);
}

}  // namespace

int random_permutation_main(int argc, char** argv) {
  apps::command_line options("Draws a random permutation, the same for any number of PEs.",
                             "shunt run random_permutation");
  apps::job job(options, "random_permutation", false, apps::forms::three);
  std::uint64_t entries = 0;
  bool check = false;
  std::string output;
  apps::count_option(options, "--entries", entries, fmt::format("of the permutation (default: {} a PE)", entries_a_pe),
                     1, most_entries);
  apps::text_option(options, "--output", output, "write the permutation into this file, one number a line, from 0");
  options.add_flag("--check", check, "draw it once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  apps::expect_writable(output);
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    const auto total =
        entries != 0 ? entries : std::min(most_entries, entries_a_pe * static_cast<std::uint64_t>(me.count()));
    apps::require_memory(me, fmt::format("--entries {}", total), 24. * static_cast<double>(total) / me.count());
    const apps::measurement timing(me);
    const apps::permutation mine =
        job.which() == apps::form::natural  ? apps::natural::random_permutation(me, total, job.seed())
        : job.which() == apps::form::lambda ? apps::lambda_form::random_permutation(me, total, job.seed())
                                            : apps::class_form::random_permutation{{me}}.run(me, total, job.seed());
    const auto [seconds, moved] = timing.end();
    const bool each_once = apps::is_permutation(me, mine, total);
    const auto print = fmt::format("{:016x}", fingerprint_of(me, mine));
    const auto whole = check || !output.empty() ? apps::collect(me, mine, total) : apps::permutation();
    if (me.index() != 0) return;
    const bool same = !check || whole == serial_permutation(total, job.seed());
    right = each_once && same;
    if (right && !output.empty()) apps::write_permutation(output, whole);
    std::vector<apps::fact> facts{
        {"application", "random_permutation", "random_permutation, " + job.form_name() + " form"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"entries", total, apps::with_commas(total)},
        {"numbers", each_once ? "each once" : "lost or doubled", each_once ? "each once" : "NO: lost or doubled"},
        {"checked", check && right,
         !check ? "no (--check compares with a serial sort of all keys)"
         : same ? "a serial sort of all keys gives the same order"
                : "NO: a serial sort of all keys gives another order"},
        {"fingerprint", print, print},
        {"ns_per_entry", seconds * 1e9 * me.count() / static_cast<double>(total),
         fmt::format("{:.2f} on each PE", seconds * 1e9 * me.count() / static_cast<double>(total))},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
