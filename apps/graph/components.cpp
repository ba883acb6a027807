/// `shunt run components`: the connected components of a graph.
#include <fmt/core.h>

#include <algorithm>

#include "app.hpp"
#include "graph/collect.hpp"
#include "graph/components_lambda.hpp"
#include "graph/graph_input.hpp"
#include "graph/serial.hpp"

using namespace shunt;

namespace {

/// Collective. The sizes of the components whose least vertex is this PE's.
std::vector<std::uint64_t> sizes_of(pgas::pe& me, const std::vector<graph::vertex>& least) {
  pgas::symmetric<std::vector<std::uint64_t>> sizes(me, least.size());
  pgas::actor_of members(sizes);
  const apps::dealt home(me.index(), me.count());
  for (const auto v : least) {
    const auto [pe, spot] = home.where(v);
    members.send(pe, [spot](std::vector<std::uint64_t>& all) { ++all[spot]; });
  }
  members.finish();
  return std::move(*sizes);
}

/// Collective. Entries of this PE whose ends are not in one component.
std::uint64_t entries_between(pgas::pe& me, const std::vector<graph::edge>& entries,
                              pgas::symmetric<std::vector<graph::vertex>>& least) {
  pgas::symmetric<std::uint64_t> wrong(me, std::uint64_t{0});
  auto ends = pgas::make_selector<2>(least, wrong);
  const apps::dealt home(me.index(), me.count());
  for (const auto [a, b] : entries) {
    const auto [pe_a, spot_a] = home.where(a);
    const auto [pe_b, spot_b] = home.where(b);
    ends.template send<0>(pe_a, [spot_a, spot_b, pe_b](std::vector<graph::vertex>& of, std::uint64_t&, auto& here) {
      here.template send<1>(pe_b, [spot_b, other = of[spot_a]](std::vector<graph::vertex>& its, std::uint64_t& bad) {
        bad += its[spot_b] != other;
      });
    });
  }
  ends.finish();
  return me.sum(*wrong);
}

}  // namespace

int components_main(int argc, char** argv) {
  apps::command_line options("Finds the connected components of a graph.", "shunt run components");
  apps::job job(options, "components", true, apps::forms::none);
  apps::graph_input input(options, job);
  bool check = false;
  options.add_flag("--check", check, "find them once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const auto mine = input.share(me, 40);
    const auto a = graph::distribute(me, input.vertices(), mine.edges);
    const apps::measurement timing(me);
    std::uint64_t rounds = 0;
    pgas::symmetric<std::vector<graph::vertex>> least(me, [&] {
      apps::live_line line(me.index() == 0);
      return apps::lambda_form::components(me, a, [&] {
        ++rounds;
        if (line.due()) line.say(fmt::format("after round {}", rounds));
      });
    }());
    const auto [seconds, moved] = timing.end();
    const auto between = entries_between(me, mine.edges, least);
    const auto sizes = sizes_of(me, *least);
    const auto count =
        me.sum(static_cast<std::uint64_t>(std::count_if(sizes.begin(), sizes.end(), [](auto n) { return n != 0; })));
    const auto most = me.max(sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end()));
    const auto alone = me.sum(static_cast<std::uint64_t>(std::count(sizes.begin(), sizes.end(), 1)));
    const auto whole = check ? apps::collect_values(me, input.vertices(), *least) : std::vector<graph::vertex>();
    const auto entries = me.sum(mine.edges.size());
    if (me.index() != 0) return;
    const bool same = !check || apps::serial::components(input.vertices(), input.all()) == whole;
    right = between == 0 && same;
    auto facts = apps::graph_facts(me, "components", input, entries);
    facts.push_back({"components", count, apps::with_commas(count)});
    facts.push_back({"largest", most, apps::with_commas(most) + " vertices"});
    facts.push_back({"of_one_vertex", alone, apps::with_commas(alone)});
    facts.push_back({"rounds", rounds, apps::with_commas(rounds)});
    facts.push_back({"entries_within", between == 0 ? "all" : "not all",
                     between == 0 ? "all" : fmt::format("NO: {} entries join two", apps::with_commas(between))});
    facts.push_back({"checked", check && right,
                     !check ? "no (--check compares with a serial search)"
                     : same ? "a serial search found the same"
                            : "NO: a serial search found others"});
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
