/// `shunt run histogram`: runs the kernel in one of its forms, checks its answer, reports.
#include <fmt/core.h>

#include <numeric>

#include "app.hpp"
#include "bale/histogram_class.hpp"
#include "bale/histogram_lambda.hpp"
#include "bale/histogram_natural.hpp"
#include "bale/job.hpp"
#include "option.hpp"

using namespace shunt;

int histogram_main(int argc, char** argv) {
  apps::command_line options("Counts up random spots of a distributed table.", "shunt run histogram");
  apps::job job(options, "histogram", true, apps::forms::three);
  std::uint64_t updates = 10'000'000, table = 1000;
  apps::count_option(options, "--updates", updates, "updates of each PE", 1, 1ul << 40)->capture_default_str();
  apps::count_option(options, "--table", table, "spots on each PE", 1, 1ul << 32)->capture_default_str();
  if (!apps::parse(options, argc, argv)) return 0;

  bool right = true;
  pgas::run(job.wanted(), [&](pgas::pe& me) {
    const auto pes = static_cast<std::uint64_t>(me.count());
    apps::require_memory(me, fmt::format("--updates {} --table {} on {} PEs", updates, table, pes),
                         16. * static_cast<double>(updates) + 16. * static_cast<double>(table));
    const auto places = apps::random_places(updates * pes, table * pes, job.seed(), me.index(), me.count());
    pgas::symmetric<std::vector<std::int64_t>> counts(me, table);
    const bool natural = job.which() == apps::form::natural;
    pgas::array<std::int64_t> dealt(me, natural ? table * pes : 0);  // its elements lie as those of `counts`
    std::vector<std::uint64_t> indices;
    if (natural) indices = apps::indices_of(places, me.count());
    const apps::measurement timing(me);
    if (natural) {
      apps::natural::histogram(me, dealt, indices);
    } else if (job.which() == apps::form::lambda) {
      apps::lambda_form::histogram(counts, places);
    } else {
      apps::class_form::histogram{{me}, *counts}.run(places);
    }
    const auto [seconds, moved] = timing.end();
    if (natural) counts->assign(dealt.local().begin(), dealt.local().end());

    // The sum of the table, and the sum of the spots' numbers: what was updated must be what is counted.
    std::uint64_t wanted = 0, found = 0;
    for (const auto& p : places) wanted += p.global(me.count()) + 1;
    for (std::uint64_t s = 0; s < table; ++s) {
      const apps::place p{me.index(), static_cast<std::uint32_t>(s)};
      found += static_cast<std::uint64_t>((*counts)[s]) * (p.global(me.count()) + 1);
    }
    const auto sum = me.sum(std::accumulate(counts->begin(), counts->end(), std::int64_t{0}));
    const bool checked = static_cast<std::uint64_t>(sum) == updates * pes && me.sum(wanted) == me.sum(found);
    if (me.index() != 0) return;
    right = checked;
    std::vector<apps::fact> facts{
        {"application", "histogram", "histogram, " + job.form_name() + " form"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"updates", updates * pes, apps::with_commas(updates * pes)},
        {"checked", checked, checked ? "yes" : "NO: updates were lost or doubled"},
        {"ns_per_update", seconds * 1e9 / static_cast<double>(updates),
         fmt::format("{:.2f}", seconds * 1e9 / static_cast<double>(updates))},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
