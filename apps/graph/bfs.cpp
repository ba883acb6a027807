/// `shunt run bfs`: breadth-first search by the rules of Graph500, on its graph or on one from a file.
#include <fmt/core.h>

#include <chrono>
#include <optional>

#include "app.hpp"
#include "bale/job.hpp"
#include "graph/bfs_lambda.hpp"
#include "graph/graph_input.hpp"
#include "graph/roots.hpp"
#include "graph/teps.hpp"
#include "graph/tree_check_lambda.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What the searches of one run came to.
struct results {
  std::vector<double> seconds;
  std::vector<double> edges;
  std::uint64_t most_levels = 0;
  std::uint64_t right = 0;
  apps::tree_faults faults;
};

std::string verdict(const results& all) {
  const auto& f = all.faults;
  if (f.none()) return fmt::format("{} trees, by Graph500's rules", all.right);
  return fmt::format("NO: {} of {} trees are wrong; faults by rule: {} (1), {} (3), {} (4), {} (5)",
                     all.seconds.size() - all.right, all.seconds.size(), f.rule_1, f.rule_3, f.rule_4, f.rule_5);
}

/// Collective. This PE's part of a tree, as vertices.
std::vector<graph::vertex> as_vertices(const pgas::pe& me, const apps::adjacency& a,
                                       const std::vector<apps::address>& parents) {
  std::vector<graph::vertex> tree;
  tree.reserve(parents.size());
  for (const auto parent : parents) {
    tree.push_back(parent == apps::nowhere ? apps::no_vertex : a.at.vertex(parent, me.count()));
  }
  return tree;
}

}  // namespace

int bfs_main(int argc, char** argv) {
  CLI::App options("Searches a graph breadth first, from many roots, and validates each tree.", "shunt run bfs");
  apps::job job(options, "bfs", true, false);
  apps::graph_input input(options, job, true);
  std::uint64_t count = 64, root = 0;
  auto* const roots_given =
      apps::count_option(options, "--roots", count, "searches, each from a vertex drawn at random that has neighbours",
                         1, 1ul << 20)
          ->capture_default_str();
  auto* const root_given =
      apps::count_option(options, "--root", root, "one search, from this vertex, as the graph numbers it", 0);
  root_given->excludes(roots_given);
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  std::optional<graph::vertex> only;
  if (root_given->count() > 0) only = input.find("--root", root);
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const auto vertices = static_cast<std::uint32_t>(input.vertices());
    const auto mine = input.share(me, 8 + 2 * 8 + 2 * 4);
    me.barrier();
    const auto before_construction = std::chrono::steady_clock::now();
    pgas::symmetric<apps::adjacency> a(me, apps::lambda_form::distribute(me, vertices, mine.edges));
    const double construction = me.max(seconds_since(before_construction));
    const auto roots = only ? std::vector{*only} : apps::draw_roots(me, *a, count, job.seed());
    if (roots.empty()) throw usage_error(apps::one_line(input.name()) + ": a graph without edges has no root");

    results all;
    pgas::traffic moved{};
    double total = 0;
    apps::lambda_form::bfs search(me, a);
    apps::progress line("searching", roots.size(), me.index() == 0);
    for (const auto from : roots) {
      const auto before = me.traffic();
      me.barrier();
      const auto start = std::chrono::steady_clock::now();
      const auto levels = search(a->at.of(from));
      all.seconds.push_back(me.max(seconds_since(start)));
      const auto now = me.traffic() - before;
      moved += now;
      total += all.seconds.back();
      const auto faults =
          apps::lambda_form::check_tree(me, vertices, mine.edges, as_vertices(me, *a, search.parents()), from);
      all.edges.push_back(static_cast<double>(faults.traversed));
      all.most_levels = std::max(all.most_levels, levels);
      all.right += faults.none();
      all.faults = all.faults + faults;
      line.show(all.seconds.size());
    }
    const auto entries = me.sum(mine.edges.size());
    if (me.index() != 0) return;
    right = all.faults.none();
    auto facts = apps::graph_facts(me, "bfs", input, entries);
    facts.push_back({"construction_seconds", construction, fmt::format("{:.6f}", construction)});
    facts.push_back({"roots", roots.size(), apps::with_commas(roots.size())});
    facts.push_back({"levels", all.most_levels, fmt::format("{} at most", all.most_levels)});
    for (auto& f : apps::search_facts(all.seconds, all.edges)) facts.push_back(f);
    facts.push_back({"checked", right, verdict(all)});
    facts.push_back({"seconds_to_load", input.seconds_to_load(), fmt::format("{:.3f}", input.seconds_to_load())});
    for (auto& f : apps::traffic_facts(moved, total)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
