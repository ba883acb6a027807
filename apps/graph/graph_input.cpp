#include "graph/graph_input.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <new>
#include <shunt/base/error.hpp>

#include <shunt/graph/generate.hpp>
#include <shunt/graph/read.hpp>
#include "option.hpp"

namespace shunt::apps {
namespace {

/// Graphs with the same fingerprint are the same, for all that chance can do.
std::uint64_t fingerprint_of(const graph::graph& g) noexcept {
  return fingerprint(fingerprint(g.vertices(), g.offsets()), g.columns());
}

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
  std::string note = fmt::format("{}:{}: \"{} {}\" is taken for a header, not for an edge", one_line(file),
                                 facts.header_line, facts.header_vertices, facts.header_edges);
  if (facts.header_edges != facts.entries) note += fmt::format(", though {} lines with edges follow", facts.entries);
  return note + " (--header no makes it one)";
}

/// One of so many equal parts of a generator that makes rows, as entries.
template <class Generator>
std::vector<graph::edge> rows_of(const Generator& from, std::uint64_t part, std::uint64_t parts) {
  const auto row_at = [n = std::uint64_t{from.vertices()}, parts](std::uint64_t p) {
    return static_cast<graph::vertex>(n * p / parts);
  };
  const auto rows = from.rows(row_at(part), row_at(part + 1));
  std::vector<graph::edge> edges;
  edges.reserve(rows.columns.size());
  for (std::size_t l = 0; l < rows.count(); ++l) {
    const auto row = static_cast<graph::vertex>(rows.first + l);
    for (const auto column : rows.row(row)) edges.push_back({row, column});
  }
  return edges;
}

/// Entries first..last-1 of a whole graph.
std::vector<graph::edge> slice(const graph::graph& g, std::uint64_t first, std::uint64_t last) {
  std::vector<graph::edge> edges;
  edges.reserve(last - first);
  const auto offsets = g.offsets();
  auto row = static_cast<graph::vertex>(std::upper_bound(offsets.begin(), offsets.end(), first) - offsets.begin() - 1);
  for (std::uint64_t i = first; i < last; ++i) {
    while (offsets[row + std::size_t{1}] <= i) ++row;
    edges.push_back({row, g.columns()[i]});
  }
  return edges;
}

}  // namespace

graph_input::graph_input(command_line& options, const job& job, const needs& wanted) : job_(job), wanted_(wanted) {
  given_.graph = text_option(options, "--graph", file_,
                             "SNAP edge list or Matrix Market file, plain or gzip; without it one is generated");
  given_.header = choice_option(options, "--header", header_,
                                "whether the first line of an edge list is \"vertices edges\"; auto: if the second "
                                "number is that of the lines that follow",
                                {"auto", "yes", "no"})
                      ->capture_default_str();
  given_.rows_ok = options.add_flag("--rows-ok", rows_ok_,
                                    "take a matrix that has very many more rows than entries: 20 bytes a row at least");
  given_.generator = text_option(options, "--generate", generator_,
                                 "erdos_renyi, kronecker, or a product of stars such as 1:3x4x5 (loops at the centre)")
                         ->capture_default_str();
  given_.vertices =
      count_option(options, "--vertices", vertices_, "of erdos_renyi", 1, (1ul << 32) - 2)->capture_default_str();
  given_.mean = real_option(options, "--mean", mean_, "non-zeros a row of erdos_renyi's lower triangle", 0, 1ul << 31)
                    ->capture_default_str();
  given_.scale =
      count_option(options, "--scale", scale_, "of kronecker: 2^scale vertices", 0, 31)->capture_default_str();
  given_.edge_factor =
      count_option(options, "--edge-factor", edge_factor_, "of kronecker: edges a vertex", 0, 1ul << 20)
          ->capture_default_str();
  if (wanted_.graph500) {
    given_.graph500 =
        count_option(options, "--graph500", graph500_, "run by Graph500's rules, on 2^scale vertices", 1, 31);
  }
  options.final_callback([this] { check(); });
}

void graph_input::check() {
  // What is wrong with a generator's numbers is found without generating anything.
  const auto* const seed = job_.seed_option();
  const auto& has = given_;
  if (graph500()) {
    refuse_with("--graph500", {has.graph, has.header, has.rows_ok, has.generator, has.vertices, has.mean, has.scale,
                               has.edge_factor});
    scale_ = graph500_;
    return;
  }
  if (has.graph->count() > 0) {
    if (job_.has_processes()) expect_file(file_);
    refuse_with("--graph", {has.generator, has.vertices, has.mean, has.scale, has.edge_factor});
    if (!wanted_.seed_for_file) refuse_with("--graph", {seed});
    return;
  }
  refuse_without("--graph", {has.header, has.rows_ok});
  if (generator_ == "erdos_renyi") {
    refuse_with("--generate erdos_renyi", {has.scale, has.edge_factor});
    static_cast<void>(graph::erdos_renyi::with_lower_row_mean(vertices_, mean_, job_.seed()));
  } else if (generator_ == "kronecker") {
    refuse_with("--generate kronecker", {has.vertices, has.mean});
  } else {
    static_cast<void>(graph::star_product::parse(generator_));
    refuse_with("a product of stars", {has.vertices, has.mean, has.scale, has.edge_factor});
    if (!wanted_.seed_for_file) refuse_with("a product of stars", {seed});
  }
}

void graph_input::load() {
  const auto begin = std::chrono::steady_clock::now();
  if (from_file()) {
    read();
  } else if (generator_ == "erdos_renyi") {
    edges_from_ = "the lower triangle, which is all that was generated";
  } else if (generator_ == "kronecker") {
    edges_from_ = "every entry, made undirected";
  } else {
    edges_from_ = "the lower triangle of a symmetric product";
  }
  seconds_to_load_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void graph_input::load_whole() {
  const auto begin = std::chrono::steady_clock::now();
  load();
  if (!from_file()) generate();
  seconds_to_load_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void graph_input::read() {
  graph::text_facts facts;
  graph::read_options how;
  how.facts = &facts;
  how.rows_ok = rows_ok_;
  how.names = &names_;
  using header = graph::read_options::first_line;
  how.header = header_ == "yes" ? header::yes : header_ == "no" ? header::no : header::tell_by_content;
  std::unique_ptr<progress> line;
  how.progress = [&](std::uint64_t done, std::uint64_t whole) {
    if (line == nullptr) line = std::make_unique<progress>("reading " + one_line(file_), whole, true);
    line->show(done);
  };
  try {
    whole_ = graph::read(file_, how);
  } catch (const std::bad_alloc&) {
    throw error(error_number(1106), one_line(file_) + ": there is not enough memory for this graph");
  }
  edges_from_ = edges_from_text(facts);
  note_ = header_note(file_, facts);
}

void graph_input::generate() {
  if (generator_ == "erdos_renyi") {
    require_memory(fmt::format("--vertices {} --mean {}", vertices_, mean_),
                   static_cast<double>(vertices_) * (8 + 4 * mean_));
    whole_ = graph::erdos_renyi::with_lower_row_mean(vertices_, mean_, job_.seed()).whole();
  } else if (generator_ == "kronecker") {
    const double n = std::ldexp(1., static_cast<int>(scale_));
    // The list of edges, and the graph that is made of it, which has some fewer.
    require_memory(fmt::format("--scale {} --edge-factor {}", scale_, edge_factor_),
                   8 * n + 8 * n * static_cast<double>(edge_factor_));
    whole_ = graph::rmat({.scale = scale_, .edge_factor = edge_factor_}, job_.seed()).whole();
  } else {
    whole_ = graph::star_product::parse(generator_).whole();
  }
}

std::uint64_t graph_input::vertices() const {
  if (from_file()) return whole_.vertices();
  if (generator_ == "erdos_renyi") return vertices_;
  if (generator_ == "kronecker") return std::uint64_t{1} << scale_;
  return graph::star_product::parse(generator_).vertices();
}

graph::vertex graph_input::find(const std::string& option, std::uint64_t number) const {
  if (!from_file()) {
    if (number < vertices()) return static_cast<graph::vertex>(number);
    throw usage_error(error_number(1105),
                      fmt::format("{} {}: the graph has the vertices 0..{}", option, number, vertices() - 1));
  }
  const auto at = std::lower_bound(names_.begin(), names_.end(), number);
  if (at != names_.end() && *at == number) return static_cast<graph::vertex>(at - names_.begin());
  throw usage_error(error_number(1105), fmt::format("{} {}: {} has no such vertex", option, number, one_line(file_)));
}

void graph_input::begin(pgas::pe& me) const {
  if (me.index() == 0 && !note_.empty()) std::fprintf(stderr, "note: %s\n", note_.c_str());
  if (me.ranks() > 1) expect_same(me, name(), fingerprint_of(whole_));
}

void graph_input::order_by_degree() {
  const auto now = graph::degree_order(whole_);
  std::vector<std::uint64_t> names(now.size());
  for (graph::vertex v = 0; v < now.size(); ++v) names[now[v]] = number(v);
  whole_ = graph::relabel(whole_, now);
  names_ = std::move(names);
}

double graph_input::expected_entries() const {
  if (from_file()) return static_cast<double>(whole_.edges());
  if (generator_ == "erdos_renyi") return static_cast<double>(vertices_) * mean_;
  if (generator_ == "kronecker") return static_cast<double>(edge_factor_) * std::ldexp(1., static_cast<int>(scale_));
  return static_cast<double>(graph::star_product::parse(generator_).edges());
}

std::vector<graph::edge> graph_input::part(std::uint64_t which, std::uint64_t parts) const {
  const auto range = [&](std::uint64_t all) { return std::pair(all * which / parts, all * (which + 1) / parts); };
  if (from_file()) {
    const auto [first, last] = range(whole_.edges());
    return slice(whole_, first, last);
  }
  if (generator_ == "erdos_renyi") {
    return rows_of(graph::erdos_renyi::with_lower_row_mean(vertices_, mean_, job_.seed()), which, parts);
  }
  if (generator_ == "kronecker") {
    const graph::rmat random({.scale = scale_, .edge_factor = edge_factor_}, job_.seed());
    const auto [first, last] = range(random.entries());
    return random.edges(first, last);
  }
  return rows_of(graph::star_product::parse(generator_), which, parts);
}

std::vector<graph::edge> graph_input::all() const { return part(0, 1); }

entries graph_input::share(pgas::pe& me, double bytes_an_entry) const {
  const auto vertices_of_all = static_cast<double>(vertices());
  require_memory(
      me, fmt::format("{}, {:.0f} vertices and {:.0f} entries", one_line(name()), vertices_of_all, expected_entries()),
      (expected_entries() * bytes_an_entry + 32 * vertices_of_all) / me.count());
  entries mine;
  mine.edges = part(static_cast<std::uint64_t>(me.index()), static_cast<std::uint64_t>(me.count()));
  mine.first = me.scan(std::uint64_t{mine.edges.size()});
  return mine;
}

std::vector<fact> graph_facts(pgas::pe& me, const std::string& application, const graph_input& input,
                              std::uint64_t entries) {
  return {
      {"application", application, application + ", lambda form"},
      {"pes", me.count(),
       fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
      {"graph", input.name(), one_line(input.name())},
      {"edges_from", input.edges_from(), input.edges_from()},
      {"vertices", input.vertices(), with_commas(input.vertices())},
      {"entries", entries, with_commas(entries)},
  };
}

}  // namespace shunt::apps
