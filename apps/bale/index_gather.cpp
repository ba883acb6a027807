/// `shunt run index_gather`: runs the kernel in one of its forms, checks its answer, reports.
#include <fmt/core.h>

#include <algorithm>

#include "app.hpp"
#include "bale/index_gather_class.hpp"
#include "bale/index_gather_lambda.hpp"
#include "bale/index_gather_natural.hpp"
#include "bale/job.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

/// What stands at an entry of the table.
std::int64_t entry(std::uint64_t global) { return static_cast<std::int64_t>(3 * global + 7); }

}  // namespace

int index_gather_main(int argc, char** argv) {
  apps::command_line options("Reads random entries of a distributed table.", "shunt run index_gather");
  apps::job job(options, "index_gather", true, apps::forms::three);
  std::uint64_t reads = 10'000'000, table = 100'000;
  apps::count_option(options, "--reads", reads, "reads of each PE", 1, (1ul << 32) - 1)->capture_default_str();
  apps::count_option(options, "--table", table, "entries on each PE", 1, 1ul << 32)->capture_default_str();
  if (!apps::parse(options, argc, argv)) return 0;

  bool right = true;
  pgas::run(job.wanted(), [&](pgas::pe& me) {
    const auto pes = static_cast<std::uint64_t>(me.count());
    apps::require_memory(me, fmt::format("--reads {} --table {} on {} PEs", reads, table, pes),
                         24. * static_cast<double>(reads) + 16. * static_cast<double>(table));
    const auto places = apps::random_places(reads * pes, table * pes, job.seed(), me.index(), me.count());
    pgas::symmetric<std::vector<std::int64_t>> entries(me, table);
    pgas::symmetric<std::vector<std::int64_t>> target(me, places.size());
    for (std::uint64_t s = 0; s < table; ++s) {
      const apps::place p{me.index(), static_cast<std::uint32_t>(s)};
      (*entries)[s] = entry(p.global(me.count()));
    }
    const bool natural = job.which() == apps::form::natural;
    pgas::array<std::int64_t> dealt(me, natural ? table * pes : 0);  // its elements lie as those of `entries`
    std::vector<std::uint64_t> indices;
    if (natural) {
      std::ranges::copy(*entries, dealt.local().begin());
      indices = apps::indices_of(places, me.count());
    }
    const apps::measurement timing(me);
    if (natural) {
      apps::natural::index_gather(dealt, indices, *target);
    } else if (job.which() == apps::form::lambda) {
      apps::lambda_form::index_gather(entries, target, places);
    } else {
      apps::class_form::index_gather{{me}, *entries, *target}.run(places);
    }
    const auto [seconds, moved] = timing.end();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < places.size(); ++i) wrong += (*target)[i] != entry(places[i].global(me.count()));
    wrong = me.sum(wrong);
    if (me.index() != 0) return;
    right = wrong == 0;
    std::vector<apps::fact> facts{
        {"application", "index_gather", "index_gather, " + job.form_name() + " form"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"reads", reads * pes, apps::with_commas(reads * pes)},
        {"checked", right, right ? "yes" : fmt::format("NO: {} entries are wrong", wrong)},
        {"ns_per_read", seconds * 1e9 / static_cast<double>(reads),
         fmt::format("{:.2f}", seconds * 1e9 / static_cast<double>(reads))},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
