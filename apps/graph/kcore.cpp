/// `shunt run kcore`: the core numbers of a graph's vertices.
#include <fmt/core.h>

#include <algorithm>

#include "app.hpp"
#include "graph/collect.hpp"
#include "graph/graph_input.hpp"
#include "graph/kcore_lambda.hpp"
#include "graph/serial.hpp"

using namespace shunt;

namespace {

/// Of the vertices of a PE, or of all.
struct core_summary {
  std::uint32_t most = 0;
  std::uint64_t with_most = 0;  ///< vertices
  std::uint64_t sum = 0;
  std::uint64_t print = 0;

  void add(graph::vertex v, std::uint32_t number) {
    const std::uint64_t both[] = {v, number};
    *this = *this + core_summary{number, 1, number, apps::fingerprint(1, std::span<const std::uint64_t>(both))};
  }
  friend core_summary operator+(const core_summary& a, const core_summary& b) {
    const auto greatest = std::max(a.most, b.most);
    return {greatest, (a.most == greatest ? a.with_most : 0) + (b.most == greatest ? b.with_most : 0), a.sum + b.sum,
            a.print + b.print};
  }
};

}  // namespace

int kcore_main(int argc, char** argv) {
  apps::command_line options("Finds the core number of each vertex of a graph.", "shunt run kcore");
  apps::job job(options, "kcore", true, apps::forms::none);
  apps::graph_input input(options, job);
  bool check = false;
  options.add_flag("--check", check, "find them once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const auto mine = input.share(me, 52);
    auto a = graph::distribute(me, input.vertices(), mine.edges);
    a.simplify();
    const apps::measurement timing(me);
    std::uint64_t rounds = 0;
    const auto found = [&] {
      apps::live_line line(me.index() == 0);
      return apps::lambda_form::kcore(me, a, [&](std::uint64_t fallen) {
        ++rounds;
        if (line.due()) line.say(fmt::format("after round {}: {} numbers fell", rounds, apps::with_commas(fallen)));
      });
    }();
    const auto [seconds, moved] = timing.end();
    core_summary of_mine;
    for (std::uint32_t l = 0; l < a.count(); ++l) of_mine.add(a.at.vertex_of_row(l), found[l]);
    const auto all = me.sum(of_mine);
    const auto wrong = apps::lambda_form::check_cores(me, a, found);
    const auto whole = check ? apps::collect_values(me, input.vertices(), found) : std::vector<std::uint32_t>();
    const auto entries = me.sum(mine.edges.size());
    if (me.index() != 0) return;
    const bool same = !check || apps::serial::core_numbers(input.vertices(), input.all()) == whole;
    right = wrong == 0 && same;
    auto facts = apps::graph_facts(me, "kcore", input, entries);
    facts.push_back({"degeneracy", all.most, apps::with_commas(all.most)});
    facts.push_back({"innermost_core", all.with_most, apps::with_commas(all.with_most) + " vertices"});
    facts.push_back({"sum_of_numbers", all.sum, apps::with_commas(all.sum)});
    facts.push_back({"fingerprint", fmt::format("{:016x}", all.print), fmt::format("{:016x}", all.print)});
    facts.push_back({"rounds", rounds, apps::with_commas(rounds)});
    facts.push_back({"numbers", wrong == 0 ? "each the h-index of its neighbours' numbers" : "some wrong",
                     wrong == 0 ? "each the h-index of its neighbours' numbers"
                                : fmt::format("NO: {} are not the h-index of their neighbours'", wrong)});
    facts.push_back({"checked", check && right,
                     !check ? "no (--check compares with a serial count)"
                     : same ? "peeling, serially, found the same"
                            : "NO: peeling, serially, found others"});
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
