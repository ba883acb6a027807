/// `shunt run sssp`: shortest paths with the weights of Graph500, from many roots.
#include <fmt/core.h>

#include <algorithm>

#include "app.hpp"
#include "graph/collect.hpp"
#include "graph/paths_check_lambda.hpp"
#include "graph/searches.hpp"
#include "graph/serial.hpp"
#include "graph/sssp_lambda.hpp"

using namespace shunt;

namespace {

std::string verdict(const apps::search_results<apps::path_faults>& all, bool check, bool same) {
  const auto& f = all.faults;
  if (!f.none()) {
    return fmt::format("NO: {} of {} searches are wrong; faults by rule: {} (1), {} (2), {} (3), {} (4)",
                       all.seconds.size() - all.right, all.seconds.size(), f.rule_1, f.rule_2, f.rule_3, f.rule_4);
  }
  if (!check) return fmt::format("{} searches, by rules like Graph500's", all.right);
  return same ? "distances are those of a serial search, to the last bit" : "NO: a serial search found other distances";
}

/// How far the vertices are that a search has reached. Sums are those of PEs, in their order.
struct reach {
  std::uint64_t vertices = 0;
  double farthest = 0;
  double sum = 0;
};

reach reached(shunt::pgas::pe& me, const std::vector<float>& distances) {
  reach mine;
  for (const float d : distances) {
    if (d == apps::unreachable) continue;
    ++mine.vertices;
    mine.farthest = std::max(mine.farthest, double{d});
    mine.sum += double{d};
  }
  return me.reduce(mine, [](const reach& a, const reach& b) {
    return reach{a.vertices + b.vertices, std::max(a.farthest, b.farthest), a.sum + b.sum};
  });
}

}  // namespace

int sssp_main(int argc, char** argv) {
  apps::command_line options("Finds the shortest paths from many roots, over edges with random weights.",
                             "shunt run sssp");
  apps::job job(options, "sssp", true, apps::forms::none);
  apps::graph_input input(options, job, {.graph500 = true, .seed_for_file = true});
  apps::root_options where(options);
  double delta = 0.0625;
  bool check = false;
  apps::real_option(options, "--delta", delta, "distances of one bucket differ by less than this", 1e-6, 1e6)
      ->capture_default_str();
  options.add_flag("--check", check, "search once more from the last root, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  where.find(input);
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const apps::entry_weights weights(job.seed());
    const auto vertices = static_cast<std::uint32_t>(input.vertices());
    const auto mine = input.share(me, 56);
    me.barrier();
    const auto start = std::chrono::steady_clock::now();
    const auto g = apps::lambda_form::distribute(me, vertices, mine.first, mine.edges, weights);
    const double construction = me.max(apps::seconds_since(start));
    const auto roots = where.draw(me, g, input, job.seed());
    std::vector<float> distances;
    std::vector<apps::address> parents;
    const auto all = apps::run_searches(
        me, roots,
        [&](graph::vertex root) {
          auto found = apps::lambda_form::sssp(me, g, g.at.of(root), static_cast<float>(delta), [] {});
          distances = std::move(found.distance), parents = std::move(found.parent);
        },
        [&](graph::vertex root) {
          return apps::lambda_form::check_paths(me, vertices, mine.first, mine.edges, weights,
                                                apps::as_vertices(me, g.at, parents), distances, root);
        });
    const auto whole = check ? apps::collect_values(me, vertices, distances) : std::vector<float>();
    const auto entries = me.sum(mine.edges.size());
    const auto from_last_root = reached(me, distances);
    if (me.index() != 0) return;
    const auto weight = [&weights](std::uint64_t i) { return weights[i]; };
    const bool same = !check || apps::serial::distances(vertices, input.all(), weight, roots.back()) == whole;
    right = all.faults.none() && same;
    auto facts = apps::graph_facts(me, "sssp", input, entries);
    facts.push_back({"construction_seconds", construction, fmt::format("{:.6f}", construction)});
    facts.push_back({"roots", roots.size(), apps::with_commas(roots.size())});
    facts.push_back({"delta", delta, fmt::format("{}", delta)});
    for (auto& f : apps::search_facts(all.seconds, all.edges)) facts.push_back(f);
    const auto mean = from_last_root.sum / static_cast<double>(from_last_root.vertices);
    facts.push_back({"reached", from_last_root.vertices, apps::with_commas(from_last_root.vertices)});
    facts.push_back({"mean_distance", mean, fmt::format("{:.6f}", mean)});
    facts.push_back({"farthest", from_last_root.farthest, fmt::format("{:.6f}", from_last_root.farthest)});
    facts.push_back({"checked", right, verdict(all, check, same)});
    for (auto& f : apps::traffic_facts(all.moved, all.total)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
