/// `shunt run triangle`: counts the triangles of a graph from a file, or of a generated one.
///
/// Every process reads the file; each PE keeps the rows it owns. The graph is the same whatever the number of PEs.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <shunt/base/error.hpp>

#include <graph/generate.hpp>
#include <graph/read.hpp>

#include "app.hpp"
#include "bale/job.hpp"
#include "bale/triangle_count.hpp"
#include "option.hpp"

using namespace shunt;

namespace {

/// The command line's graph.
struct source {
  std::string file;
  std::string header = "auto";
  bool rows_ok = false;
  std::string generator = "kronecker";
  std::string order = "degree";
  std::uint64_t vertices = 10'000;
  double mean = 35;
  unsigned scale = 16;
  std::uint64_t edge_factor = 16;

  [[nodiscard]] std::string name() const { return file.empty() ? "generated: " + generator : file; }
};

/// A graph, and what is said of where it came from.
struct loaded {
  graph::graph whole;
  std::string edges_from;  ///< which entries became edges
  std::string note;        ///< what a reader of the report should know before; empty: nothing
};

std::string edges_from_text(const graph::text_facts& facts) {
  using kind = graph::text_facts::kind;
  switch (facts.is) {
    case kind::edge_list: return "every line, made undirected: a-b and b-a are one edge";
    case kind::symmetric_matrix: return "the stored triangle of a symmetric matrix";
    case kind::general_matrix: return "every entry of a general matrix, made undirected: not its lower triangle alone";
    case kind::matrix_without_symmetry:
      return "every entry of a matrix whose banner says no symmetry, made undirected: not its lower triangle alone";
  }
  return {};
}

std::string header_note(const std::string& file, const graph::text_facts& facts) {
  if (facts.header_line == 0) return {};
  std::string note = fmt::format("{}:{}: \"{} {}\" is taken for a header, not for an edge", apps::one_line(file),
                                 facts.header_line, facts.header_vertices, facts.header_edges);
  if (facts.header_edges != facts.entries) note += fmt::format(", though {} lines with edges follow", facts.entries);
  return note + " (--header no makes it one)";
}

loaded read_file(const source& from) {
  loaded made;
  graph::text_facts facts;
  graph::read_options how;
  how.facts = &facts;
  how.rows_ok = from.rows_ok;
  using header = graph::read_options::first_line;
  how.header = from.header == "yes" ? header::yes : from.header == "no" ? header::no : header::tell_by_content;
  std::unique_ptr<apps::progress> line;
  how.progress = [&](std::uint64_t done, std::uint64_t whole) {
    if (line == nullptr) line = std::make_unique<apps::progress>("reading " + apps::one_line(from.file), whole, true);
    line->show(done);
  };
  try {
    made.whole = graph::read(from.file, how);
  } catch (const std::bad_alloc&) {
    throw error(apps::one_line(from.file) + ": there is not enough memory for this graph");
  }
  made.edges_from = edges_from_text(facts);
  made.note = header_note(from.file, facts);
  return made;
}

loaded generate(const source& from, std::uint64_t seed) {
  if (from.generator == "erdos_renyi") {
    const auto vertices = static_cast<double>(from.vertices);
    apps::require_memory(fmt::format("--vertices {} --mean {}", from.vertices, from.mean),
                         vertices * (8 + 4 * from.mean));
    return {graph::erdos_renyi::with_lower_row_mean(from.vertices, from.mean, seed).whole(),
            "the lower triangle, which is all that was generated",
            {}};
  }
  if (from.generator == "kronecker") {
    const double vertices = std::ldexp(1., static_cast<int>(from.scale));
    const double edges = vertices * static_cast<double>(from.edge_factor);
    // The list of edges, and the graph that is made of it, which has some fewer.
    apps::require_memory(fmt::format("--scale {} --edge-factor {}", from.scale, from.edge_factor),
                         8 * vertices + 8 * edges);
    return {graph::rmat({.scale = from.scale, .edge_factor = from.edge_factor}, seed).whole(),
            "every entry, made undirected",
            {}};
  }
  return {graph::star_product::parse(from.generator).whole(), "the lower triangle of a symmetric product", {}};
}

loaded load(const source& from, std::uint64_t seed) {
  loaded made = from.file.empty() ? generate(from, seed) : read_file(from);
  if (from.order == "degree") made.whole = graph::by_degree(made.whole);
  return made;
}

/// Graphs with the same fingerprint are the same, for all that chance can do.
std::uint64_t fingerprint(const graph::graph& g) noexcept {
  return apps::fingerprint(apps::fingerprint(g.vertices(), g.offsets()), g.columns());
}

}  // namespace

int triangle_main(int argc, char** argv) {
  CLI::App options("Counts the triangles of a graph, one small message a wedge.", "shunt run triangle");
  apps::job job(options, "triangle");
  source from;
  bool check = false;
  std::string by = "auto";
  const auto* const file =
      apps::text_option(options, "--graph", from.file,
                        "SNAP edge list or Matrix Market file, plain or gzip; without it one is generated");
  const auto* const header =
      apps::choice_option(options, "--header", from.header,
                          "whether the first line of an edge list is \"vertices edges\"; auto: if the second number is "
                          "that of the lines that follow",
                          {"auto", "yes", "no"})
          ->capture_default_str();
  const auto* const rows_ok = options.add_flag(
      "--rows-ok", from.rows_ok, "take a matrix that has very many more rows than entries: 20 bytes a row at least");
  const auto* const generator =
      apps::text_option(options, "--generate", from.generator,
                        "erdos_renyi, kronecker, or a product of stars such as 1:3x4x5 (loops at the centre)")
          ->capture_default_str();
  const auto* const vertices =
      apps::count_option(options, "--vertices", from.vertices, "of erdos_renyi", 1, (1ul << 32) - 2)
          ->capture_default_str();
  const auto* const row_mean =
      apps::real_option(options, "--mean", from.mean, "non-zeros a row of erdos_renyi's lower triangle", 0, 1ul << 31)
          ->capture_default_str();
  const auto* const scale = apps::count_option(options, "--scale", from.scale, "of kronecker: 2^scale vertices", 0, 31)
                                ->capture_default_str();
  const auto* const edge_factor =
      apps::count_option(options, "--edge-factor", from.edge_factor, "of kronecker: edges a vertex", 0, 1ul << 20)
          ->capture_default_str();
  apps::choice_option(options, "--order", from.order,
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
  // What is wrong with a generator's numbers is found without generating anything.
  options.final_callback([&] {
    const auto* const seed = job.seed_option();
    if (file->count() > 0) {
      if (job.has_processes()) apps::expect_file(from.file);
      apps::refuse_with("--graph", {generator, vertices, row_mean, scale, edge_factor, seed});
      return;
    }
    apps::refuse_without("--graph", {header, rows_ok});
    if (from.generator == "erdos_renyi") {
      apps::refuse_with("--generate erdos_renyi", {scale, edge_factor});
      static_cast<void>(graph::erdos_renyi::with_lower_row_mean(from.vertices, from.mean, job.seed()));
    } else if (from.generator == "kronecker") {
      apps::refuse_with("--generate kronecker", {vertices, row_mean});
    } else {
      static_cast<void>(graph::star_product::parse(from.generator));
      apps::refuse_with("a product of stars", {vertices, row_mean, scale, edge_factor, seed});
    }
  });
  if (!apps::parse(options, argc, argv)) return 0;

  // Read before the PEs start: what is wrong with the file is said once, and before any PE's messages.
  const auto wanted = job.wanted();
  const auto begin = std::chrono::steady_clock::now();
  const loaded input = load(from, job.seed());
  const graph::graph& whole = input.whole;
  const double seconds_to_load = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    if (me.index() == 0 && !input.note.empty()) std::fprintf(stderr, "note: %s\n", input.note.c_str());
    if (me.ranks() > 1) apps::expect_same(me, from.name(), fingerprint(whole));
    pgas::symmetric<apps::rows> lower(me, apps::deal(whole, me.index(), me.count()));
    const auto before = me.traffic();
    me.barrier();
    const auto start = std::chrono::steady_clock::now();
    apps::tally mine;
    auto how = apps::ask_by::wedge;
    {
      apps::progress line("counting", lower->count(), me.index() == 0);
      how = by == "auto" ? apps::better_for(me, *lower) : by == "row" ? apps::ask_by::row : apps::ask_by::wedge;
      mine = apps::count_triangles(me, lower, job.which(), how, [&line](std::uint32_t done) { line(done); });
    }
    const double seconds = me.max(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    const auto moved = me.traffic() - before;
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
        {"graph", from.name(), apps::one_line(from.name())},
        {"edges_from", input.edges_from, input.edges_from},
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
        {"seconds_to_load", seconds_to_load, fmt::format("{:.3f}", seconds_to_load)},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
