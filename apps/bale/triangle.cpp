/// `shunt run triangle`: counts the triangles of a graph from a file, or of a generated one.
///
/// Every process reads the file; each PE keeps the rows it owns. The graph is the same whatever the number of PEs.
#include <fmt/core.h>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/triangle_count.hpp"
#include "graph/graph_input.hpp"
#include "option.hpp"

using namespace shunt;

int triangle_main(int argc, char** argv) {
  apps::command_line options("Counts the triangles of a graph, one small message a wedge.", "shunt run triangle");
  apps::job job(options, "triangle", true, apps::forms::three);
  apps::graph_input input(options, job);
  bool check = false;
  std::string order = "degree";
  std::string by = "auto";
  apps::choice_option(options, "--order", order,
                      "degree: renumber the vertices so that there are few wedges; given: leave them",
                      {"degree", "given"})
      ->capture_default_str();
  apps::choice_option(
      options, "--ask-by", by,
      fmt::format("wedge: a message a wedge; row: one a non-zero, with the row's columns below it; auto: "
                  "row, where these are {} or more on average",
                  apps::columns_that_pay),
      {"auto", "wedge", "row"})
      ->capture_default_str();
  options.add_flag("--check", check, "count once more, serially, and compare");
  if (!apps::parse(options, argc, argv)) return 0;

  // Read before the PEs start: what is wrong with the file is said once, and before any PE's messages.
  const auto wanted = job.wanted();
  input.load_whole();
  if (order == "degree") input.order_by_degree();
  const graph::graph& whole = input.whole();

  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    pgas::symmetric<apps::rows> lower(me, apps::deal(whole, me.index(), me.count()));
    const apps::measurement timing(me);
    apps::tally mine;
    auto how = apps::ask_by::wedge;
    {
      apps::progress line("counting", lower->count(), me.index() == 0);
      how = by == "auto" ? apps::better_for(me, *lower) : by == "row" ? apps::ask_by::row : apps::ask_by::wedge;
      mine = apps::count_triangles(me, lower, job.which(), how, [&line](std::uint32_t done) { line(done); });
    }
    const auto [seconds, moved] = timing.end();
    const auto triangles = me.sum(mine.found);
    const auto asked = me.sum(mine.asked);
    const auto most = me.max(mine.asked);
    if (me.index() != 0) return;
    const bool each_once = asked == graph::wedges(whole);
    const std::uint64_t serial = check ? graph::count_triangles_serial(whole) : 0;
    right = each_once && (!check || serial == triangles);
    const double mean = static_cast<double>(asked) / me.count();
    const double balance = most == 0 ? 1.0 : mean / static_cast<double>(most);
    std::vector<apps::fact> facts{
        {"application", "triangle", "triangle, " + job.form_name() + " form"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"graph", input.name(), apps::one_line(input.name())},
        {"edges_from", input.edges_from(), input.edges_from()},
        {"vertices", whole.vertices(), apps::with_commas(whole.vertices())},
        {"edges", whole.edges(), apps::with_commas(whole.edges())},
        {"self_loops", whole.cleaned().self_loops, apps::with_commas(whole.cleaned().self_loops) + " left out"},
        {"duplicates", whole.cleaned().duplicates, apps::with_commas(whole.cleaned().duplicates) + " left out"},
        {"wedges", asked, apps::with_commas(asked)},
        {"asked_by", how == apps::ask_by::row ? "row" : "wedge",
         how == apps::ask_by::row ? "row, a message a non-zero" : "wedge, a message each"},
        {"wedges_asked", each_once ? "each once" : "lost or doubled",
         each_once ? "each once" : fmt::format("NO: the graph has {}", apps::with_commas(graph::wedges(whole)))},
        {"triangles", triangles, std::to_string(triangles)},
        {"checked", check && right,
         !check                             ? "no (--check compares with a serial count)"
         : serial == triangles && each_once ? "a serial count found as many"
                                            : fmt::format("NO: a serial count found {}", serial)},
        {"balance", balance, fmt::format("{:.3f} (mean over the most of a PE)", balance)},
        {"seconds_to_load", input.seconds_to_load(), fmt::format("{:.3f}", input.seconds_to_load())},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
