/// `shunt run triangle`: counts the triangles of a graph from a file, or of a generated one.
///
/// Every process reads the file; each PE keeps the rows it owns. The graph is the same whatever the number of PEs.
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <mutex>

#include <graph/generate.hpp>
#include <graph/read.hpp>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/triangle_class.hpp"
#include "bale/triangle_lambda.hpp"

using namespace shunt;

namespace {

struct source {
  std::string file;
  std::string generator = "kronecker";
  std::string order = "degree";
  std::uint64_t vertices = 10'000;
  double mean = 35;
  unsigned scale = 16;
  std::uint64_t edge_factor = 16;

  [[nodiscard]] std::string name() const { return file.empty() ? "generated: " + generator : file; }
  [[nodiscard]] graph::graph load(std::uint64_t seed, bool speaks) const {
    graph::graph g;
    if (!file.empty()) {
      graph::read_options how;
      std::unique_ptr<apps::progress> line;
      how.progress = [&](std::uint64_t done, std::uint64_t whole) {
        if (line == nullptr) line = std::make_unique<apps::progress>("reading " + file, whole, speaks);
        line->show(done);
      };
      g = graph::read(file, how);
    } else if (generator == "erdos_renyi") {
      g = graph::erdos_renyi::with_lower_row_mean(vertices, mean, seed).whole();
    } else if (generator == "kronecker") {
      g = graph::rmat({.scale = scale, .edge_factor = edge_factor}, seed).whole();
    } else {
      g = graph::star_product::parse(generator).whole();
    }
    return order == "degree" ? graph::by_degree(g) : g;
  }
};

}  // namespace

int triangle_main(int argc, char** argv) {
  CLI::App options("Counts the triangles of a graph, one small message a wedge.", "shunt run triangle");
  apps::job job(options, "triangle");
  source from;
  auto* file = options.add_option("--graph", from.file,
                                  "SNAP edge list or Matrix Market file, plain or gzip; without it one is generated");
  options
      .add_option("--generate", from.generator,
                  "erdos_renyi, kronecker, or a product of stars such as 1:3x4x5 (loops at the centre)")
      ->capture_default_str()
      ->excludes(file);
  options.add_option("--vertices", from.vertices, "of erdos_renyi")
      ->capture_default_str()->check(CLI::Range(1ul, (1ul << 32) - 2));
  options.add_option("--mean", from.mean, "non-zeros a row of erdos_renyi's lower triangle")
      ->capture_default_str();
  options.add_option("--scale", from.scale, "of kronecker: 2^scale vertices")
      ->capture_default_str()->check(CLI::Range(0, 31));
  options.add_option("--edge-factor", from.edge_factor, "of kronecker: edges a vertex")
      ->capture_default_str();
  options.add_option("--order", from.order, "degree: renumber the vertices so that there are few wedges; given")
      ->capture_default_str()
      ->check(CLI::IsMember({"degree", "given"}));
  if (!apps::parse(options, argc, argv)) return 0;

  // Read before the PEs start: what is wrong with the file is said once, and by nobody else.
  const auto wanted = job.wanted();
  const auto begin = std::chrono::steady_clock::now();
  const graph::graph whole = from.load(job.seed(), true);
  const double loaded = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    pgas::symmetric<apps::rows> lower(me, apps::deal(whole, me.index(), me.count()));
    const auto before = me.traffic();
    me.barrier();
    const auto start = std::chrono::steady_clock::now();
    apps::tally mine;
    {
      apps::progress line("counting", lower->count(), me.index() == 0);
      if (job.which() == apps::form::lambda) {
        mine = apps::lambda_form::triangle(me, lower, [&line](std::uint32_t done) { line(done); });
      } else {
        mine = apps::class_form::triangle{{me}, *lower}.run([&line](std::uint32_t done) { line(done); });
      }
    }
    const double seconds = me.max(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const auto moved = me.traffic() - before;
    const auto triangles = me.sum(mine.found);
    const auto asked = me.sum(mine.asked);
    const auto most = me.max(mine.asked);
    if (me.index() != 0) return;
    // Every wedge was asked about, once.
    const bool checked = asked == graph::wedges(whole);
    right = checked;
    const double mean = static_cast<double>(asked) / me.count();
    const double balance = most == 0 ? 1.0 : mean / static_cast<double>(most);
    std::vector<apps::fact> facts{
        {"application", "triangle", "triangle, " + job.form_name() + " form"},
        {"pes", me.count(), fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"graph", from.name(), from.name()},
        {"vertices", whole.vertices(), apps::with_commas(whole.vertices())},
        {"edges", whole.edges(), apps::with_commas(whole.edges())},
        {"self_loops", whole.cleaned().self_loops, apps::with_commas(whole.cleaned().self_loops) + " left out"},
        {"duplicates", whole.cleaned().duplicates, apps::with_commas(whole.cleaned().duplicates) + " left out"},
        {"wedges", asked, apps::with_commas(asked)},
        {"triangles", triangles, std::to_string(triangles)},
        {"checked", checked, checked ? "every wedge was asked about once" : "NO: wedges were lost or doubled"},
        {"balance", balance, fmt::format("{:.3f} (mean over the most of a PE)", balance)},
        {"seconds_to_load", loaded, fmt::format("{:.3f}", loaded)},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
