/// `shunt run bfs`: breadth-first search by the rules of Graph500, on its graph or on one from a file.
#include <fmt/core.h>

#include <algorithm>

#include "app.hpp"
#include "graph/bfs_lambda.hpp"
#include "graph/collect.hpp"
#include "graph/searches.hpp"

using namespace shunt;

namespace {

std::string verdict(const apps::search_results<apps::tree_faults>& all) {
  const auto& f = all.faults;
  if (f.none()) return fmt::format("{} trees, by Graph500's rules", all.right);
  return fmt::format("NO: {} of {} trees are wrong; faults by rule: {} (1), {} (3), {} (4), {} (5)",
                     all.seconds.size() - all.right, all.seconds.size(), f.rule_1, f.rule_3, f.rule_4, f.rule_5);
}

}  // namespace

int bfs_main(int argc, char** argv) {
  apps::command_line options("Searches a graph breadth first, from many roots, and validates each tree.",
                             "shunt run bfs");
  apps::job job(options, "bfs", true, apps::forms::none);
  apps::graph_input input(options, job, {.graph500 = true, .seed_for_file = true});
  apps::root_options where(options);
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  where.find(input);
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const auto vertices = static_cast<std::uint32_t>(input.vertices());
    const auto mine = input.share(me, 40);
    me.barrier();
    const auto start = std::chrono::steady_clock::now();
    pgas::symmetric<apps::adjacency> a(me, graph::distribute(me, vertices, mine.edges));
    const double construction = me.max(apps::seconds_since(start));
    const auto roots = where.draw(me, *a, input, job.seed());
    apps::lambda_form::bfs search(me, a);
    std::uint64_t levels = 0;
    const auto all = apps::run_searches(
        me, roots, [&](graph::vertex root) { levels = std::max(levels, search(a->at.of(root))); },
        [&](graph::vertex root) {
          const auto tree = apps::as_vertices(me, a->at, search.parents());
          return apps::lambda_form::check_tree(me, vertices, mine.edges, tree, root);
        });
    const auto entries = me.sum(mine.edges.size());
    if (me.index() != 0) return;
    right = all.faults.none();
    auto facts = apps::graph_facts(me, "bfs", input, entries);
    facts.push_back({"construction_seconds", construction, fmt::format("{:.6f}", construction)});
    facts.push_back({"roots", roots.size(), apps::with_commas(roots.size())});
    facts.push_back({"levels", levels, fmt::format("{} at most", levels)});
    for (auto& f : apps::search_facts(all.seconds, all.edges)) facts.push_back(f);
    facts.push_back({"checked", right, verdict(all)});
    for (auto& f : apps::traffic_facts(all.moved, all.total)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
