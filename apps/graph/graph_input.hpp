/// What the applications of graphs share: where a graph comes from, and this PE's part of it.
///
/// A graph is one from a file, which every process reads, or a generated one. Its entries have an order that does not
/// depend on the number of PEs: entry i is the same edge on 1 PE and on 64.
#pragma once

#include <cstdint>
#include <shunt/graph/graph.hpp>
#include <string>
#include <vector>

#include "bale/job.hpp"

namespace shunt::apps {

/// Some of a graph's entries, one after another.
struct entries {
  std::uint64_t first = 0;  ///< number of the first of them
  std::vector<graph::edge> edges;
};

class graph_input {
 public:
  /// What the application wants.
  struct needs {
    bool graph500 = false;       ///< the option --graph500
    bool seed_for_file = false;  ///< --seed means something for a graph from a file too
  };
  /// The options. What is wrong with them together is said while they are parsed.
  graph_input(command_line& options, const job& job, const needs& wanted);
  graph_input(command_line& options, const job& job) : graph_input(options, job, needs{}) {}
  graph_input(const graph_input&) = delete;
  graph_input& operator=(const graph_input&) = delete;

  /// Reads the file, if there is one. Before the PEs start: what is wrong with it is said once.
  /// \throws usage_error
  void load();
  /// The same, and makes a generated graph: all of it is in whole().
  void load_whole();
  /// After find(). Gives the vertices of whole() the numbers of their degrees' order.
  void order_by_degree();
  /// Of a file, or after load_whole().
  [[nodiscard]] const graph::graph& whole() const noexcept { return whole_; }

  [[nodiscard]] bool from_file() const noexcept { return !file_.empty(); }
  /// Whether --graph500 was given: the graph that Graph500's rules describe.
  [[nodiscard]] bool graph500() const noexcept { return graph500_ != 0; }
  [[nodiscard]] std::string name() const { return from_file() ? file_ : "generated: " + generator_; }
  /// Which entries became edges.
  [[nodiscard]] const std::string& edges_from() const noexcept { return edges_from_; }
  [[nodiscard]] double seconds_to_load() const noexcept { return seconds_to_load_; }
  [[nodiscard]] std::uint64_t vertices() const;
  /// Of a vertex, its number in the file, or as the generator has numbered it.
  [[nodiscard]] std::uint64_t number(graph::vertex v) const { return names_.empty() ? v : names_[v]; }
  /// \param number  as the user writes it. \throws usage_error unless that is a vertex
  [[nodiscard]] graph::vertex find(const std::string& option, std::uint64_t number) const;

  /// Collective. PE 0 prints what a reader of the report should know before.
  /// \throws usage_error unless all processes have read the same
  void begin(pgas::pe& me) const;
  /// Collective, after load(). This PE's share of the entries: of a file those of its graph; of a generated one those
  /// that are drawn, self-loops and doubles with them.
  /// \param bytes_an_entry  of all that the PE makes. \throws usage_error where that much memory is not there
  [[nodiscard]] entries share(pgas::pe& me, double bytes_an_entry) const;
  /// Local, after load(). All entries, for a serial oracle.
  [[nodiscard]] std::vector<graph::edge> all() const;

 private:
  void check();
  void read();
  void generate();
  [[nodiscard]] double expected_entries() const;
  /// One of so many equal parts of the entries.
  [[nodiscard]] std::vector<graph::edge> part(std::uint64_t which, std::uint64_t parts) const;

  const job& job_;
  needs wanted_;
  std::string file_;
  std::string header_ = "auto";
  bool rows_ok_ = false;
  std::string generator_ = "kronecker";
  std::uint64_t vertices_ = 10'000;
  double mean_ = 35;
  unsigned scale_ = 16;
  std::uint64_t edge_factor_ = 16;
  unsigned graph500_ = 0;

  struct given {
    const command_option *graph, *header, *rows_ok, *generator, *vertices, *mean, *scale, *edge_factor, *graph500;
  };
  given given_{};

  graph::graph whole_;
  std::string edges_from_;
  std::string note_;
  std::vector<std::uint64_t> names_;
  double seconds_to_load_ = 0;
};

/// What every report of these applications begins with.
/// \param entries  of all PEs
[[nodiscard]] std::vector<fact> graph_facts(pgas::pe& me, const std::string& application, const graph_input& input,
                                            std::uint64_t entries);

}  // namespace shunt::apps
