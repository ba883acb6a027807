/// Question: what does breadth-first search cost with messages where they help, and bits where these help more? The
/// kernels are the application's.
#include <graph/bfs_lambda.hpp>
#include <graph/roots.hpp>
#include <graph/tree_check_lambda.hpp>

#include "../common/shunt.hpp"
#include "problems.hpp"

namespace {

using namespace shunt;

/// Collective. Adds one search to `all`, after its tree has been validated.
void add(pgas::pe& me, const char* program, bench::rates& all, double seconds, const apps::adjacency& a,
         const std::vector<apps::address>& parents, const std::vector<graph::edge>& entries, graph::vertex root) {
  std::vector<graph::vertex> tree;
  for (const auto parent : parents) {
    tree.push_back(parent == apps::nowhere ? apps::no_vertex : a.at.vertex(parent, me.count()));
  }
  const auto vertices = static_cast<std::uint32_t>(a.at.vertices());
  const auto faults = apps::lambda_form::check_tree(me, vertices, entries, tree, root);
  bench::must_be(program, "faults of a tree", faults.none() ? 0 : 1, 0);
  pgas::symmetric<apps::tree_levels> levels(me, tree);
  apps::lambda_form::count_levels(me, vertices, levels, root);
  std::uint64_t sum = 0;
  for (std::uint32_t l = 0; l < tree.size(); ++l) {
    if (tree[l] != apps::no_vertex) sum += std::uint64_t{levels->levels[l]} * a.at.vertex_of_row(l);
  }
  all.add(seconds, faults.traversed, me.sum(sum));
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench_parse(argc, argv);
  const bench::searches input(argv[0], options);
  return bench::job(argv[0], options, [&](pgas::pe& me) {
    const auto entries = input.part(me.index(), me.count());
    const auto construct = [&] { return graph::distribute(me, input.vertices, entries); };
    if (input.constructs) {
      bench::rounds(me, options, [] {}, [&] { static_cast<void>(construct()); }, [] { return std::string(); });
      return;
    }
    pgas::symmetric<apps::adjacency> a(me, construct());
    const auto roots = apps::draw_roots(me, *a, static_cast<std::uint64_t>(options.rounds), BENCH_SEED);
    apps::lambda_form::bfs search(me, a);
    for (long round = 0; round < options.warmup + options.samples; ++round) {
      bench::rates all;
      for (const auto root : roots) {
        me.barrier();
        const double start = bench_now();
        static_cast<void>(search(a->at.of(root)));
        const double seconds = me.max(bench_now() - start);
        add(me, argv[0], all, seconds, *a, search.parents(), entries, root);
      }
      if (me.index() == 0 && round >= options.warmup) all.print();
    }
  });
}
