/// `shunt run jaccard`: how similar the neighbourhoods of the ends of each edge are.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "app.hpp"
#include "bale/place.hpp"
#include "graph/graph_input.hpp"
#include "graph/jaccard_lambda.hpp"
#include "graph/serial.hpp"

using namespace shunt;

namespace {

/// Of all edges: the sum of the similarities, and the most similar ends.
struct summary {
  std::uint64_t sum = 0;  ///< in units of 2^-32
  std::uint64_t common = 0;
  std::uint64_t most = 0;
  graph::edge most_similar;
  std::uint64_t print = 0;

  void add(std::uint64_t similarity, std::uint64_t shared, const graph::edge& ends) {
    const std::uint64_t all[] = {ends.a, ends.b, similarity};
    *this = *this +
            summary{similarity, shared, similarity, ends, apps::fingerprint(1, std::span<const std::uint64_t>(all))};
  }
  friend summary operator+(const summary& a, const summary& b) {
    const auto key = [](const summary& s) { return std::tuple(~s.most, s.most_similar.a, s.most_similar.b); };
    const auto& best = key(b) < key(a) ? b : a;
    return {a.sum + b.sum, a.common + b.common, best.most, best.most_similar, a.print + b.print};
  }
};

summary serial_summary(const graph::graph& g) {
  const auto common = apps::serial::common_neighbours(g);
  const auto degree = graph::degrees(g);
  summary all;
  std::size_t edge = 0;
  for (graph::vertex v = 0; v < g.vertices(); ++v) {
    for (const auto u : g.row(v)) {
      const std::uint64_t either = degree[v] + std::uint64_t{degree[u]} - common[edge];
      all.add((std::uint64_t{common[edge]} << 32) / either, common[edge], {v, u});
      ++edge;
    }
  }
  return all;
}

}  // namespace

int jaccard_main(int argc, char** argv) {
  apps::command_line options("Finds the Jaccard similarity of the ends of each edge of a graph.", "shunt run jaccard");
  apps::job job(options, "jaccard", true, apps::forms::none);
  apps::graph_input input(options, job);
  bool check = false;
  options.add_flag("--check", check, "find them once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load_whole();
  input.order_by_degree();
  const graph::graph& whole = input.whole();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    pgas::symmetric<apps::rows> lower(me, apps::deal(whole, me.index(), me.count()));
    const apps::measurement timing(me);
    const auto found = [&] {
      apps::progress line("comparing", lower->count(), me.index() == 0);
      return apps::lambda_form::jaccard(me, lower, [&line](std::uint32_t done) { line(done); });
    }();
    const auto [seconds, moved] = timing.end();
    summary mine;
    for (std::uint32_t l = 0; l < lower->count(); ++l) {
      const auto v = static_cast<graph::vertex>(apps::place{me.index(), l}.global(me.count()));
      for (auto e = lower->offsets[l]; e < lower->offsets[l + std::size_t{1}]; ++e) {
        mine.add(found.similarity(l, e), found.common[e], {v, lower->columns[e]});
      }
    }
    const auto all = me.sum(mine);
    const auto asked = me.sum(found.asked);
    if (me.index() != 0) return;
    const bool each_once = asked == graph::wedges(whole) && all.common % 3 == 0;
    const bool same = !check || serial_summary(whole).print == all.print;
    right = each_once && same;
    const auto edges = whole.edges();
    const double unit = 0x1p-32,
                 mean = edges == 0 ? 0 : static_cast<double>(all.sum) * unit / static_cast<double>(edges);
    auto facts = apps::graph_facts(me, "jaccard", input, edges);
    facts.push_back({"triangles", all.common / 3, apps::with_commas(all.common / 3)});
    facts.push_back({"mean_similarity", mean, fmt::format("{:.9f}", mean)});
    if (edges != 0) {
      const auto a = input.number(all.most_similar.a), b = input.number(all.most_similar.b);
      facts.push_back({"most_similar", apps::json_value::array{a, b}, fmt::format("{} and {}", a, b)});
      facts.push_back({"most_similarity", static_cast<double>(all.most) * unit,
                       fmt::format("{:.9f}", static_cast<double>(all.most) * unit)});
    }
    facts.push_back({"fingerprint", fmt::format("{:016x}", all.print), fmt::format("{:016x}", all.print)});
    facts.push_back({"wedges_asked", each_once ? "each once" : "lost or doubled",
                     each_once ? "each once" : "NO: some are lost or doubled"});
    facts.push_back({"checked", check && right,
                     !check ? "no (--check compares with a serial loop)"
                     : same ? "a serial loop found the same"
                            : "NO: a serial loop found others"});
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
