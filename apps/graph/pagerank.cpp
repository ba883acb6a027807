/// `shunt run pagerank`: the PageRank of the vertices of a graph.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app.hpp"
#include "graph/collect.hpp"
#include "graph/graph_input.hpp"
#include "graph/pagerank_lambda.hpp"
#include "graph/serial.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

double as_real(apps::share_of_one rank) { return static_cast<double>(rank) / static_cast<double>(apps::one_rank); }

/// A vertex and its rank; of equals the least number.
struct top {
  apps::share_of_one rank = 0;
  graph::vertex at = 0;
  friend bool operator<(const top& a, const top& b) { return a.rank < b.rank || (a.rank == b.rank && a.at > b.at); }
};

/// The sum of what each rank differs by from a serial loop's.
double difference(const std::vector<apps::share_of_one>& ranks, const std::vector<double>& serial) {
  double sum = 0;
  for (std::size_t v = 0; v < ranks.size(); ++v) sum += std::abs(as_real(ranks[v]) - serial[v]);
  return sum;
}

}  // namespace

int pagerank_main(int argc, char** argv) {
  apps::command_line options("Finds the PageRank of the vertices of an undirected graph.", "shunt run pagerank");
  apps::job job(options, "pagerank", true, apps::forms::none);
  job.add_checkpoint_options(options);
  apps::graph_input input(options, job);
  std::uint64_t percent = 85, most = 100;
  double tolerance = 1e-6;
  bool check = false;
  apps::count_option(options, "--damping", percent, "per cent of a rank that goes to the neighbours", 0, 99)
      ->capture_default_str();
  apps::real_option(options, "--tolerance", tolerance,
                    "end when the ranks change by less than this in a round, all together", 0, 1)
      ->capture_default_str();
  apps::count_option(options, "--rounds", most, "or after so many rounds", 1, 1ul << 20)->capture_default_str();
  options.add_flag("--check", check, "rank once more, serially and in floating point, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const auto mine = input.share(me, 40);
    const auto n = input.vertices();
    if (n == 0)
      throw usage_error(error_number(1105), apps::one_line(input.name()) + ": a graph without vertices has no ranks");
    auto a = graph::distribute(me, n, mine.edges);
    a.simplify();
    const apps::measurement timing(me);
    const auto enough = static_cast<apps::share_of_one>(tolerance * static_cast<double>(apps::one_rank));
    const auto ranks = [&] {
      apps::progress line("round", most, me.index() == 0);
      return apps::lambda_form::pagerank(me, a, percent, enough, most,
                                         [&line](std::uint64_t done) { line.show(done); });
    }();
    const auto [seconds, moved] = timing.end();
    top best;
    apps::share_of_one sum = 0;
    std::uint64_t print = 0;
    for (std::uint32_t l = 0; l < a.count(); ++l) {
      const auto v = a.at.vertex_of_row(l);
      best = std::max(best, top{ranks.now[l], v});
      sum += ranks.now[l];
      const std::uint64_t both[] = {v, ranks.now[l]};
      print += apps::fingerprint(1, std::span<const std::uint64_t>(both));
    }
    sum = me.sum(sum), best = me.max(best), print = me.sum(print);
    const auto whole = check ? apps::collect_values(me, n, ranks.now) : std::vector<apps::share_of_one>();
    const auto entries = me.sum(mine.edges.size());
    const auto simple = me.sum(a.columns.size()) / 2;
    if (me.index() != 0) return;
    // Each round's divisions leave less than a unit a vertex over.
    const bool whole_sum = sum <= apps::one_rank && apps::one_rank - sum < n;
    const double off = check ? difference(whole, apps::serial::page_ranks(
                                                     n, input.all(), static_cast<double>(percent) / 100, ranks.rounds))
                             : 0;
    right = whole_sum && off < 1e-9;
    auto facts = apps::graph_facts(me, "pagerank", input, entries);
    facts.push_back({"edges", simple, apps::with_commas(simple) + ", double entries and self-loops left out"});
    facts.push_back({"rounds", ranks.rounds, apps::with_commas(ranks.rounds)});
    facts.push_back({"change", as_real(ranks.change), fmt::format("{:.3g} in the last round", as_real(ranks.change))});
    facts.push_back({"top_vertex", input.number(best.at), std::to_string(input.number(best.at))});
    facts.push_back({"top_rank", as_real(best.rank), fmt::format("{:.9f}", as_real(best.rank))});
    facts.push_back({"fingerprint", fmt::format("{:016x}", print), fmt::format("{:016x}", print)});
    facts.push_back(
        {"ranks_sum", whole_sum ? "one" : "not one", whole_sum ? "one" : fmt::format("NO: they are {}", as_real(sum))});
    facts.push_back({"checked", check && right,
                     !check  ? "no (--check compares with a serial loop)"
                     : right ? fmt::format("a serial loop's differ by {:.2g}, all together", off)
                             : fmt::format("NO: a serial loop's differ by {:.2g}, all together", off)});
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
