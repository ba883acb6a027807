/// `shunt run degrees`: how many vertices of a graph have which degree.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "app.hpp"
#include "graph/degrees_natural.hpp"
#include "graph/graph_input.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

/// A degree, and how many vertices have it.
struct bar {
  std::uint64_t degree;
  std::uint64_t vertices;
  bool operator==(const bar&) const = default;
};

void order_bars(std::vector<bar>& bars) {
  std::ranges::sort(bars, [](const bar& a, const bar& b) { return a.degree < b.degree; });
}

/// Collective. \return all of them, by degree
std::vector<bar> collected(pgas::pe& me, const pgas::map<std::uint64_t, std::uint64_t>& vertices) {
  std::vector<bar> mine, all;
  for (const auto& [degree, count] : vertices.local()) mine.push_back({degree, count});
  for (const auto& some : me.gather(std::span<const bar>(mine))) all.insert(all.end(), some.begin(), some.end());
  order_bars(all);
  return all;
}

std::vector<bar> serial_degrees(std::uint64_t vertices, const std::vector<graph::edge>& entries) {
  std::vector<std::uint64_t> degrees(vertices);
  for (const auto& [a, b] : entries) {
    ++degrees[a];
    ++degrees[b];
  }
  std::ranges::sort(degrees);
  std::vector<bar> all;
  for (const std::uint64_t d : degrees) {
    if (all.empty() || all.back().degree != d) all.push_back({d, 0});
    ++all.back().vertices;
  }
  return all;
}

void write_degrees(const std::string& output, const std::vector<bar>& all) {
  std::ofstream file(output);
  for (const auto& [degree, vertices] : all) file << degree << ' ' << vertices << '\n';
  if (!file.flush()) throw error(error_number(1104), "--output " + output + ": it cannot be written");
}

}  // namespace

int degrees_main(int argc, char** argv) {
  apps::command_line options("Counts how many vertices of a graph have which degree.", "shunt run degrees");
  apps::job job(options, "degrees", false, apps::forms::none);
  apps::graph_input input(options, job);
  std::string output;
  bool check = false;
  apps::text_option(options, "--output", output, "where the distribution goes: a line \"DEGREE VERTICES\" for each");
  options.add_flag("--check", check, "count them once more, serially, and compare");
  options.final_callback([&] { apps::expect_writable(output); });
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  input.load();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    input.begin(me);
    const auto mine = input.share(me, 16);
    const apps::measurement timing(me);
    pgas::array<std::uint64_t> degrees(me, input.vertices());
    pgas::map<std::uint64_t, std::uint64_t> vertices(me);
    apps::natural::count_degrees(me, mine.edges, degrees);
    apps::natural::count_vertices(me, degrees, vertices);
    const auto [seconds, moved] = timing.end();
    const auto all = collected(me, vertices);
    const auto ends = degrees.sum();
    const auto entries = me.sum(std::uint64_t{mine.edges.size()});
    if (me.index() != 0) return;
    const bool same = !check || serial_degrees(input.vertices(), input.all()) == all;
    right = ends == 2 * entries && same;
    if (!output.empty()) write_degrees(output, all);
    const auto most = all.empty() ? bar{} : all.back();
    const auto alone = all.empty() || all.front().degree != 0 ? 0 : all.front().vertices;
    auto facts = apps::graph_facts(me, "degrees", input, entries);
    facts.push_back({"different", all.size(), apps::with_commas(all.size()) + " degrees"});
    facts.push_back({"largest", most.degree,
                     fmt::format("{}, of {} {}", apps::with_commas(most.degree), apps::with_commas(most.vertices),
                                 most.vertices == 1 ? "vertex" : "vertices")});
    facts.push_back({"without_entry", alone, apps::with_commas(alone) + (alone == 1 ? " vertex" : " vertices")});
    facts.push_back({"mean", static_cast<double>(ends) / static_cast<double>(input.vertices()),
                     fmt::format("{:.2f}", static_cast<double>(ends) / static_cast<double>(input.vertices()))});
    facts.push_back({"checked", check && right,
                     !check ? "no (--check compares with a serial count)"
                     : same ? "a serial count found the same"
                            : "NO: a serial count found others"});
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
